// Kernels of products of the WebGPU backend. lib/webgpu writes them as WGSL when they are needed, so nothing of them is built: the rows
// are names for the option `variant`, and for results.
import { dataTypes, semirings } from './table.mjs'

/** Semirings with the element types that WebGPU computes exactly; docs/webgpu.md says why the others are left to the CPU. */
const exact = {
  'max-plus': ['int32', 'float32'],
  'min-plus': ['int32', 'float32'],
  'max-min': ['int32', 'float32'],
  'min-max': ['int32', 'float32'],
  'or-and': ['uint8'],
  'xor-and': ['uint8'],
}

/** Rows and columns of the result that a workgroup computes. */
const tiles = [32, 64, 128]

/** Rows as those of native code's registry (NativeVariant). */
export const webGpuRows = Object.entries(exact).flatMap(([name, types]) =>
  types.flatMap((type) => {
    const semiring = semirings.find((row) => row.name === name)
    const dataType = dataTypes.find((row) => row.name === type)
    return tiles.map((tile) => ({
      name: `wgsl_${semiring.name.replaceAll('-', '')}_${dataType.short}_${tile}x${tile}`,
      family: 'wgsl',
      semiring: semiring.name,
      dtype: dataType.name,
      parameters: { BM: tile, BN: tile },
      automatic: false,
      backend: 'webgpu',
      architectures: ['WGSL'],
    }))
  }),
)

/** lib/webgpu/variants.ts */
export const webGpuVariants = (notice) => `// ${notice}
import type { NativeVariant } from '../native-interface.js'

/** Kernels of products of the WebGPU backend, as rows of the registry. */
export const webGpuVariants: readonly NativeVariant[] = [
${webGpuRows.map((row) => `  ${JSON.stringify(row)},`).join('\n')}
]
`
