/** Names that the WebGPU backend adds to the lists of the addon. */
import type { Addon } from '../native-interface.js'
import { webGpuVariants } from './variants.js'

type Lists = Pick<Addon, 'backendChoices' | 'backends' | 'variants'>

/** Returns the addon with 'webgpu' and its kernels in the lists that requests and reports index. */
export function withWebGpuNames<Base extends object>(addon: Base): Base {
  const { backendChoices, backends, variants } = addon as unknown as Lists
  if (backends.includes('webgpu')) return addon
  return {
    ...addon,
    backendChoices: [...backendChoices, 'webgpu'],
    backends: [...backends, 'webgpu'],
    variants: [...variants, ...webGpuVariants],
  }
}
