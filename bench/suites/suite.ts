/** What a suite is, and what its cases measure with. */
import {
  type DenseMatrix,
  type Device,
  type ElementArray,
  type MatrixLike,
  mpmmSync,
  type OperandArray,
  openDevice,
  type ProductStructure,
} from '../../lib/index.js'
import { type Spread, spread } from '../../lib/lab.js'
import type { Experiment, OnPart } from '../experiment.js'
import { firstDifference, naiveVariant } from '../verify.js'

/** 'x' is a ratio, '' a count. */
export type Unit = 'ms' | 'µs' | 'TOPS' | 'x' | '%' | 'bytes' | ''

/** A number that a suite shows. */
export interface Figure {
  /** What was run. */
  of: string
  /** What of it was measured. */
  what: string
  unit: Unit
  value: Spread
  /** What it must be, and what it aims to be: at most, or at least if more is better. Null: nothing is asked of it. */
  must: number | null
  aim: number | null
  moreIsBetter: boolean
  /** What else is to be known of it. */
  note: string
}

/** What is asked of a figure; of speeds more is better unless it says otherwise. */
export type Asked = Partial<Pick<Figure, 'must' | 'aim' | 'moreIsBetter' | 'note'>>

export interface SuiteRequest {
  backend: 'cuda' | 'cpu'
  device: number
  /** Smaller and fewer products. */
  quick: boolean
  /** Null: the suite's own number. */
  repetitions: number | null
}

/** What a case found. */
export interface SuiteFound {
  figures: Figure[]
  /** Results and errors that aren't what they must be: the command fails. */
  wrong: string[]
}

export interface Suite {
  /** For the head of its table. */
  shows: string
  /** What is measured, one after the other, in a process of its own, which has called nothing of the library before. */
  grid(bench: Bench): SuiteCase[]
}

export type SuiteCase = [what: string, measure: () => Promise<void> | void]

/** What the samples of a piece of work show: what of it, in which unit, from a sample. */
type FigureOf<Sample> = [
  what: string,
  unit: Unit,
  value: (sample: Sample) => number,
  asked?: Asked | undefined,
]

/** The place of a suite's measurements, and what was found so far. */
export class Bench {
  readonly backend: 'cuda' | 'cpu'
  readonly index: number
  readonly gpu: boolean
  readonly quick: boolean
  /** Says what is being done now, and how much of the case is done. */
  onPart: OnPart = () => {}
  #found: SuiteFound = { figures: [], wrong: [] }
  #device: Promise<Device> | undefined

  constructor(private readonly request: SuiteRequest) {
    this.backend = request.backend
    this.index = request.device
    this.gpu = request.backend === 'cuda'
    this.quick = request.quick
  }

  /** Where calls of arrays are computed. */
  get place() {
    return { backend: this.backend, device: this.index }
  }

  /** Opened when it is first asked for, and closed after the last case. */
  device(): Promise<Device> {
    this.#device ??= openDevice(this.place)
    return this.#device
  }

  /** How often something is repeated, unless the user says so. */
  times(quick: number, usual: number): number {
    return this.request.repetitions ?? (this.quick ? quick : usual)
  }

  /** As asked for; null: not at all. */
  get repetitions(): number | null {
    return this.request.repetitions
  }

  /** A size or a number of things: by the place that is measured. */
  pick<T>(quick: T, gpu: T, cpu: T): T {
    return this.quick ? quick : this.gpu ? gpu : cpu
  }

  /** What is asked of a GPU that computes products of the usual sizes. */
  ofGpu(asked: Asked | undefined): Asked {
    return this.gpu && !this.quick ? (asked ?? {}) : {}
  }

  /** @param samples - the measurements, at least one. */
  figure(of: string, what: string, unit: Unit, samples: number | readonly number[], asked: Asked = {}): void {
    const { must = null, aim = null, moreIsBetter = unit === 'TOPS', note = '' } = asked
    const value = spread(typeof samples === 'number' ? [samples] : samples)
    this.#found.figures.push({ of, what, unit, value, must, aim, moreIsBetter, note })
  }

  /** Several figures of the same samples. */
  figures<Sample>(of: string, samples: readonly Sample[], shown: readonly FigureOf<Sample>[]): void {
    for (const [what, unit, value, asked] of shown) this.figure(of, what, unit, samples.map(value), asked)
  }

  wrong(message: string): void {
    this.#found.wrong.push(message)
  }

  /** What was found since it was asked for last. */
  take(): SuiteFound {
    const found = this.#found
    this.#found = { figures: [], wrong: [] }
    return found
  }

  async close(): Promise<void> {
    await (await this.#device)?.close()
  }
}

/** A suite as something that a process of its own measures. */
export const inTrial = (suite: Suite): Experiment<SuiteRequest, SuiteFound> => ({
  grid(request) {
    const bench = new Bench(request)
    const cases = suite.grid(bench)
    return cases.map(([what, measure], at) => ({
      what,
      cost: 1,
      async measure(onPart) {
        bench.onPart = onPart
        await measure()
        if (at === cases.length - 1) await bench.close()
        return bench.take()
      },
    }))
  },
})

/** The product of int32 in max-plus by the naive variant. */
export function naiveProduct(
  a: MatrixLike<OperandArray>,
  b: MatrixLike<OperandArray>,
  structure?: ProductStructure,
): DenseMatrix {
  const variant = naiveVariant('max-plus', 'int32')
  return mpmmSync(a as DenseMatrix, b as DenseMatrix, { variant, structure }).c
}

/** How a product differs from the naive one; undefined if it doesn't. */
export function differsFromNaive(
  c: DenseMatrix<ElementArray>,
  ...product: Parameters<typeof naiveProduct>
): string | undefined {
  const difference = firstDifference(c, naiveProduct(...product))
  return difference && `${difference.count} elements differ from the naive product`
}
