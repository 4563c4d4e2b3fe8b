/** What products on the CPU are measured against: a ceiling on registers alone, and the loop that anyone writes first. */
import { show } from '../describe.js'
import { fromNative, OptionError } from '../errors.js'
import { addon } from '../native.js'
import type { InstructionSet } from '../variant-names.js'
import { readNumbers, repetitions, withNumbers } from './options.js'
import { type Spread, spread } from './statistics.js'

export interface CpuCeilingOptions {
  /** The instruction set; the one that products take by default. */
  isa?: InstructionSet | undefined
  /** Of the sums: 32 (by default) or 16. */
  bits?: 32 | 16 | undefined
  /** Threads that run at once; 1 by default. */
  threads?: number | undefined
  /** How long it is measured, about; 90 by default. */
  milliseconds?: number | undefined
}

export interface CpuCeiling {
  isa: InstructionSet
  bits: 32 | 16
  threads: number
  /** 10^9 operations per second of all threads together; an addition or a maximum is one. */
  gops: Spread
}

export interface CpuNaiveLoopOptions {
  /** The sizes of the product: A is m × k, B is k × n. */
  m: number
  n: number
  k: number
  isa?: InstructionSet | undefined
  /** Timed runs; 3 by default. */
  repetitions?: number | undefined
}

export interface CpuNaiveLoop {
  isa: InstructionSet
  ms: Spread
  /** 10^9 operations per second, at 2 operations a step. */
  gops: Spread
}

const SAMPLES = 9
const most = { least: 1, most: 32768 }

function readIsa(options: unknown): { isa?: InstructionSet } {
  const isa = (options as { isa?: unknown } | undefined)?.isa
  if (isa === undefined) return {}
  if (typeof isa === 'string') return { isa: isa as InstructionSet }
  throw new OptionError(`option isa must be the name of an instruction set, but it is ${show(isa)}`)
}

/**
 * Additions and maxima on registers alone, as the steps of a product are: what no product can exceed.
 *
 * @throws Rejects with ERR_MPMML_OPTION, and ERR_MPMML_VARIANT for an instruction set that isn't to be had here.
 */
export async function cpuCeiling(options: CpuCeilingOptions = {}): Promise<CpuCeiling> {
  const read = readNumbers(
    options,
    {
      bits: { least: 16, most: 32 },
      threads: { least: 1, most: 1024 },
      milliseconds: { least: 1, most: 60_000, fraction: true },
    },
    ['isa'],
  )
  const { bits = 32, threads = 1, milliseconds = 90 } = read
  if (bits !== 32 && bits !== 16) throw new OptionError(`option bits must be 32 or 16, but it is ${bits}`)
  const request = {
    ...readIsa(options),
    bits,
    threads,
    samples: SAMPLES,
    milliseconds: milliseconds / SAMPLES,
  }
  try {
    const { isa, stepsPerSecond } = await addon.cpuCeiling(request)
    return { isa, bits, threads, gops: spread(stepsPerSecond.map((steps) => (2 * steps) / 1e9)) }
  } catch (error) {
    throw fromNative(error)
  }
}

/**
 * The max-plus product of row-major int32 matrices as three plain loops (by rows of A, along K, along rows of B),
 * compiled at -O3 for the instruction set, on one core. It looks at no ranges and knows no ε.
 *
 * @throws Rejects as {@link cpuCeiling} does.
 */
export async function cpuNaiveLoop(options: CpuNaiveLoopOptions): Promise<CpuNaiveLoop> {
  const sizes = ['m', 'n', 'k'] as const
  const read = readNumbers(
    options,
    { m: most, n: most, k: most, repetitions: { ...repetitions, most: 1000 } },
    ['isa'],
  )
  const { m, n, k, repetitions: count = 3 } = withNumbers(read, sizes)
  try {
    const { isa, ms } = await addon.cpuNaiveLoop({ ...readIsa(options), m, n, k, repetitions: count })
    return { isa, ms: spread(ms), gops: spread(ms.map((time) => (2 * m * n * k) / time / 1e6)) }
  } catch (error) {
    throw fromNative(error)
  }
}
