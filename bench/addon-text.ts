/** Describes the loaded addon for people. */
import type { Info } from '../lib/index.js'

const kinds = {
  cpu: 'for the CPU',
  cuda: 'with CUDA',
  lab: 'with CUDA and the laboratory',
  wasm: 'for the CPU, as WebAssembly',
} as const

/** Returns a phrase such as "for the CPU, from @mpmml/linux-x64-gnu". */
export const addonText = ({ kind, from }: Info['addon']) => `${kinds[kind]}, from ${from}`
