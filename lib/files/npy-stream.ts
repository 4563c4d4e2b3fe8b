/** A .npy file whose bytes come one after the other, as out of an archive. */
import { fromLatin1, swapBytes } from '../host.js'
import type { Matrix } from '../matrix.js'
import type { ElementArray } from '../storage.js'
import { newMatrixData } from './memory.js'
import { asMatrix, checkedContent, outOfRange } from './npy-content.js'
import { type NpyHeader, parseHeader, parsePreamble, preambleLength, truncatedHeader } from './npy-header.js'

/** Bytes that are converted at once: a copy of them is aligned for every element type. */
const CHUNK = 1 << 16

type Content = ReturnType<typeof checkedContent> & { header: NpyHeader; data: ElementArray }

/** Makes the matrix of a .npy file. Its errors are NpyProblems, to which the caller adds the file's name. */
export class NpyBuilder {
  readonly #size: number
  readonly #asked: 'uint8' | undefined
  /** What errors call the file. */
  readonly name: string
  readonly #maxBytes: number
  #head: Buffer = Buffer.alloc(0)
  #content: Content | undefined
  readonly #chunk = Buffer.from(new ArrayBuffer(CHUNK))
  #filled = 0
  /** Elements, or bytes if they need no conversion, that the matrix has. */
  #done = 0
  /** Bytes whose order is this machine's. */
  #swapped = 0

  /** @param size - the bytes that are to come. */
  constructor(size: number, asked: 'uint8' | undefined, name: string, maxBytes: number) {
    this.#size = size
    this.#asked = asked
    this.name = name
    this.#maxBytes = maxBytes
  }

  push(bytes: Buffer): void {
    let rest = bytes
    if (!this.#content) {
      this.#head = Buffer.concat([this.#head, bytes])
      const end = this.#begin()
      if (end === undefined) return
      rest = this.#head.subarray(end)
    }
    const { type, data } = this.#content!
    if (!type.convert) {
      const target = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
      this.#done += rest.copy(target, this.#done)
      if (!type.swapped) return
      const whole = this.#done - (this.#done % type.size)
      swapBytes(target.subarray(this.#swapped, whole), type.size)
      this.#swapped = whole
      return
    }
    for (let at = 0; at < rest.length; ) {
      const length = rest.copy(this.#chunk, this.#filled, at)
      at += length
      this.#filled += length
      if (this.#filled === CHUNK) this.#convert()
    }
  }

  /** The matrix, once all bytes have come. */
  end(): Matrix<ElementArray> {
    // The header is incomplete, or there is no file: this says which.
    if (!this.#content) {
      parsePreamble(this.#head.subarray(0, preambleLength))
      throw truncatedHeader(this.#head.length, this.#size + 1)
    }
    const { type, data, shape, header } = this.#content
    if (type.convert) this.#convert()
    return asMatrix(data, shape, header)
  }

  /** Reads the header if all of it is there; returns where it ends. */
  #begin(): number | undefined {
    const head = this.#head
    if (head.length < Math.min(preambleLength, this.#size)) return undefined
    const { start, length } = parsePreamble(head)
    const end = start + length
    if (end > this.#size) throw truncatedHeader(this.#size, end)
    if (head.length < end) return undefined
    const header = parseHeader(fromLatin1(head, start, end))
    const content = checkedContent(header, this.#size - end, this.#asked)
    const data = newMatrixData(content.count, this.name, content.type.dtype, this.#maxBytes)
    this.#content = { ...content, header, data }
    return end
  }

  #convert(): void {
    const { type, data, shape, header } = this.#content!
    const bytes = this.#chunk.subarray(0, this.#filled)
    if (type.swapped) swapBytes(bytes, type.size)
    const bad = type.convert!(bytes, bytes.length / type.size, data, this.#done)
    if (bad >= 0) {
      throw outOfRange({ index: this.#done + bad, value: type.value(bytes, bad) }, type, shape, header)
    }
    this.#done += bytes.length / type.size
    this.#filled = 0
  }
}
