/** WebGPU in a browser: the worker of the page computes, so its addon has all functions. */
import type * as inNode from '../../webgpu/node.js'

export const withWebGpu: typeof inNode.withWebGpu = (addon) => addon as ReturnType<typeof inNode.withWebGpu>
