/**
 * Growing lists of numbers that are never copied as a whole, because copying a large array would block the
 * event loop.
 */
import type { Steps } from '../graph-core/slices.js'

/** Capacity of the first piece, and of the largest pieces. */
const FIRST = 8
const MOST = 1 << 15

export class Pieces<Data extends Int32Array | Float64Array> {
  readonly #make: (length: number) => Data
  readonly #pieces: Data[] = []
  #last: Data | undefined
  /** Number of elements in the last piece. */
  #filled = 0
  /** Total capacity of all pieces. */
  capacity = 0

  /** @param make - returns an array, or throws OutOfMemoryError. */
  constructor(make: (length: number) => Data) {
    this.#make = make
  }

  get count(): number {
    return this.capacity - (this.#last ? this.#last.length - this.#filled : 0)
  }

  add(value: number): void {
    if (!this.#last || this.#filled === this.#last.length) this.#grow()
    this.#last![this.#filled++] = value
  }

  #grow(): void {
    const piece = this.#make(this.#last ? Math.min(2 * this.#last.length, MOST) : FIRST)
    this.#pieces.push(piece)
    this.capacity += piece.length
    this.#last = piece
    this.#filled = 0
  }

  /**
   * Yields the numbers in order, in parts of up to 32768. Each part is released when the next one is
   * requested.
   */
  *parts(): Generator<Data, void> {
    for (let piece = this.#pieces.shift(); piece; piece = this.#pieces.shift()) {
      yield piece === this.#last ? (piece.subarray(0, this.#filled) as Data) : piece
    }
  }

  /** Moves the numbers to an array. */
  *into<Target extends Int32Array | Float64Array>(target: Target): Steps<Target> {
    let start = 0
    for (const part of this.parts()) {
      target.set(part, start)
      start += part.length
      yield
    }
    return target
  }
}
