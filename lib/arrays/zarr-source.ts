/** Reads blocks of a matrix in a Zarr array. */
import { bytesOfStored, rangeOf } from '../elements.js'
import { ChunkError, FileError } from '../errors.js'
import { readError } from '../files/files.js'
import { convertElements } from '../files/npy-decoder.js'
import { NpyProblem, namedProblem } from '../files/npy-header.js'
import { inSlices, type Steps } from '../graph-core/slices.js'
import type { ElementArray } from '../storage.js'
import { type ArraySource, elementsIn, type Range, type ReadBlock } from './array-source.js'
import { CODEC_THREADS, codeAside } from './codec-pool.js'
import { mostEncoded } from './codecs.js'
import { atOnce, damaged } from './disk.js'
import { assertAbsent, expectedOf } from './fingerprint.js'
import type { ArrayType, PlannedInput } from './job.js'
import { WORK } from './names.js'
import { crc32cOf } from './packages.js'
import { type OpenFile, type Rectangle, rowAt, type Store, type Stored } from './store.js'
import { readZarrMatrix, type ZarrMatrix } from './zarr-metadata.js'

/** Offset in a shard's index that marks a missing chunk. */
const ABSENT = 2n ** 64n - 1n

/** Position of a chunk in its file; undefined if the chunk is missing, null if the file is the chunk. */
type Piece = { position: number; length: number } | null | undefined

export class ZarrSource implements ArraySource {
  readonly path: string
  readonly shape: readonly [number, number]
  readonly dtype: ArrayType
  readonly unit: readonly [number, number]
  readonly extraBytes: number
  readonly #matrix: ZarrMatrix
  readonly #store: Store
  /** Bytes of an element in files. */
  readonly #bytes: number
  readonly #isPlain: boolean
  /** Cache of the indices of the most recently read shards. */
  readonly #indices = new Map<string, Promise<BigUint64Array | null>>()

  private constructor(matrix: ZarrMatrix, store: Store) {
    const { path, shape, dtype, chunk, codecs, type } = matrix
    this.path = path
    this.shape = shape
    this.dtype = dtype
    this.unit = chunk
    this.#matrix = matrix
    this.#store = store
    this.#bytes = type.size
    this.#isPlain = codecs.length === 0 && !type.swapped && !type.convert
    const { buffered } = this.#store
    // Each thread holds an encoded and a decoded chunk, and for buckets the response of a request.
    const chunks = this.#isPlain ? buffered : (buffered > 0 ? 3 : 2) * CODEC_THREADS
    this.extraBytes = chunks * chunk[0] * chunk[1] * this.#bytes
  }

  static async open(path: string, store: Store): Promise<ZarrSource> {
    return new ZarrSource(await readZarrMatrix(path, store), store)
  }

  async files(): Promise<Stored[]> {
    const files = await this.#store.list(this.path)
    // Chunks that a list lacks have the fill value, so a list that lacks what was read isn't used.
    const metadata = this.#store.join(this.path, 'zarr.json')
    if (files.some(({ name }) => name === metadata)) return files
    throw new FileError(
      `the list of the files of ${this.path} has no zarr.json, which exists: use a storage whose lists are complete, and check the right to list`,
    )
  }

