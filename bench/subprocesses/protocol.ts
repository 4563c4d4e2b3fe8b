/** Messages between a command and its measuring subprocesses. */

/** Message to a subprocess: the name of an experiment in experiments.ts, and its request. */
export interface TrialRequest {
  experiment: string
  request: unknown
}

export type Message<Found> =
  /** Current step, and completed fraction of the subprocess' work, from 0 to 1. */
  | { type: 'progress'; what: string; done: number }
  /** Result of the next case. */
  | { type: 'found'; found: Found }
  | { type: 'failed'; code: string | null; message: string }
