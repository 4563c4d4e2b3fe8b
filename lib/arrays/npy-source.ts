/** Reads blocks of a matrix in a .npy file at their offsets. */

import { checkedContent } from '../files/npy-content.js'
import { convertElements, decodeHeader } from '../files/npy-decoder.js'
import { decodeFile, readingNpy } from '../files/npy-file.js'
import { NpyProblem } from '../files/npy-header.js'
import { booleansRefused, type FileType } from '../files/npy-types.js'
import { swapBytes } from '../platform.js'
import type { ElementArray } from '../storage.js'
import { type ArraySource, elementsIn, type Range, type ReadBlock } from './array-source.js'
import { assertUnchanged, damaged, readRectangle } from './disk.js'
import { files } from './file-store.js'
import type { ArrayType, PlannedInput } from './job.js'
import type { Rectangle, Stored } from './store.js'

/** Bytes of the file per conversion. */
const CONVERTED_BYTES = 1 << 22

export class NpySource implements ArraySource {
  readonly dtype: ArrayType
  readonly unit = [1, 1] as const
  readonly extraBytes: number
  readonly #type: FileType
  readonly #start: number
  readonly #byColumns: boolean

  private constructor(
    readonly path: string,
    type: FileType,
    readonly shape: readonly [number, number],
    start: number,
    byColumns: boolean,
  ) {
    this.dtype = type.dtype as ArrayType
    this.#type = type
    this.#start = start
    this.#byColumns = byColumns
    this.extraBytes = type.convert ? CONVERTED_BYTES + shape[byColumns ? 0 : 1] * type.size : 0
  }

  static async open(path: string): Promise<NpySource> {
    return readingNpy(path, async (file, size) => {
      const { header, start } = await decodeFile(path, decodeHeader(size), file)
      const { type, shape } = checkedContent(header, size - start, undefined)
      if (shape.length !== 2)
        throw new NpyProblem(`expected a matrix (2-D), but its shape is (${shape.join(', ')})`)
      if (type.dtype === 'uint8') throw booleansRefused()
      return new NpySource(path, type, shape as [number, number], start, header.fortranOrder)
    })
  }

  files(): Promise<Stored[]> {
    return files.list(this.path)
  }

  read(rows: Range, cols: Range, memory: Uint8Array, { changedMs }: PlannedInput): Promise<ReadBlock> {
    // Both orders are rows of memory here: in Fortran order the matrix's columns.
    const [outer, inner] = this.#byColumns ? [cols, rows] : [rows, cols]
    const count = outer[1] - outer[0]
    const width = inner[1] - inner[0]
    const { size, convert, swapped } = this.#type
    const pitch = this.shape[this.#byColumns ? 0 : 1] * size
    const position = this.#start + outer[0] * pitch + inner[0] * size
    return readingNpy(this.path, async (file) => {
      assertUnchanged(this.path, (await file.stat()).mtimeMs, changedMs)
      const layout = { pitch, width: width * size, memoryPitch: width * size }
      const fill = (part: Pick<Rectangle, 'position' | 'rows' | 'memory'>) =>
        readRectangle(file, { ...layout, ...part }).catch((error) => {
          throw damaged(this.path, error)
        })
      if (!convert) {
        await fill({ position, rows: count, memory })
        if (swapped) swapBytes(memory.subarray(0, count * width * size), size)
      } else if (width > 0) {
        const step = Math.max(1, Math.floor(CONVERTED_BYTES / (width * size)))
        const bytes = Buffer.from(new ArrayBuffer(Math.min(step, count) * width * size))
        const out = elementsIn(memory, this.dtype, count * width) as ElementArray
        for (let row = 0; row < count; row += step) {
          const rows = Math.min(step, count - row)
          await fill({ position: position + row * pitch, rows, memory: bytes })
          const read = bytes.subarray(0, rows * width * size)
          if (swapped) swapBytes(read, size)
          const indexOf = (at: number) => {
            const position = [outer[0] + row + Math.floor(at / width), inner[0] + (at % width)]
            return this.#byColumns ? position.reverse() : position
          }
          convertElements(read, this.#type, out, row * width, indexOf)
        }
      }
      return { strides: this.#byColumns ? [1, width] : [width, 1], bytesRead: count * width * size }
    })
  }
}
