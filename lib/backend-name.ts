/** Names of the backends. */

/** Backend that computes. */
export type BackendName = 'cuda' | 'webgpu' | 'cpu'

/** Every backend, in the order in which `auto` prefers them. */
export const backendNames: readonly BackendName[] = ['cuda', 'webgpu', 'cpu']

/** Backend whose kernels are in the native addon. */
export type NativeBackend = Exclude<BackendName, 'webgpu'>

/** Value of the option `backend`. */
export type BackendChoice = 'auto' | BackendName
