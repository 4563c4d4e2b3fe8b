/** Stub of lib/tuning.ts: measured choices of kernels are for CUDA GPUs, which browsers can't use. */
import type * as inNode from '../tuning.js'

export const loadTuning: typeof inNode.loadTuning = () => {}
