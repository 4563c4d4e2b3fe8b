/** What a suite is, and the messages between the command and the process that a suite runs in. */
import type { Spread } from '../../lib/lab.js'

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

export interface SuiteRequest {
  backend: 'cuda' | 'cpu'
  device: number
  /** Smaller and fewer products. */
  quick: boolean
  /** Null: the suite's own number. */
  repetitions: number | null
}

/** Where a suite puts what it finds. */
export interface Findings {
  /**
   * @param samples - the measurements, at least one.
   */
  figure(of: string, what: string, unit: Unit, samples: number | readonly number[], asked?: Asked): void
  /** A result or an error that isn't what it must be: the command fails. */
  wrong(message: string): void
  /** What is being done now, and how much of the suite is done, from 0 to 1. */
  progress(what: string, done: number): void
}

export type Asked = Partial<Pick<Figure, 'must' | 'aim' | 'moreIsBetter' | 'note'>>

export interface Suite {
  /** For the head of its table. */
  shows: string
  /** Runs in a process of its own, which has called nothing of the library before. */
  run(request: SuiteRequest, findings: Findings): Promise<void>
}

export type Message =
  | { type: 'figure'; figure: Figure }
  | { type: 'wrong'; message: string }
  | { type: 'progress'; what: string; done: number }
  | { type: 'failed'; code: string | null; message: string }
