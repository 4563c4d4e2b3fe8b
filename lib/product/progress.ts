/** Telling how far work is, while it runs. */
import { reportAt as at } from '../fields.js'
import { tell } from '../listener.js'
import type { Progress } from './options.js'

/** Between two calls of `onProgress`. */
const INTERVAL_MS = 250

/** How much of so many steps is done, by the report in which native code counts them. */
export function shareOf(steps: number, report: Float64Array): () => number {
  // Rounding may bring the count beyond the number of steps, of which there may be none.
  return () => Math.min(report[at.stepsDone]! / steps, 1) || 0
}

/** A listener that is never told less than before: work that fails may be begun again in another way. */
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

/** The progress of work that has started, until end() is called. */
export class ProgressReports {
  readonly #listener: (progress: Progress) => void
  readonly #share: () => number
  readonly #giveUp: () => void
  readonly #timer = setInterval(() => this.#tick(), INTERVAL_MS)
  #told = false
  #thrown: { error: unknown } | null = null

  /** `share` says how much is done, from 0 to 1; `giveUp` is called if the listener throws. */
  constructor(listener: (progress: Progress) => void, share: () => number, giveUp: () => void) {
    this.#listener = listener
    this.#share = share
    this.#giveUp = giveUp
  }

  /** To be called once the work has ended. Throws what the listener threw. */
  end(succeeded: boolean): void {
    clearInterval(this.#timer)
    if (succeeded && this.#told) this.#tell(1)
    if (this.#thrown) throw this.#thrown.error
  }

  #tick(): void {
    this.#tell(this.#share())
    if (!this.#thrown) return
    clearInterval(this.#timer)
    this.#giveUp()
  }

  #tell(done: number): void {
    if (this.#thrown) return
    this.#told = true
    try {
      tell(this.#listener, { done })
    } catch (error) {
      this.#thrown = { error }
    }
  }
}

/** What `work` gives; meanwhile `listener`, if there is one, hears how far it is: see {@link ProgressReports}. */
export async function reporting<Result>(
  listener: ((progress: Progress) => void) | undefined,
  share: () => number,
  giveUp: () => void,
  work: () => Promise<Result>,
): Promise<Result> {
  const reports = listener && new ProgressReports(listener, share, giveUp)
  let succeeded = false
  try {
    const result = await work()
    succeeded = true
    return result
  } finally {
    reports?.end(succeeded)
  }
}
