/** A matrix in a Zarr array, of which blocks are read. */
import { ChunkError, FileError } from '../errors.js'
import { type ArraySource, elementsIn, type Range, type ReadBlock } from './array-source.js'
import { CODEC_THREADS, decodeAside, readEncoded } from './codec-pool.js'
import type { Answer } from './codec-worker.js'
import { mostEncoded } from './codecs.js'
import { atOnce, type Rectangle, readError, requireUnchanged } from './disk.js'
import { expectedOf, requireAbsent } from './fingerprint.js'
import type { ArrayType, PlannedInput } from './job.js'
import { crc32cOf } from './packages.js'
import { asRow, type Store, type Stored } from './store.js'
import { bytesOfType, readZarrMatrix, type ZarrMatrix } from './zarr-metadata.js'

/** A chunk is not there. */
const ABSENT = 2n ** 64n - 1n

/** Where a chunk is in its file; undefined if it isn't there, and null if it is the file. */
type Piece = { position: number; length: number } | null | undefined

/** A part of a chunk and its place in the block, in the order of the elements in memory: outer is rows, or columns by columns. */
interface Part {
  readonly outer: Range
  readonly inner: Range
  /** First byte of the chunk's part in the block. */
  readonly at: number
}

export class ZarrSource implements ArraySource {
  readonly path: string
  readonly shape: readonly [number, number]
  readonly dtype: ArrayType
  readonly unit: readonly [number, number]
  readonly extraBytes: number
  readonly #matrix: ZarrMatrix
  readonly #store: Store
  readonly #bytes: number
  readonly #isPlain: boolean
  /** The indices of the shards that were read last. */
  readonly #indices = new Map<string, Promise<BigUint64Array | null>>()

  private constructor(matrix: ZarrMatrix, store: Store) {
    const { path, shape, dtype, chunk, codecs, swapped } = matrix
    this.path = path
    this.shape = shape
    this.dtype = dtype
    this.unit = chunk
    this.#matrix = matrix
    this.#store = store
    this.#bytes = bytesOfType[dtype]
    this.#isPlain = codecs.length === 0 && !swapped
    // Encoded and decoded.
    const chunks = this.#isPlain ? this.#store.buffered : (this.#store.isInThreads ? 2 : 3) * CODEC_THREADS
    this.extraBytes = chunks * chunk[0] * chunk[1] * this.#bytes
  }

  static async open(path: string, store: Store): Promise<ZarrSource> {
    return new ZarrSource(await readZarrMatrix(path, store), store)
  }

