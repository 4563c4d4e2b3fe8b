/**
 * Baselines of products on the CPU: the peak rate on registers without memory access, and the naive triple
 * loop.
 */

import { assertSemiringType, readSemiring, semiringName } from '../built-in-semirings.js'
import { show, showChoices } from '../describe.js'
import { bytesOfStored } from '../elements.js'
import { configureCpu } from '../environment.js'
import { natively, OptionError } from '../errors.js'
import { addon } from '../native.js'
import { choice, Options, type OptionsOf, option, whole } from '../options.js'
import type { DataType, InstructionSet, Semiring } from '../variant-names.js'
import { fraction, requiredSize } from './options.js'
import { type Spread, spread } from './statistics.js'

/** The options of {@link cpuCeiling}. `undefined` means the default. */
export interface CpuCeilingOptions {
  /** Instruction set. Default: that of products. */
  isa?: InstructionSet | undefined
  /** The element type; 'int32' by default. */
  dtype?: DataType | undefined
  /** Semiring; 'max-plus' by default. Semirings that differ only in the direction of ⊕ have equal steps. */
  semiring?: Semiring | undefined
  /** Bits of integer sums: 32 (default), 64, 16 or 8. */
  bits?: 64 | 32 | 16 | 8 | undefined
  /** Number of concurrent threads; 1 by default. */
  threads?: number | undefined
  /** Approximate duration of the measurement in milliseconds. Default 90. */
  milliseconds?: number | undefined
}

/** The options of {@link cpuNaiveLoop}. `undefined` means the default. */
export interface CpuNaiveLoopOptions {
  /** Rows of A and C. */
  m: number
  /** Columns of B and C. */
  n: number
  /** Columns of A and rows of B. */
  k: number
  /** Instruction set. Default: that of products. */
  isa?: InstructionSet | undefined
  /** Number of timed runs; 3 by default. */
  repetitions?: number | undefined
}

const SAMPLES = 9
/** Kind of benchmark steps: its description, and the suffix of its name in native code. */
interface StepKind {
  name: string
  suffix: string
}

const multiplyAdds: StepKind = { name: 'multiply-adds', suffix: '-fma' }
const minimaAndMaxima: StepKind = { name: 'minima and maxima', suffix: '-min-max' }
/** Steps of the other semirings by ⊗, because their duration doesn't depend on ⊕. */
const stepsByExtension: Record<string, StepKind> = {
  sum: { name: 'additions and maxima', suffix: '' },
  minimum: minimaAndMaxima,
  maximum: minimaAndMaxima,
  product: { name: 'multiplications and maxima', suffix: '-max-times' },
  and: { name: 'words of 64 truth values', suffix: '-or-and' },
}

function stepsOf(semiring: Semiring): StepKind | undefined {
  const found = addon.semirings.find(({ name }) => name === semiring)
  if (!found) return undefined
  return found.combine === 'sum' ? multiplyAdds : stepsByExtension[found.extend]
}

/**
 * Returns the operations that {@link cpuCeiling} measures for a semiring, such as 'additions and maxima';
 * undefined for a semiring without a benchmark.
 *
 * @throws Nothing.
 * @example
 * console.log(cpuCeilingName('max-plus')) // additions and maxima
 */
export const cpuCeilingName = (semiring: Semiring): string | undefined => stepsOf(semiring)?.name

const isa = option(undefined, (value, name) => {
  if (typeof value === 'string') return value as InstructionSet
  throw new OptionError(`option ${name} must be the name of an instruction set, but it is ${show(value)}`)
})

const ceilingOptions = new Options({
  isa,
  dtype: choice(addon.dataTypes, 'int32'),
  semiring: semiringName,
  bits: whole(undefined, 8, 64),
  threads: whole(1, 1, 1024),
  milliseconds: fraction(1, 60_000),
} satisfies OptionsOf<CpuCeilingOptions>)

const MAX_SIZE = 32768

const loopOptions = new Options({
  m: requiredSize(MAX_SIZE),
  n: requiredSize(MAX_SIZE),
  k: requiredSize(MAX_SIZE),
  isa,
  repetitions: whole(3, 1, 1000),
} satisfies OptionsOf<CpuNaiveLoopOptions>)

/**
 * Measures the rate of a product's steps on registers, without memory access ({@link cpuCeilingName}). No
 * product can exceed this rate.
 *
 * @throws Rejects with ERR_MPMML_OPTION, ERR_MPMML_DTYPE if the semiring doesn't have the element type, and
 *   ERR_MPMML_VARIANT for an instruction set that this processor or this build doesn't have.
 * @example
 * const { bits, gops } = await cpuCeiling({ dtype: 'float32', milliseconds: 10 })
 * console.log(bits, gops.median > 0) // 32 true
 */
export async function cpuCeiling(options?: CpuCeilingOptions): Promise<{
  /** The instruction set. */
  isa: InstructionSet
  /** The element type. */
  dtype: DataType
  /** Bits of an element, or of a sum of integers. */
  bits: number
  /** Number of concurrent threads. */
  threads: number
  /** 10^9 operations per second of all threads together, 2 per step. */
  gops: Spread
}> {
  const read = ceilingOptions.read(options)
  const { dtype, semiring = 'max-plus', threads, milliseconds = 90 } = read
  assertSemiringType(readSemiring(semiring), addon.dataTypes.indexOf(dtype))
  const known = stepsOf(semiring)
  if (!known) {
    const others = addon.semirings.map(({ name }) => name).filter(stepsOf)
    throw new OptionError(`no steps measure the ceiling of ${semiring}: choose ${showChoices(others)}`)
  }
  const bits = read.bits ?? 8 * bytesOfStored(dtype)
  if (
    read.bits !== undefined &&
    (dtype !== 'int32' || known.suffix !== '' || ![64, 32, 16, 8].includes(bits))
  ) {
    throw new OptionError(
      `option bits must be 64, 32, 16 or 8, and only for sums of int32, but it is ${bits} for ${semiring} on ${dtype}`,
    )
  }
  const type = dtype === 'int32' ? `int${bits}` : dtype
  const request = {
    isa: read.isa,
    steps: type + known.suffix,
    threads,
    samples: SAMPLES,
    milliseconds: milliseconds / SAMPLES,
  }
  configureCpu()
  const { isa, stepsPerSecond } = await natively(() => addon.cpuCeiling(request))
  return { isa, dtype, bits, threads, gops: spread(stepsPerSecond.map((steps) => (2 * steps) / 1e9)) }
}

/**
 * Measures the max-plus product of row-major int32 matrices as three plain loops (by rows of A, along K,
 * along rows of B), compiled at -O3 for the instruction set, on one core. The loops neither check ranges nor
 * handle ε.
 *
 * @throws Rejects as {@link cpuCeiling} does.
 * @example
 * const { ms } = await cpuNaiveLoop({ m: 64, n: 64, k: 64, repetitions: 5 })
 * console.log(ms.count) // 5
 */
export async function cpuNaiveLoop(options: CpuNaiveLoopOptions): Promise<{
  /** The instruction set. */
  isa: InstructionSet
  /** Milliseconds of a product. */
  ms: Spread
  /** 10^9 operations per second, with 2 operations per step. */
  gops: Spread
}> {
  const request = loopOptions.read(options)
  const { m, n, k } = request
  configureCpu()
  const { isa, ms } = await natively(() => addon.cpuNaiveLoop(request))
  return { isa, ms: spread(ms), gops: spread(ms.map((time) => (2 * m * n * k) / time / 1e6)) }
}
