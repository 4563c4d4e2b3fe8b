/** Interface of suites, and the tools with which their cases measure. */
import type { BackendName } from '../../lib/index.js'
import {
  type DataType,
  type DenseMatrix,
  type Device,
  type DeviceMatrix,
  type ElementArray,
  type MatrixLike,
  mpmmSync,
  type OperandArray,
  openDevice,
  type ProductStructure,
  type Shape,
} from '../../lib/index.js'
import { type Spread, spread } from '../../lib/lab.js'
import { type Experiment, type ProgressListener, repeat } from '../experiment.js'
import { ANY_INT32, integers } from '../timing/values.js'
import { firstDifference, naiveVariant } from '../verify.js'

/** 'x' is a ratio, '' a count. */
export type Unit = 'ms' | 'µs' | 'TOPS' | 'x' | '%' | 'bytes' | ''

/** Number that a suite reports. */
export interface Figure {
  /** Description of the measured work. */
  of: string
  /** Measured quantity. */
  what: string
  unit: Unit
  value: Spread
  /** Required value and goal: upper limits, or lower limits if more is better; null without a requirement. */
  must: number | null
  aim: number | null
  moreIsBetter: boolean
  /** Remark for the reader. */
  note: string
}

/** Goal and format of a figure. By default larger values are better for speeds only. */
export type FigureGoal = Partial<Pick<Figure, 'must' | 'aim' | 'moreIsBetter' | 'note'>>

export interface SuiteRequest {
  backend: BackendName
  device: number
  /** Whether to measure smaller and fewer products. */
  quick: boolean
  /** Number of repetitions; null: the suite's default. */
  repetitions: number | null
  /** Whether to run the suite's cases for one thread. */
  onOneCore?: boolean
}

/** Results of a case. */
export interface SuiteResult {
  figures: Figure[]
  /** Wrong results and unexpected errors, which make the command fail. */
  wrong: string[]
}

export interface Suite {
  /** Title of its table. */
  shows: string
  /** Cases, measured one after the other in a new process, which hasn't called the library before. */
  grid(bench: Bench): SuiteCase[]
  /** Cases for a process with one thread. */
  onOneCore?(bench: Bench): SuiteCase[]
}

export type SuiteCase = [what: string, measure: () => Promise<void> | void]

/** Definition of a figure of samples. The goal may depend on the last sample. */
type FigureOf<Sample> = [
  what: string,
  unit: Unit,
  value: (sample: Sample) => number,
  goal?: FigureGoal | ((last: Sample) => FigureGoal) | undefined,
]

/** Default numbers of repetitions, and number of warm-up calls. */
export type Repetitions = readonly [quick: number, usual: number, warmUp: number]

/** Backend and device of a suite, with the figures so far. */
export class Bench {
  readonly backend: BackendName
  readonly gpu: boolean
  readonly quick: boolean
  /** Number of repetitions from the user; null for the default. */
  readonly repetitions: number | null
  /** Reports the current step of the case and the completed fraction. */
  onPart: ProgressListener = () => {}
  #found: SuiteResult = { figures: [], wrong: [] }
  #device: Promise<Device> | undefined
  #matrices: { dispose(): void }[] = []

  constructor(private readonly request: SuiteRequest) {
    this.backend = request.backend
    this.gpu = request.backend === 'cuda'
    this.quick = request.quick
    this.repetitions = request.repetitions
  }

  /** Options of calls with operands in arrays. */
  get place() {
    return { backend: this.backend, device: this.request.device }
  }

  /** Device that is opened at first use and closed after the last case. */
  device(): Promise<Device> {
    this.#device ??= openDevice(this.place)
    return this.#device
  }

  /**
   * Uploads matrices, which are disposed at the end of the case. The static element type is int32 for any
   * matrix, because measurements don't read elements.
   */
  async upload<const Sources extends readonly MatrixLike<OperandArray>[]>(
    ...sources: Sources
  ): Promise<{ -readonly [Index in keyof Sources]: DeviceMatrix }> {
    const device = await this.device()
    const matrices = await Promise.all(sources.map((source) => device.upload(source)))
    this.#matrices.push(...matrices)
    return matrices as never
  }

  /** Allocates a matrix for results, which is disposed at the end of the case. */
  async full(shape: Readonly<Shape>, dtype: DataType = 'int32'): Promise<DeviceMatrix> {
    const matrix = (await (await this.device()).full(shape, 0, dtype as 'int32')) as DeviceMatrix
    this.#matrices.push(matrix)
    return matrix
  }

