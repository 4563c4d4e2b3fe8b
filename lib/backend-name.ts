/** Names of the backends. */

/** Every backend, in the order in which `auto` prefers them. */
export const backendNames = ['cuda', 'webgpu', 'cpu'] as const

/** Backend that computes. */
export type BackendName = (typeof backendNames)[number]

/** Backend whose kernels are in the native addon. */
export type NativeBackend = Exclude<BackendName, 'webgpu'>

/** Value of the option `backend`. */
export type BackendChoice = 'auto' | BackendName
