/** The messages between the command and the processes that measure. */
import type { DataType, Semiring } from '../../lib/index.js'
import type { Spread } from '../../lib/lab.js'
import type { ProductShape } from '../arguments.js'
import type { ValueKind } from './values.js'

/** A product to time. */
export interface Product extends ProductShape {
  values: ValueKind
}

/** What a process measures, one after the other. */
export interface TrialRequest {
  backend: 'cuda' | 'cpu'
  device: number
  dtype: DataType
  semiring: Semiring
  /** Timed repetitions; null: chosen by the time that one takes. */
  repetitions: number | null
  products: Product[]
}

/** What was measured of a product. Times are milliseconds. */
export interface Row extends Product {
  backend: 'cuda' | 'cpu'
  /** Threads on the CPU; null on a GPU. */
  threads: number | null
  variant: string
  path: string
  /** The naive variant that found this variant's product equal, on a small product of the same values. */
  verified: string
  kernelMs: Spread
  /** Packing and the scan of the values, if they are passes of their own: on a GPU. */
  prepareMs: Spread | null
  analysisMs: Spread | null
  /** 10^9 operations (2 per step) per second of kernel time. */
  gops: Spread
  /** The whole call from JavaScript with ordinary arrays; on a GPU also with operands and result in pinned memory. */
  callMs: Spread
  pinnedCallMs: Spread | null
}

/** What the products of a trial are measured against, in the same process. */
export interface TrialCeiling {
  name: string
  gops: Spread
  /** Null on the CPU, whose clock isn't known. */
  clockMHz: number | null
  /** On the CPU: the ceilings of 16-bit and of 8-bit sums, and a plain loop's speed on one core. */
  halfGops: Spread | null
  byteGops: Spread | null
  naiveLoopGops: Spread | null
}

export type Message =
  | { type: 'started'; threads: number | null; device: string; ceiling: TrialCeiling | null }
  | { type: 'row'; row: Row }
  | { type: 'failed'; product: Product | null; code: string | null; message: string }
