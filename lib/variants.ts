/** The kernel variants of the build. */
import { show } from './describe.js'
import { VariantError } from './errors.js'
import { addon, addonOrigin, type NativeVariant, withoutLaboratory } from './native.js'
import type { VariantName } from './variant-names.js'

/** A kernel variant: its operation, its parameters and its backend. */
export interface Variant {
  /** Name for the option `variant`, and in results and reports. */
  readonly name: VariantName
  /** Family of the kernel, such as `packed` or `ranked`. */
  readonly family: string
  /** Semiring of the products that the variant computes. */
  readonly semiring: NativeVariant['semiring']
  /** Element type of the matrices. */
  readonly dtype: NativeVariant['dtype']
  /** Values of the parameters of the family, by name. */
  readonly parameters: Readonly<Record<string, number | string>>
  /**
   * Whether the planner may choose the variant. Other variants run only on request by name, except the family
   * `ranked`: large products use it if a sample of their values predicts less time.
   */
  readonly automatic: boolean
  /** Backend of the variant. */
  readonly backend: NativeVariant['backend']
  /** Targets of the compiled code: GPU architectures (such as 'sm_90') or CPU instruction sets. */
  readonly architectures: readonly string[]
}

let rows: readonly Variant[] | undefined

/**
 * Returns the kernel variants of the loaded addon: first the CPU variants, then the CUDA variants if the
 * addon has CUDA. The laboratory's kernels are in a separate addon. Each row is frozen.
 *
 * @throws Nothing.
 * @example
 * const onCpu = variants().filter(({ backend, semiring }) => backend === 'cpu' && semiring === 'min-plus')
 * console.log([...new Set(onCpu.map(({ dtype }) => dtype))].sort().join()) // float32,float64,int32
 */
export function variants(): Variant[] {
  rows ??= addon.variants.map(
    ({ name, family, semiring, dtype, parameters, automatic, backend, architectures }) =>
      Object.freeze({
        name,
        family,
        semiring,
        dtype,
        parameters: Object.freeze({ ...parameters }),
        automatic,
        backend,
        architectures: Object.freeze([...architectures]),
      }),
  )
  return [...rows]
}

const indexes = new Map<unknown, number>(addon.variants.map(({ name }, index) => [name, index]))

/**
 * Returns the index of a variant in the addon's registry. Throws VariantError if this build has no variant of
 * that name.
 */
export function variantIndex(name: unknown): number {
  const index = indexes.get(name)
  if (index !== undefined) return index
  const refused = addon.refusedVariants.find((row) => row.name === name)
  if (refused) {
    throw new VariantError(
      `there is no variant ${show(name)}, because ${refused.reason}: variants() lists all`,
    )
  }
  const near = typeof name === 'string' ? nearest(name) : []
  const suggestion = near.length > 0 ? `; the nearest names are ${near.join(', ')}` : ''
  const isas = [...new Set(addon.variants.flatMap(({ parameters }) => parameters.isa ?? []))]
  const lacks = {
    cpu: `. None of them is for CUDA, because ${addon.explain(0).reason}`,
    cuda: `. None of them is one of the laboratory: ${withoutLaboratory()}`,
    lab: '',
    wasm: `. None of them is for CUDA, because ${addon.explain(0).reason}`,
  }
  throw new VariantError(
    `there is no variant ${show(name)} here${suggestion}: variants() lists all. Those of the CPU are compiled for ${isas.join(', ')}${lacks[addonOrigin.kind]}`,
  )
}

/** Returns the index of a variant for native code, which has none of WebGPU's: throws VariantError for these. */
export function nativeVariantIndex(name: unknown): number {
  const index = variantIndex(name)
  if (addon.variants[index]!.backend !== 'webgpu') return index
  throw new VariantError(
    `variant must be a CUDA variant, but ${show(name)} is one of WebGPU: variants() lists all`,
  )
}

/**
 * Returns at most three names with the least edit distance to `name`, and only if a third of the name
 * remains.
 */
function nearest(name: string): string[] {
  const word = name.slice(0, 100)
  return addon.variants
    .map((variant) => ({ name: variant.name, distance: editDistance(word, variant.name) }))
    .filter((candidate) => candidate.distance <= (candidate.name.length * 2) / 3)
    .sort((x, y) => x.distance - y.distance)
    .slice(0, 3)
    .map((candidate) => candidate.name)
}

/** Returns the Levenshtein distance. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, j) => j)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[to.length]!
}
