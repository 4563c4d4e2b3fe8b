/** How far the searches of a question are. */
import { PER_STEP, type Steps } from '../graph-core/slices.js'

export class Searched {
  readonly #searches: number
  #done = 0
  /** Of the search that runs: some of them look at edges more than once, and some not at all. */
  #within = 0
  #stopped = false

  /** `searches` is how many there are in all. */
  constructor(searches: number) {
    this.#searches = searches
  }

  /** From 0 to 1. */
  get share(): number {
    return this.#searches === 0 ? 0 : (this.#done + this.#within) / this.#searches
  }

  /** The search that runs throws at its next step. */
  stop(): void {
    this.#stopped = true
  }

  /** Does one of the searches, which looks at `size` nodes and edges. */
  *counting(search: Steps<void>, size: number): Steps<void> {
    while (!search.next().done) {
      if (this.#stopped) throw new Error('the searches were stopped')
      this.#within = Math.min(1, this.#within + PER_STEP / size)
      yield
    }
    this.#done++
    this.#within = 0
  }
}
