/**
 * Functions that messages to a worker can call: the functions of the native addon, and the description of the
 * WebGPU adapter.
 */
import { nativeCalls } from '../native-interface.js'

/** Properties of each function by its name. */
export const calls: typeof nativeCalls = {
  ...nativeCalls,
  describeGpu: { takes: ['allowsFallback'], hasArrays: false, givesPromise: true },
}
