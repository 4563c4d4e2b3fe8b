/**
 * Decoders of .npy files. A decoder is a generator that yields the memory of the next bytes of a file: its
 * caller fills that memory and goes on. So one decoder serves bytes in memory, streams, and files with
 * concurrent reads.
 */

import type { Matrix } from '../matrix.js'
import { fromLatin1, swapBytes } from '../platform.js'
import type { ElementArray } from '../storage.js'
import type { DataType } from '../variant-names.js'
import { asMatrix, checkedContent, elementIndex, valueRefused } from './npy-content.js'
import { type NpyHeader, parseHeader, parsePreamble, preambleLength, truncatedHeader } from './npy-header.js'
import type { FileType } from './npy-types.js'

export type NpyDecoder<Result> = Generator<Uint8Array, Result, void>

/** Number of elements that are converted between two turns of the event loop, in at most a few ms. */
const PER_SLICE = 1 << 18

/** Decodes the header of a file of `size` bytes; its elements begin at byte `start`. */
export function* decodeHeader(size: number): NpyDecoder<{ header: NpyHeader; start: number }> {
  const preamble = new Uint8Array(Math.min(size, preambleLength))
  yield preamble
  const { start, length } = parsePreamble(preamble)
  const end = start + length
  if (end > size) throw truncatedHeader(size, end)
  const head = new Uint8Array(Math.max(end, preamble.length))
  head.set(preamble)
  yield head.subarray(preamble.length)
  return { header: parseHeader(fromLatin1(head, start, end)), start: end }
}

/** Decodes the header and returns the bytes of the elements of any type in new memory. */
export function* decodeArray(
  size: number,
  newBytes: (length: number) => Uint8Array,
): NpyDecoder<NpyHeader & { bytes: Uint8Array }> {
  const { header, start } = yield* decodeHeader(size)
  const bytes = newBytes(size - start)
  yield bytes
  return { ...header, bytes }
}

/** Decodes a matrix from a file of `size` bytes. */
export function* decodeMatrix(
  size: number,
  requested: 'uint8' | undefined,
  newData: (count: number, dtype: DataType) => ElementArray,
): NpyDecoder<Matrix<ElementArray>> {
  const { header, start } = yield* decodeHeader(size)
  const { type, shape, count } = checkedContent(header, size - start, requested)
  const data = newData(count, type.dtype)
  const own = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
  if (!type.convert && !type.swapped) yield own
  else {
    const step = Math.min(count, PER_SLICE)
    // New memory is aligned for every element type.
    const chunk = type.convert && new Uint8Array(step * type.size)
    for (let done = 0; done < count; done += step) {
      const bytes = Math.min(step, count - done) * type.size
      const first = done * type.size
      const memory = chunk ? chunk.subarray(0, bytes) : own.subarray(first, first + bytes)
      yield memory
      if (type.swapped) swapBytes(memory, type.size)
      convertElements(memory, type, data, done, (at) => elementIndex(done + at, shape, header.fortranOrder))
    }
  }
  return asMatrix(data, shape, header)
}

/**
 * Converts elements in this machine's byte order to the type of `out` from element `first` on. Without a
 * conversion the bytes are already in `out`.
 *
 * @param indexOf - returns the index in the matrix of an element that `out` can't hold.
 */
export function convertElements(
  bytes: Uint8Array,
  type: FileType,
  out: ElementArray,
  first: number,
  indexOf: (at: number) => readonly number[],
): void {
  const bad = type.convert?.(bytes, bytes.length / type.size, out, first) ?? -1
  if (bad >= 0) throw valueRefused(type.value(bytes, bad), type, indexOf(bad))
}

/** Runs a decoder on bytes in the order of the file. Throws NpyProblem for errors of the file. */
export class DecodedStream<Result> {
  readonly #decoder: NpyDecoder<Result>
  #step: IteratorResult<Uint8Array, Result>
  #filled = 0

  constructor(decoder: NpyDecoder<Result>) {
    this.#decoder = decoder
    this.#step = decoder.next()
    this.#advance()
  }

  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && !this.#step.done; ) {
      const memory = this.#step.value
      const length = Math.min(memory.length - this.#filled, bytes.length - at)
      memory.set(bytes.subarray(at, at + length), this.#filled)
      at += length
      this.#filled += length
      this.#advance()
    }
  }

  /** Returns the result after all bytes have been pushed. */
  end(): Result {
    if (this.#step.done) return this.#step.value
    throw truncatedHeader(this.#filled, this.#filled + 1)
  }

  #advance(): void {
    while (!this.#step.done && this.#filled === this.#step.value.length) {
      this.#filled = 0
      this.#step = this.#decoder.next()
    }
  }
}
