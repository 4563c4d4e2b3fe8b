/** Telling how far a product is, while it runs. */
import { reportAt as at } from '../fields.js'
import type { Progress } from './options.js'
import type { Product } from './request.js'

/** Between two calls of `onProgress`. */
const INTERVAL_MS = 250

/** The progress of a product that has started, until end() is called. */
export class ProgressReports {
  readonly #listener: (progress: Progress) => void
  readonly #steps: number
  readonly #report: Float64Array
  readonly #giveUp: () => void
  readonly #timer = setInterval(() => this.#tick(), INTERVAL_MS)
  #told = false
  #thrown: { error: unknown } | null = null

  /** `report` is what native code counts in; `giveUp` is called if the listener throws. */
  constructor(
    listener: (progress: Progress) => void,
    product: Pick<Product, 'batch' | 'm' | 'n' | 'k'>,
    report: Float64Array,
    giveUp: () => void,
  ) {
    this.#listener = listener
    this.#steps = product.batch * product.m * product.n * product.k
    this.#report = report
    this.#giveUp = giveUp
  }

  /** To be called once the product has ended. Throws what the listener threw. */
  end(succeeded: boolean): void {
    clearInterval(this.#timer)
    if (succeeded && this.#told) this.#tell(1)
    if (this.#thrown) throw this.#thrown.error
  }

  #tick(): void {
    // Rounding may bring the count beyond the number of steps, of which there may be none.
    this.#tell(Math.min(this.#report[at.stepsDone]! / this.#steps, 1) || 0)
    if (!this.#thrown) return
    clearInterval(this.#timer)
    this.#giveUp()
  }

  #tell(done: number): void {
    if (this.#thrown) return
    this.#told = true
    try {
      // Apart from the object that has it.
      const listener = this.#listener
      listener({ done })
    } catch (error) {
      this.#thrown = { error }
    }
  }
}
