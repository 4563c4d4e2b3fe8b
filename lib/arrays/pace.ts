/** How far work on arrays is, as its listener is told. */
import { INTERVAL_MS, ProgressListener } from '../product/progress.js'
import type { ArraysProgress } from './options.js'

/** How far the work is, and how long the rest takes. */
export class Pace {
  /** All blocks. */
  readonly total: number
  readonly #listener: ProgressListener<ArraysProgress>
  readonly #started = performance.now()
  #told = 0
  #blocks = 0
  #share = 0
  skipped = 0

  constructor(total: number, listener: ((progress: ArraysProgress) => void) | undefined) {
    this.total = total
    this.#listener = new ProgressListener(listener)
  }

  /** Runs the work, and rejects with exactly what the listener threw. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#listener.run(work)
  }

  /** Blocks that had been done before. */
  skip(count: number): void {
    this.skipped += count
  }

  /** The share of a block that is multiplied. */
  began(share: number): void {
    this.#share = share < 1 ? share : 0
    if (performance.now() - this.#told >= INTERVAL_MS) this.#tell()
  }

  block(): void {
    this.#blocks++
    this.#tell()
  }

  end(): void {
    this.#share = 0
    this.#tell()
  }

  #tell(): void {
    const now = performance.now()
    this.#told = now
    const done = Math.min(this.total, this.#blocks + this.#share)
    const { total } = this
    // What was done before says nothing of the pace.
    const left = total - this.skipped - done
    this.#listener.tell({
      done: total === 0 ? 1 : Math.min(1, (this.skipped + done) / total),
      blocks: this.skipped + this.#blocks,
      total,
      secondsLeft: done > 0 ? ((now - this.#started) / 1000 / done) * Math.max(0, left) : undefined,
    })
  }
}