  async read(rows: Range, cols: Range, memory: Uint8Array, planned: PlannedInput): Promise<ReadBlock> {
    const { chunk, byColumns } = this.#matrix
    const first = [Math.floor(rows[0] / chunk[0]), Math.floor(cols[0] / chunk[1])] as const
    const across = Math.ceil(cols[1] / chunk[1]) - first[1]
    const down = Math.ceil(rows[1] / chunk[0]) - first[0]
    const width = byColumns ? rows[1] - rows[0] : cols[1] - cols[0]
    let bytesRead = 0
    await atOnce(this.#isPlain ? this.#store.chunksAtOnce : CODEC_THREADS, across * down, async (index) => {
      const row = first[0] + Math.floor(index / across)
      const col = first[1] + (index % across)
      const inRows = overlap(rows, row * chunk[0], chunk[0])
      const inCols = overlap(cols, col * chunk[1], chunk[1])
      const top = row * chunk[0] + inRows[0] - rows[0]
      const left = col * chunk[1] + inCols[0] - cols[0]
      const [outer, inner, at] = byColumns
        ? [inCols, inRows, left * width + top]
        : [inRows, inCols, top * width + left]
      const pitch = chunk[byColumns ? 0 : 1] * this.#bytes
      const inMemory = bytesOfStored(this.dtype)
      // The sum isn't one statement with the await, because concurrent reads add to it meanwhile.
      const read = await this.#readChunk(row, col, planned, {
        position: outer[0] * pitch + inner[0] * this.#bytes,
        pitch,
        width: (inner[1] - inner[0]) * this.#bytes,
        rows: outer[1] - outer[0],
        memory: memory.subarray(at * inMemory),
        memoryPitch: width * inMemory,
      })
      bytesRead += read
    })
    return { strides: byColumns ? [1, width] : [width, 1], bytesRead }
  }

  /**
   * Reads a part of a chunk and returns the number of bytes read.
   *
   * @param part - offsets of the part in the chunk and in memory, in the storage order of the elements (rows
   * or columns).
   */
  async #readChunk(row: number, col: number, planned: PlannedInput, part: Rectangle): Promise<number> {
    const { file, chunk } = this.#matrix
    const perFile = [file[0] / chunk[0], file[1] / chunk[1]] as const
    const index = [Math.floor(row / perFile[0]), Math.floor(col / perFile[1])] as const
    const path = this.#matrix.name(...index)
    const inFile = (row - index[0] * perFile[0]) * perFile[1] + (col - index[1] * perFile[1])
    const what = this.#matrix.index ? `${path}, chunk ${inFile}` : path
    const [top, left] = [row * chunk[0], col * chunk[1]]
    try {
      const piece = await this.#piece(path, inFile, perFile[0] * perFile[1], planned)
      const file = piece === undefined ? null : await this.#store.open(path, expectedOf(planned))
      if (file) {
        try {
          const { position, length } = piece ?? { position: 0, length: file.size }
          return await (this.#isPlain
            ? this.#readPlain(file, position, length, part)
            : this.#readCoded(file, position, length, part, [top, left]))
        } finally {
          await file.close()
        }
      }
      if (piece !== undefined) await assertAbsent(path, planned)
      if (this.#matrix.fill === null) {
        throw new FileError(
          `${what} is not there, and the fill value of ${this.path} is null: expected a number in its zarr.json`,
        )
      }
      this.#fill(this.#matrix.fill, part)
      return 0
    } catch (error) {
      throw readError(what, namedProblem(what, damaged(what, error)))
    }
  }

  /** Reads an uncompressed chunk directly into the block. */
  async #readPlain(file: OpenFile, position: number, length: number, part: Rectangle): Promise<number> {
    const expected = this.#chunkBytes()
    if (length !== expected) throw new ChunkError(`it has ${length} bytes and not ${expected}`)
    await file.read({ ...part, position: position + part.position })
    return part.rows * part.width
  }

  /** Reads a chunk and decodes it on another thread. */
  async #readCoded(
    file: OpenFile,
    position: number,
    length: number,
    part: Rectangle,
    first: readonly [number, number],
  ): Promise<number> {
    const { codecs, type } = this.#matrix
    const size = this.#chunkBytes()
    const end = position + length
    if (end > file.size) throw new ChunkError(`it should end at byte ${end} of a file of ${file.size}`)
    const most = mostEncoded(size, codecs.length)
    if (length > most) throw new ChunkError(`it has ${length} bytes, more than ${most}`)
    const encoded = new Uint8Array(length)
    await file.read(rowAt(position, encoded))
    const decoded = await codeAside({
      bytes: encoded,
      codecs,
      decoded: { size, swap: type.swapped ? type.size : 1 },
    })
    await inSlices(this.#placing(decoded, part, first), undefined, WORK)
    return length
  }

  /**
   * Copies a part of a chunk to memory, converted to the type of the block. Padding of the chunk isn't
   * converted, so that its values can't cause errors.
   */
  *#placing(decoded: Uint8Array, part: Rectangle, [top, left]: readonly [number, number]): Steps<void> {
    const { type, byColumns, chunk } = this.#matrix
    const width = part.width / this.#bytes
    for (let row = 0; row < part.rows; row++) {
      const from = part.position + row * part.pitch
      const bytes = decoded.subarray(from, from + part.width)
      const memory = part.memory.subarray(row * part.memoryPitch)
      if (!type.convert) memory.set(bytes)
      else {
        convertElements(bytes, type, elementsIn(memory, this.dtype, width) as ElementArray, 0, (at) => {
          const element = from / this.#bytes + at
          const across = chunk[byColumns ? 0 : 1]
          const [outer, inner] = [Math.floor(element / across), element % across]
          return byColumns ? [top + inner, left + outer] : [top + outer, left + inner]
        })
      }
      yield
    }
  }

  #fill(fill: number, { rows, width, memory, memoryPitch }: Rectangle): void {
    const [least, most] = rangeOf(this.dtype)
    if (fill < least || fill > most) {
      throw new NpyProblem(
        `it is not there, and the fill value ${fill} is outside the range of int32, −2147483648 … 2147483647; scale or clip the values first`,
      )
    }
    for (let row = 0; row < rows; row++) {
      elementsIn(memory.subarray(row * memoryPitch), this.dtype, width / this.#bytes).fill(fill)
    }
  }

  #chunkBytes(): number {
    const { chunk } = this.#matrix
    return chunk[0] * chunk[1] * this.#bytes
  }

  async #piece(path: string, inFile: number, count: number, planned: PlannedInput): Promise<Piece> {
    const { index } = this.#matrix
    if (!index) return null
    let entries = this.#indices.get(path)
    if (!entries) {
      entries = readIndex(this.#store, path, count, index, planned)
      this.#indices.set(path, entries)
      entries.catch(() => this.#indices.delete(path))
      // The cache is limited because only neighbouring rows of blocks share shards, and an index takes 16
      // bytes per chunk.
      if (this.#indices.size > 256) this.#indices.delete(this.#indices.keys().next().value!)
    }
    const read = await entries
    if (!read) return undefined
    const [position, length] = [read[2 * inFile]!, read[2 * inFile + 1]!]
    if (position === ABSENT && length === ABSENT) return undefined
    if (position > Number.MAX_SAFE_INTEGER || length > Number.MAX_SAFE_INTEGER) {
      throw new ChunkError("its shard's index is damaged")
    }
    return { position: Number(position), length: Number(length) }
  }
}

/** Returns the intersection of `range` with a chunk that begins at `start`, relative to the chunk. */
function overlap(range: Range, start: number, length: number): Range {
  return [Math.max(range[0] - start, 0), Math.min(range[1] - start, length)]
}

/** Returns the offset and length of each chunk of a shard; null if the file doesn't exist. */
async function readIndex(
  store: Store,
  path: string,
  count: number,
  { first, checked }: { first: boolean; checked: boolean },
  planned: PlannedInput,
): Promise<BigUint64Array | null> {
  const file = await store.open(path, expectedOf(planned))
  if (!file) {
    await assertAbsent(path, planned)
    return null
  }
  try {
    const { size } = file
    const length = 16 * count + (checked ? 4 : 0)
    if (size < length) throw new ChunkError("it is shorter than its shard's index")
    const bytes = Buffer.from(new ArrayBuffer(length))
    await file.read(rowAt(first ? 0 : size - length, bytes))
    const content = bytes.subarray(0, 16 * count)
    if (checked && !(await crc32cOf(content)).equals(bytes.subarray(16 * count))) {
      throw new ChunkError("the checksum (crc32c) of its shard's index is wrong")
    }
    return new BigUint64Array(bytes.buffer, 0, 2 * count)
  } finally {
    await file.close()
  }
}
