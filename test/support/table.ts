/** Sections of the variant table for the suites, and the variants that this machine can run. */
import type { BackendName } from '../../lib/backend-name.js'
import {
  type DataType,
  info,
  type Semiring,
  type Variant,
  type VariantName,
  variants,
} from '../../lib/index.js'

const { instructionSets } = (await import(
  new URL('../../native/variants/table.mjs', import.meta.url).href
)) as {
  /** Instruction sets, the best one first. */
  instructionSets: { name: string }[]
}

/** Arithmetics of kernels with an accumulator. */
const pathsByAccumulator: Record<string, string[]> = {
  exponent: ['exponent'],
  exponentwide: ['exponent-wide'],
  exponentbounded: ['exponent-bounded'],
  byte: ['byte', 'byte-translated'],
  uint16: ['half', 'half-translated'],
  int32: ['direct', 'translated'],
  int64: ['wide', 'wrapping'],
}

export const pathsOf = ({ parameters }: Variant): string[] =>
  pathsByAccumulator[parameters.accumulator as string]!

/** Reason why a variant can't run on this machine; undefined if it must run. */
export function missing({ parameters: { isa } }: Variant): string | undefined {
  const { simd } = info().cpu
  const rank = (name: unknown) => instructionSets.findIndex((set) => set.name === name)
  return rank(isa) < rank(simd) && rank(isa) >= 0 ? `the best instruction set here is ${simd}` : undefined
}

/** Variant with the given accumulator that this machine can run. */
export function variantWith(
  backend: BackendName,
  semiring: Semiring,
  accumulator: string,
  dtype: DataType = 'int32',
): Variant | undefined {
  return variants().find(
    (variant) =>
      variant.backend === backend &&
      variant.semiring === semiring &&
      variant.dtype === dtype &&
      variant.parameters.accumulator === accumulator &&
      variant.automatic &&
      missing(variant) === undefined,
  )
}

/** Variants of the exponent arithmetics with the given accumulator that can run on the first GPU. */
export function exponentVariants(
  semiring: Semiring,
  accumulator: string,
  dtype: DataType = 'int32',
): VariantName[] {
  const capability = Number(info().cuda.devices[0]!.computeCapability)
  const runs = ({ family }: Variant) => (family === 'exponent' ? capability === 9 : capability >= 8)
  return variants()
    .filter((variant) => variant.semiring === semiring && variant.dtype === dtype && runs(variant))
    .filter(({ parameters }) => parameters.accumulator === accumulator)
    .map(({ name }) => name as VariantName)
}
