/** The messages between a command and the processes that measure. */

/** What a process is sent: an experiment by its name in experiments.ts, and what is asked of it. */
export interface TrialRequest {
  experiment: string
  request: unknown
}

export type Message<Found> =
  /** What is being done now, and how much of the trial is done, from 0 to 1. */
  | { type: 'progress'; what: string; done: number }
  /** What came of the next case. */
  | { type: 'found'; found: Found }
  | { type: 'failed'; code: string | null; message: string }
