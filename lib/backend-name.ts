/** Names of the backends. */

/** Every backend, in the order in which `auto` prefers them. */
export const backendNames = ['cuda', 'cpu'] as const

/** Backend that computes. */
export type BackendName = (typeof backendNames)[number]

/** Value of the option `backend`. */
export type BackendChoice = 'auto' | BackendName
