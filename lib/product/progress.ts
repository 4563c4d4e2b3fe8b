/** Reports the progress of running work. */
import { reportAt as at } from '../fields.js'
import { notify } from '../listener.js'

/** Progress of a product or of other work. Progress of other work may have additional members. */
export interface Progress {
  /** Completed fraction of the work, from 0 to 1. */
  done: number
}

/** Time between two calls of `onProgress`. */
export const INTERVAL_MS = 250

/**
 * Returns a function for the completed fraction of `steps`, read from the report in which native code counts
 * steps.
 */
export function shareOf(steps: number, report: Float64Array): () => number {
  // Rounding may raise the count above the number of steps, which may be 0.
  return () => Math.min(report[at.stepsDone]! / steps, 1) || 0
}

/** Returns a listener whose progress never decreases: failed work may be restarted with another method. */
export function forwardOnly(
  listener: ((progress: Progress) => void) | undefined,
): ((progress: Progress) => void) | undefined {
  let most = 0
  return (
    listener &&
    (({ done }) => {
      most = Math.max(most, done)
      listener({ done: most })
    })
  )
}

/**
 * Returns a listener for part `index` of `count` equal parts of the work; the earlier parts count as done.
 */
export function partOf(
  listener: ((progress: Progress) => void) | undefined,
  index: number,
  count: number,
): ((progress: Progress) => void) | undefined {
  return listener && (({ done }) => listener({ done: (index + done) / count }))
}

/**
 * Calls the listener of one piece of work. An exception of the listener ends the work, which rejects with
 * exactly this exception.
 */
export class ProgressListener<Report> {
  readonly #listener: ((report: Report) => void) | undefined
  #thrown: { readonly error: unknown } | undefined

  constructor(listener: ((report: Report) => void) | undefined) {
    this.#listener = listener
  }

  /** Calls the listener, and throws if it throws. */
  notify(report: Report): void {
    this.goOn()
    try {
      if (this.#listener) notify(this.#listener, report)
    } catch (error) {
      this.#thrown = { error }
      this.goOn()
    }
  }

  /**
   * Throws an Error if the listener has thrown, because a stream or a thread may have lost the exception.
   * Always an Error, because streams ignore null.
   */
  goOn(): void {
    if (this.#thrown) throw new Error('the listener has thrown', { cause: this.#thrown.error })
  }

  /** Throws exactly what the listener threw, if it has thrown. */
  rethrow(): void {
    if (this.#thrown) throw this.#thrown.error
  }

  /**
   * Runs the work and rejects with exactly what the listener threw, even if the work wraps the exception in
   * another error.
   */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } finally {
      this.rethrow()
    }
  }
}

/** The progress of work that has started, until end() is called. */
export class ProgressReports {
  readonly #listener: ProgressListener<Progress>
  readonly #abort: () => void
  readonly #timer
  #hasReported = false

  /**
   * `share` returns the completed fraction, from 0 to 1. `abort` must abort the work; it is called if the
   * listener throws.
   */
  constructor(listener: (progress: Progress) => void, share: () => number, abort: () => void) {
    this.#listener = new ProgressListener(listener)
    this.#abort = abort
    this.#timer = setInterval(() => this.#report(share()), INTERVAL_MS)
  }

  /**
   * Stops the reports; must be called when the work has ended. Throws the listener's exception, if it has
   * thrown.
   */
  end(succeeded: boolean): void {
    clearInterval(this.#timer)
    if (succeeded && this.#hasReported) this.#report(1)
    this.#listener.rethrow()
  }

  #report(done: number): void {
    this.#hasReported = true
    try {
      this.#listener.notify({ done })
    } catch {
      clearInterval(this.#timer)
      this.#abort()
    }
  }
}

/**
 * Returns the result of `work`, and reports its progress to `listener` meanwhile; see {@link
 * ProgressReports}.
 */
export async function reporting<Result>(
  listener: ((progress: Progress) => void) | undefined,
  share: () => number,
  abort: () => void,
  work: () => Promise<Result>,
): Promise<Result> {
  const reports = listener && new ProgressReports(listener, share, abort)
  let succeeded = false
  try {
    const result = await work()
    succeeded = true
    return result
  } finally {
    reports?.end(succeeded)
  }
}