  files(): Promise<Stored[]> {
    return this.#store.list(this.path)
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
      const part = { outer, inner, at: at * this.#bytes }
      // Not in one statement: others add to it while this one waits.
      const read = await this.#readChunk(row, col, part, memory, width * this.#bytes, planned)
      bytesRead += read
    })
    return { strides: byColumns ? [1, width] : [width, 1], bytesRead }
  }

  async #readChunk(
    row: number,
    col: number,
    part: Part,
    memory: Uint8Array,
    memoryPitch: number,
    planned: PlannedInput,
  ): Promise<number> {
    const { file, chunk } = this.#matrix
    const perFile = [file[0] / chunk[0], file[1] / chunk[1]] as const
    const place = [Math.floor(row / perFile[0]), Math.floor(col / perFile[1])] as const
    const path = this.#matrix.name(...place)
    const inFile = (row - place[0] * perFile[0]) * perFile[1] + (col - place[1] * perFile[1])
    const what = this.#matrix.index ? `${path}, chunk ${inFile}` : path
    try {
      const piece = await this.#piece(path, inFile, perFile[0] * perFile[1], planned)
      const read =
        piece === undefined
          ? null
          : await (this.#isPlain ? this.#readPlain : this.#readCoded).call(
              this,
              path,
              piece,
              part,
              memory,
              memoryPitch,
              planned,
            )
      if (read !== null) return read
      if (piece !== undefined) await requireAbsent(path, planned)
      if (this.#matrix.fill === null) {
        throw new FileError(
          `${what} is not there, and the fill value of ${this.path} is null: expected a number in its zarr.json`,
        )
      }
      this.#fill(this.#matrix.fill, part, memory, memoryPitch)
      return 0
    } catch (error) {
      if (error instanceof ChunkError) {
        throw new ChunkError(`${what} is damaged: ${error.message}. Write it again from its source`, {
          cause: error,
        })
      }
      throw readError(what, error)
    }
  }

  /** From the chunk's bytes as they are: straight into the block. Null if there is no file. */
  async #readPlain(
    path: string,
    piece: Exclude<Piece, undefined>,
    part: Part,
    memory: Uint8Array,
    memoryPitch: number,
    planned: PlannedInput,
  ): Promise<number | null> {
    const file = await this.#store.open(path, expectedOf(planned))
    if (!file) return null
    try {
      const expected = this.#chunkBytes()
      const { position, length } = piece ?? { position: 0, length: file.size }
      if (length !== expected) throw new ChunkError(`it has ${length} bytes and not ${expected}`)
      const rectangle = this.#rectangle(part, memory, memoryPitch)
      await file.read({ ...rectangle, position: position + rectangle.position })
      return rectangle.rows * rectangle.width
    } finally {
      await file.close()
    }
  }

  /** Through its codecs, on another thread. Null if there is no file. */
  async #readCoded(
    path: string,
    piece: Exclude<Piece, undefined>,
    part: Part,
    memory: Uint8Array,
    memoryPitch: number,
    planned: PlannedInput,
  ): Promise<number | null> {
    const { codecs, swapped } = this.#matrix
    const form = { codecs, size: this.#chunkBytes(), swap: swapped ? this.#bytes : 1 }
    const place = { position: piece?.position ?? 0, length: piece?.length ?? null }
    let answer: Answer
    if (this.#store.isInThreads) {
      answer = await readEncoded({ path, ...place, ...form })
      if (answer.missing) return null
      requireUnchanged(path, answer.mtimeMs!, planned.changedMs)
    } else {
      const file = await this.#store.open(path, expectedOf(planned))
      if (!file) return null
      const length = place.length ?? file.size
      const most = mostEncoded(form.size, codecs.length)
      if (length > most) throw new ChunkError(`it has ${length} bytes, more than ${most}`)
      const encoded = new Uint8Array(length)
      await file.read(asRectangle(encoded, place.position))
      answer = await decodeAside({ encoded, ...form })
    }
    if (answer.damage !== undefined) throw new ChunkError(answer.damage)
    const { position, pitch, width, rows } = this.#rectangle(part, memory, memoryPitch)
    const target = memory.subarray(part.at)
    const decoded = answer.bytes!
    for (let row = 0; row < rows; row++) {
      const from = position + row * pitch
      target.set(decoded.subarray(from, from + width), row * memoryPitch)
    }
    return answer.read!
  }

  #fill(fill: number, { outer, inner, at }: Part, memory: Uint8Array, memoryPitch: number): void {
    for (let row = 0; row < outer[1] - outer[0]; row++) {
      elementsIn(memory.subarray(at + row * memoryPitch), this.dtype, inner[1] - inner[0]).fill(fill)
    }
  }

  #chunkBytes(): number {
    const { chunk } = this.#matrix
    return chunk[0] * chunk[1] * this.#bytes
  }

  #rectangle({ outer, inner, at }: Part, memory: Uint8Array, memoryPitch: number): Rectangle {
    const pitch = this.#matrix.chunk[this.#matrix.byColumns ? 0 : 1] * this.#bytes
    return {
      position: outer[0] * pitch + inner[0] * this.#bytes,
      pitch,
      width: (inner[1] - inner[0]) * this.#bytes,
      rows: outer[1] - outer[0],
      memory: memory.subarray(at),
      memoryPitch,
    }
  }

  async #piece(path: string, inFile: number, count: number, planned: PlannedInput): Promise<Piece> {
    const { index } = this.#matrix
    if (!index) return null
    let entries = this.#indices.get(path)
    if (!entries) {
      entries = readIndex(this.#store, path, count, index, planned)
      this.#indices.set(path, entries)
      entries.catch(() => this.#indices.delete(path))
      // A few rows of blocks use the same shards; an index has 16 bytes for each chunk.
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

/** The part of `range` within a chunk that begins at `start`, from there on. */
function overlap(range: Range, start: number, length: number): Range {
  return [Math.max(range[0] - start, 0), Math.min(range[1] - start, length)]
}

/** Bytes in a row. */
const asRectangle = (memory: Uint8Array, position: number): Rectangle => ({
  ...asRow(memory),
  position,
  pitch: memory.length,
})

/** The offset and length of each chunk of a shard; null if there is no such file. */
async function readIndex(
  store: Store,
  path: string,
  count: number,
  { first, checked }: { first: boolean; checked: boolean },
  planned: PlannedInput,
): Promise<BigUint64Array | null> {
  const file = await store.open(path, expectedOf(planned))
  if (!file) {
    await requireAbsent(path, planned)
    return null
  }
  try {
    const { size } = file
    const length = 16 * count + (checked ? 4 : 0)
    if (size < length) throw new ChunkError("it is shorter than its shard's index")
    const bytes = Buffer.from(new ArrayBuffer(length))
    await file.read(asRectangle(bytes, first ? 0 : size - length))
    const content = bytes.subarray(0, 16 * count)
    if (checked && !(await crc32cOf(content)).equals(bytes.subarray(16 * count))) {
      throw new ChunkError("the checksum (crc32c) of its shard's index is wrong")
    }
    return new BigUint64Array(bytes.buffer, 0, 2 * count)
  } finally {
    await file.close()
  }
}
