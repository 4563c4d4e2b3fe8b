/** Functions that a worker is asked for by messages: those of the native addon, and the description of WebGPU's GPU. */
import { nativeCalls } from '../native-interface.js'

/** Facts of every function by its name. */
export const calls: typeof nativeCalls = {
  ...nativeCalls,
  describeGpu: { takes: ['allowsFallback'], hasArrays: false, givesPromise: true },
}