  /** Uploads two random square matrices of int32, and allocates one for their product. */
  async squares(size: number, limit = ANY_INT32) {
    const square = (seed: number) => integers([size, size], seed, { limit })
    const [a, b] = await this.upload(square(1), square(2))
    return { a, b, out: await this.full([size, size]) }
  }

  /** Returns the number of repetitions. */
  times(quick: number, usual: number): number {
    return this.repetitions ?? (this.quick ? quick : usual)
  }

  /** Returns a size or a count for quick runs, the GPU or the CPU. */
  pick<T>(quick: T, gpu: T, cpu: T): T {
    return this.quick ? quick : this.gpu ? gpu : cpu
  }

  /** Returns a goal, which applies only to the usual sizes. */
  usually(goal: FigureGoal | undefined): FigureGoal {
    return this.quick ? {} : (goal ?? {})
  }

  /** Returns a goal, which applies only to GPUs and the usual sizes. */
  ofGpu(goal: FigureGoal | undefined): FigureGoal {
    return this.gpu ? this.usually(goal) : {}
  }

  /** @param samples - measurements; at least one. */
  figure(
    of: string,
    what: string,
    unit: Unit,
    samples: number | readonly number[],
    goal: FigureGoal = {},
  ): void {
    const { must = null, aim = null, moreIsBetter = unit === 'TOPS', note = '' } = goal
    const value = spread(typeof samples === 'number' ? [samples] : samples)
    this.#found.figures.push({ of, what, unit, value, must, aim, moreIsBetter, note })
  }

  /** Adds several figures of the same samples. */
  figures<Sample>(of: string, samples: readonly Sample[], shown: readonly FigureOf<Sample>[]): void {
    for (const [what, unit, value, figureGoal] of shown) {
      const goal = typeof figureGoal === 'function' ? figureGoal(samples.at(-1)!) : figureGoal
      this.figure(of, what, unit, samples.map(value), goal)
    }
  }

  /** Repeats a call and adds figures of its results. */
  async measure<Sample>(
    of: string,
    [quick, usual, warmUp]: Repetitions,
    call: (nth: number) => Promise<Sample> | Sample,
    shown: readonly FigureOf<Sample>[],
  ): Promise<Sample[]> {
    const samples = await repeat(this.times(quick, usual), warmUp, call)
    this.figures(of, samples, shown)
    return samples
  }

  /** Reports an error of a result; undefined is ignored. */
  wrong(message: string | undefined, of?: string): void {
    if (message !== undefined) this.#found.wrong.push(of === undefined ? message : `${of}: ${message}`)
  }

  /** Returns the figures since the last call, and disposes the matrices of the case. */
  take(): SuiteResult {
    for (const matrix of this.#matrices) matrix.dispose()
    const found = this.#found
    this.#matrices = []
    this.#found = { figures: [], wrong: [] }
    return found
  }

  async close(): Promise<void> {
    await (await this.#device)?.close()
  }
}

/** Returns the speed of `steps` steps in TOPS, with two operations per step. */
export const topsOf = (steps: number, ms: number) => (2 * steps) / ms / 1e9

/** Returns a suite as an experiment for a subprocess. */
export const inTrial = (suite: Suite): Experiment<SuiteRequest, SuiteResult> => ({
  grid(request) {
    const bench = new Bench(request)
    const cases = request.onOneCore ? suite.onOneCore!(bench) : suite.grid(bench)
    return cases.map(([what, measure], at) => ({
      what,
      cost: 1,
      async measure(onPart) {
        bench.onPart = onPart
        await measure()
        const found = bench.take()
        if (at === cases.length - 1) await bench.close()
        return found
      },
    }))
  },
})

/** Returns the int32 max-plus product by the naive variant. */
export function naiveProduct(
  a: MatrixLike<OperandArray>,
  b: MatrixLike<OperandArray>,
  structure?: ProductStructure,
): DenseMatrix {
  const variant = naiveVariant('max-plus', 'int32')
  return mpmmSync(a as DenseMatrix, b as DenseMatrix, { variant, structure }).c
}

/** Describes the first difference of a product from the naive product; undefined if they are equal. */
export function differsFromNaive(
  c: DenseMatrix<ElementArray>,
  ...product: Parameters<typeof naiveProduct>
): string | undefined {
  const difference = firstDifference(c, naiveProduct(...product))
  return difference && `${difference.count} elements differ from the naive product`
}
