/** Names of the backends. */

/** Backend that computes. */
export type BackendName = 'cuda' | 'webgpu' | 'cpu'

/** Every backend, in the order in which `auto` prefers them. */
export const backendNames: readonly BackendName[] = ['cuda', 'webgpu', 'cpu']

/** Value of the option `backend`. */
export type BackendChoice = 'auto' | BackendName
