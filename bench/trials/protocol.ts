/** The messages between a command and the processes that measure. */
import type { Case } from '../experiment.js'

/** What can be measured in a process of its own: it is known by a name, because functions can't be sent there. */
export interface Trialled<Request, Found> {
  /** The cases of a request, each roughly as long as its cost says. */
  grid(request: Request): Case<Found>[]
}

/** What a process is sent. */
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
