/**
 * Runs microbenchmarks: those of chapter 2 of the thesis, and the instruction mixes that bound products on
 * newer GPUs.
 */

import { semiringName } from '../built-in-semirings.js'
import { DTypeError, natively } from '../errors.js'
import { addon, type LabMicrobench, type LabMicrobenchRequest, type LabMicrobenchResult } from '../native.js'
import { choice, Options, type OptionsOf } from '../options.js'
import type { DataType, Semiring } from '../variant-names.js'
import { microbenchNames } from '../variant-names.js'
import { assertKnown, peakOf } from './machine.js'
import { deviceOrFirst, given, launchesSet } from './options.js'
import { parameterSet } from './parameters.js'
import { type Spread, spread } from './statistics.js'

/** A microbenchmark of this build. */
export interface Microbench extends Readonly<Omit<LabMicrobench, 'instances'>> {
  /** Values of the compile-time parameters for which it is compiled. */
  readonly instances: { x: number; y: number; k: number; max: 'ternary' | 'intrinsic' }[]
}

/**
 * Parameters of a microbenchmark by the thesis' names. {@link microbenches} lists the parameters of each
 * microbenchmark.
 */
export interface MicrobenchOptions extends Omit<LabMicrobenchRequest, 'name'> {}

/** Result of a microbenchmark: the kernel that ran, and its rates of operations, steps and instructions. */
export interface MicrobenchResult extends Omit<LabMicrobenchResult, 'ms'> {
  /** Name from {@link microbenches}. */
  name: string
  /** Milliseconds of a launch. */
  ms: Spread
  /** 10^9 operations per second. As in the thesis, an addition or a maximum is one operation. */
  gops: Spread
  /** Max-plus steps of words (of two elements in the packed forms) per clock and multiprocessor; median. */
  lanesPerClock: number
  /** Machine instructions of the counted operations per clock and multiprocessor; 0 if they weren't counted. */
  instructionsPerClock: number
  /**
   * Operations per clock and multiprocessor in percent of the limit of the pipes for these instructions; 0 if
   * unknown.
   */
  percentOfPipes: number
  /**
   * Operations per clock and multiprocessor in percent of one operation for each CUDA core, the usual theoretical machine
   * peak; above 100 if an instruction does several operations. 0 if unknown.
   */
  percentOfMachine: number
}

const microbenchOptions = new Options({
  ...parameterSet,
  ...launchesSet,
} satisfies OptionsOf<MicrobenchOptions>)

/**
 * Returns the microbenchmarks of the loaded addon; none if the addon lacks the laboratory.
 *
 * @throws Nothing.
 * @example
 * console.log(Array.isArray(microbenches())) // true
 */
export function microbenches(): Microbench[] {
  return addon.labMicrobenches()
}

/** Returns the validated request for a microbenchmark. */
export function readMicrobench(name: string, options: unknown): LabMicrobenchRequest {
  assertKnown('microbenchmark', name, microbenchNames)
  return { ...given(microbenchOptions.read(options)), name }
}

/**
 * Runs a microbenchmark.
 *
 * @param name - name from {@link microbenches}: 'reg-reg' (Algorithm 1 of the thesis), 'shared-one' (2),
 * 'shared-both' (3), or an instruction mix such as 'fused'.
 * @throws Rejects with ERR_MPMML_NO_CUDA if no GPU can be used, ERR_MPMML_ADDON if the addon that is loaded
 * has CUDA but not the laboratory, ERR_MPMML_VARIANT for parameters for which it isn't compiled or that
 * exceed the device's limits, ERR_MPMML_OPTION, ERR_MPMML_OUT_OF_MEMORY, ERR_MPMML_CUDA.
 * @example
 * const { gops, percentOfPipes } = await microbench('reg-reg', { x: 8, y: 8, bsi: 16, bsj: 16 })
 * console.log(gops.median > 0, percentOfPipes > 0) // true true
 */
export async function microbench(name: string, options?: MicrobenchOptions): Promise<MicrobenchResult> {
  const request = readMicrobench(name, options)
  const { ms: samples, ...facts } = await natively(() => addon.labMicrobench(request))
  const ms = spread(samples)
  const operations = facts.operationsPerThread * facts.threads
  const clocks = ms.median * facts.clockMHz * 1e3 * facts.multiprocessors
  const perClock = clocks > 0 ? operations / clocks : 0
  const instructions = Object.values(facts.instructionsPerIteration).reduce((sum, count) => sum + count, 0)
  const { cores } = peakOf(request.device ?? 0) ?? { cores: 0 }
  return {
    name,
    ...facts,
    ms,
    gops: spread(samples.map((sample) => operations / sample / 1e6)),
    lanesPerClock: perClock / 2 / facts.lanes,
    instructionsPerClock: (perClock / facts.operationsPerIteration) * instructions,
    percentOfPipes: facts.peakOperationsPerClock > 0 ? (100 * perClock) / facts.peakOperationsPerClock : 0,
    percentOfMachine: cores > 0 ? (100 * perClock) / cores : 0,
  }
}

/** The options of {@link ceiling}. `undefined` means the default. */
export interface CeilingOptions extends Pick<MicrobenchOptions, 'device'> {
  /** Element type: 'int32' (default) or 'float32'. */
  dtype?: DataType | undefined
  /** Semiring: 'max-plus' (default; min-plus is as fast) or 'plus-times'. */
  semiring?: Semiring | undefined
}

const ceilingOptions = new Options({
  device: deviceOrFirst,
  dtype: choice(addon.dataTypes, 'int32'),
  semiring: semiringName,
} satisfies OptionsOf<CeilingOptions>)

/**
 * Returns the name of the microbenchmark that is the ceiling of an element type and a semiring; undefined if
 * none exists.
 *
 * @throws Nothing.
 * @example
 * console.log(ceilingName('int32', 'max-plus'), ceilingName('uint8', 'or-and')) // fused undefined
 */
export function ceilingName(dtype: DataType, semiring: Semiring): string | undefined {
  if (semiring === 'plus-times') return dtype === 'float32' ? 'fma-f32' : undefined
  if (semiring !== 'max-plus' && semiring !== 'min-plus') return undefined
  if (dtype === 'int32') return 'fused'
  return dtype === 'float32' ? 'add-max-f32' : undefined
}

/**
 * Measures the ceiling of a GPU: the rate of steps on registers, without memory access. For int32 these are
 * additions and maxima, by `__viaddmax_s32` if the architecture has it as one instruction. For float32 they
 * are additions and maxima as two instructions, or multiply-adds.
 *
 * @throws Rejects with the errors of {@link microbench}, and with ERR_MPMML_DTYPE for float64 and for other
 * semirings, which have no microbenchmarks.
 * @example
 * const { name, gops } = await ceiling({ dtype: 'int32' })
 * console.log(name, gops.median > 0) // fused true
 */
export async function ceiling(options?: CeilingOptions): Promise<{
  /** The microbenchmark that measured it. */
  name: string
  /** 10^9 operations per second. */
  gops: Spread
  /** Clock of the multiprocessors in MHz, just after the last repetition. */
  clockMHz: number
}> {
  const { dtype, semiring = 'max-plus', device } = ceilingOptions.read(options)
  const name = ceilingName(dtype, semiring)
  if (name === undefined) {
    throw new DTypeError(
      `no microbenchmark measures the ceiling of ${semiring} on ${dtype}: there are those of max-plus and min-plus on int32 ` +
        'and float32, and of plus-times on float32',
    )
  }
  const { gops, clockMHz } = await microbench(name, { device, n: 20000, repetitions: 9, warmup: 3 })
  return { name, gops, clockMHz }
}
