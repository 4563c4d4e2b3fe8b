/** Reads and writes NumPy's .npz files: named arrays, each a .npy file in a zip archive. */

import { read } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'
import * as zlib from 'node:zlib'
import type { Entry, RandomAccessReader, ZipFile } from 'yauzl'
import { show, showChoices, typeName } from '../describe.js'
import { UINT8 } from '../elements.js'
import { FileError, MpmmlError, OptionError } from '../errors.js'
import { allocate, type Matrix, type MatrixLike } from '../matrix.js'
import { boolean, Options, type OptionsOf, option } from '../options.js'
import type { ElementArray } from '../storage.js'
import { assertAttached, readBack } from '../view.js'
import type { EntrySink } from './entries.js'
import { pathOf, piecesOf, reading } from './files.js'
import { MAX_INFLATED } from './lines.js'
import { assertWithinLimit, newMatrixData } from './memory.js'
import { type ReadNpyOptions, readNpySet } from './npy.js'
import { npyPieces } from './npy-content.js'
import { DecodedStream, decodeArray, decodeMatrix, type NpyDecoder } from './npy-decoder.js'
import { namedProblem } from './npy-header.js'
import {
  type FileOptions,
  FileWork,
  fileOptions,
  type ReadFileOptions,
  type WriteFileOptions,
  writeFileSet,
} from './progress.js'

const STORED = 0
const DEFLATED = 8

/** Bytes of one read. */
const PIECE = 1 << 18

/** Limit of an array's header in bytes, longer than that of any array of numbers. */
const LONGEST_HEADER = 1 << 16

/** Limit of the files in an archive. */
const MAX_ENTRIES = 65536

/** The options of {@link readNpz}. `undefined` means the default. */
export interface ReadNpzOptions extends ReadNpyOptions {
  /** Names of the requested arrays. Default: all. */
  arrays?: readonly string[] | undefined
}

const readOptions = new Options({
  arrays: option(undefined, (value, name): readonly string[] => {
    if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value
    throw new OptionError(`option ${name} must be an array of names, but it is ${show(value)}`)
  }),
  ...readNpySet,
} satisfies OptionsOf<ReadNpzOptions>)

/**
 * Reads the arrays of a NumPy .npz file, compressed or not, as matrices or batches of matrices. Types and
 * orders are read as by {@link readNpy}. Only the requested arrays are read.
 *
 * @param path - a regular file.
 * @returns matrices by their names.
 * @throws FileError (ERR_MPMML_FILE) for a file that can't be read, is damaged, lacks a requested array or
 * has an array that isn't a matrix; ERR_MPMML_OPTION; ERR_MPMML_OUT_OF_MEMORY; AbortedError.
 * @example
 * await writeNpz('operands.npz', { a: matrix(1, 2, [1, 2]), b: matrix(2, 1, [3, 4]) })
 * const { a, b } = await readNpz('operands.npz')
 * console.log(a.data.join(), b.data.join()) // 1,2 3,4
 */
export async function readNpz(
  path: string | URL,
  options?: ReadNpzOptions,
): Promise<Record<string, Matrix<ElementArray>>> {
  const { arrays, dtype, ...rest } = readOptions.read(options)
  return readArrays(path, () => arrays, dtype, rest)
}

/**
 * Reads the array `requested`. If it is undefined, reads the only array, or the sparse matrix that all arrays
 * represent.
 */
export async function readNpzArray(
  path: string | URL,
  requested: string | undefined,
  dtype: 'uint8' | undefined,
  sparse: (name: string) => EntrySink<Matrix<ElementArray>>,
  options: ReadFileOptions & { maxBytes: number },
): Promise<Matrix<ElementArray>> {
  const name = pathOf(path)
  if (requested === undefined) {
    const matrix = await readSparseNpz(name, sparse(name), options)
    if (matrix !== undefined) return matrix
  }
  const choose = (there: readonly string[]) => {
    if (requested !== undefined) return [requested]
    if (there.length === 1) return there
    throw new FileError(
      `${name}: expected one array, but the file has ${there.length}; choose one by the option array, on the command line by ` +
        `FILE.npz:NAME: ${showChoices(there.slice(0, 20))}`,
    )
  }
  return Object.values(await readArrays(path, choose, dtype, options))[0]!
}

/** Reads a sparse matrix of scipy.sparse.save_npz; undefined if the file has none. */
export async function readSparseNpz<Result>(
  name: string,
  sink: EntrySink<Result>,
  options: ReadFileOptions & { maxBytes: number },
): Promise<Result | undefined> {
  const { maxBytes } = options
  return withArchive(name, options, async (zip, _size, work) => {
    const there = await listArrays(zip, name)
    const names = [...there.keys()]
    const { isSparseArchive, readSparseArchive } = await import('./scipy.js')
    if (!isSparseArchive(names)) return undefined
    const total = [...there.values()].reduce((sum, { uncompressedSize }) => sum + uncompressedSize, 0)
    const read = { done: 0, total }
    const readPart = async (array: string) => {
      const entry = there.get(array)!
      // An element takes at least one byte of the matrix, and at most 8 bytes of the file.
      assertWithinLimit(Math.floor((entry.uncompressedSize - LONGEST_HEADER) / 8), maxBytes, name)
      const newBytes = (length: number) => allocate(length, called, UINT8) as Uint8Array
      const called = `${name}, array ${show(array)}`
      return decodeEntry(zip, entry, called, decodeArray(entry.uncompressedSize, newBytes), work, read)
    }
    const result = await readSparseArchive({ name, names, read: readPart, work }, sink)
    work.end()
    return result
  })
}

/**
 * Returns the names of the arrays in a .npz file.
 *
 * @throws Rejects with FileError (ERR_MPMML_FILE) for a file that can't be read or is damaged; ERR_MPMML_OPTION; AbortedError.
 * @example
 * await writeNpz('operands.npz', { a: matrix(1, 2, [1, 2]), b: matrix(2, 1, [3, 4]) })
 * console.log(await npzNames('operands.npz')) // [ 'a', 'b' ]
 */
export async function npzNames(path: string | URL, options?: FileOptions): Promise<string[]> {
  const requested = fileOptions.read(options)
  const name = pathOf(path)
  return withArchive(name, requested, async (zip) => [...(await listArrays(zip, name)).keys()])
}

/** @param choose - selects the requested arrays from the archive's names; undefined selects all. */
async function readArrays(
  path: string | URL,
  choose: (there: readonly string[]) => readonly string[] | undefined,
  dtype: 'uint8' | undefined,
  options: ReadFileOptions & { maxBytes: number },
): Promise<Record<string, Matrix<ElementArray>>> {
  const name = pathOf(path)
  let budget = options.maxBytes
  return withArchive(name, options, async (zip, size, work) => {
    const there = await listArrays(zip, name)
    const names = new Set(choose([...there.keys()]) ?? there.keys())
    const entries = [...names].map((array) => {
      const entry = there.get(array)
      if (entry) return [array, entry] as const
      const known = there.size > 0 ? `it has ${showChoices([...there.keys()].slice(0, 20))}` : 'it has none'
      throw new FileError(`${name}: there is no array ${show(array)}: ${known}`)
    })
    const compressed = entries.reduce((sum, [, entry]) => sum + entry.compressedSize, 0)
    if (compressed > size) {
      throw new FileError(`${name}: its arrays claim ${compressed} bytes of its ${size}: the file is damaged`)
    }
    const total = entries.reduce((sum, [, entry]) => sum + entry.uncompressedSize, 0)
    const read = { done: 0, total }
    const found: [string, Matrix<ElementArray>][] = []
    for (const [array, entry] of entries) {
      const called = `${name}, array ${show(array)}`
      const decoder = decodeMatrix(entry.uncompressedSize, dtype, (count, type) =>
        newMatrixData(count, called, type, budget),
      )
      const matrix = await decodeEntry(zip, entry, called, decoder, work, read)
      budget -= matrix.data.byteLength
      found.push([array, matrix])
    }
    work.end()
    return Object.fromEntries(found)
  })
}

function withArchive<Result>(
  name: string,
  options: ReadFileOptions,
  read: (zip: ZipFile, size: number, work: FileWork) => Promise<Result>,
): Promise<Result> {
  return FileWork.run('reading a file', options, (work) =>
    reading(name, 'a NumPy .npz file', async (file, size) => {
      try {
        const yauzl = await import('yauzl')
        const zip = await yauzl.fromRandomAccessReaderPromise(archiveReader(yauzl, name, file, size), size, {
          autoClose: false,
          lazyEntries: true,
        })
        return await read(zip, size, work)
      } catch (error) {
        const { syscall, message } = error as NodeJS.ErrnoException
        if (error instanceof MpmmlError || syscall !== undefined) throw error
        throw new FileError(`${name} can't be read: it is no .npz file, or a damaged one: ${message}`, {
          cause: error,
        })
      }
    }),
  )
}

/**
 * Reads a file for yauzl, which uses positions from the file unchecked. Node.js throws for invalid positions
 * inside a callback, where the error can't be caught and would end the process.
 */
function archiveReader(
  { RandomAccessReader }: typeof import('yauzl'),
  name: string,
  file: FileHandle,
  size: number,
): RandomAccessReader {
  class ArchiveReader extends RandomAccessReader {
    override read(
      buffer: Buffer,
      offset: number,
      length: number,
      position: number,
      callback: (error: Error | null, bytesRead?: number) => void,
    ): void {
      if (position + length > size) {
        setImmediate(callback, new Error(`it names a place beyond its ${size} bytes`))
        return
      }
      read(file.fd, buffer, offset, length, position, callback)
    }

    override createReadStream({ start, end }: { start: number; end: number }): Readable {
      return Readable.from(piecesOf(file, name, start, end, PIECE), {
        objectMode: false,
        highWaterMark: PIECE,
      })
    }
  }
  return new ArchiveReader()
}

async function listArrays(zip: ZipFile, name: string): Promise<Map<string, Entry>> {
  if (zip.entryCount > MAX_ENTRIES) {
    throw new FileError(
      `${name}: expected a few arrays, but the archive has ${zip.entryCount} files, more than ${MAX_ENTRIES}`,
    )
  }
  const arrays = new Map<string, Entry>()
  for await (const entry of zip.eachEntry()) {
    if (!entry.fileName.endsWith('.npy')) continue
    const array = entry.fileName.slice(0, -'.npy'.length)
    if (arrays.has(array)) throw new FileError(`${name}: there are two arrays ${show(array)}`)
    arrays.set(array, entry)
  }
  return arrays
}

/** Runs a decoder on a file in an archive. */
async function decodeEntry<Result>(
  zip: ZipFile,
  entry: Entry,
  name: string,
  decoder: NpyDecoder<Result>,
  work: FileWork,
  read: BytesRead,
): Promise<Result> {
  try {
    const stream = new DecodedStream(decoder)
    await readEntry(zip, entry, name, (chunk) => stream.push(chunk), work, read)
    return stream.end()
  } catch (error) {
    throw namedProblem(name, error)
  }
}

/** Throws for an array that states more bytes than deflate can produce from its compressed bytes. */
function assertInflatable({ compressedSize, uncompressedSize }: Entry, name: string): void {
  if (uncompressedSize <= MAX_INFLATED * (compressedSize + 1)) return
  throw new FileError(
    `${name} claims ${uncompressedSize} bytes of ${compressedSize} compressed ones, more than deflate can make: it is damaged`,
  )
}

interface BytesRead {
  done: number
  readonly total: number
}

/** Reads all bytes of a file in an archive. */
async function readEntry(
  zip: ZipFile,
  entry: Entry,
  name: string,
  take: (chunk: Buffer) => void,
  work: FileWork,
  read: BytesRead,
): Promise<void> {
  if (entry.isEncrypted()) throw new FileError(`${name} is encrypted: save it without a password`)
  const { compressionMethod } = entry
  if (compressionMethod !== STORED && compressionMethod !== DEFLATED) {
    throw new FileError(`${name} is compressed by method ${compressionMethod}: only deflate can be read`)
  }
  assertInflatable(entry, name)
  const stream = await zip.openReadStreamPromise(entry)
  try {
    let checksum = 0
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      checksum = crc32(chunk, checksum)
      take(chunk)
      read.done += chunk.length
      work.reached(read.done / read.total)
    }
    if (checksum !== entry.crc32) throw new FileError(`${name} is damaged: its checksum is another one`)
  } finally {
    stream.destroy()
  }
}

/** CRC-32 of zip archives; Node.js has the function since 20.15 and 22.2. */
const crc32: (bytes: Uint8Array, before: number) => number =
  (zlib as { crc32?: (bytes: Uint8Array, before: number) => number }).crc32 ?? tableCrc32

let table: Int32Array | undefined

export function tableCrc32(bytes: Uint8Array, before: number): number {
  table ??= Int32Array.from({ length: 256 }, (_, index) => {
    let value = index
    for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (value & 1 ? 0xedb88320 : 0)
    return value
  })
  let value = ~before
  for (const byte of bytes) value = (value >>> 8) ^ table[(value ^ byte) & 255]!
  return ~value >>> 0
}

/** The options of {@link writeNpz}. `undefined` means the default. */
export interface WriteNpzOptions extends WriteFileOptions {
  /** Whether the arrays are compressed, as by numpy.savez_compressed. Default false. */
  compress?: boolean | undefined
}

const writeOptions = new Options({
  compress: boolean(false),
  ...writeFileSet,
} satisfies OptionsOf<WriteNpzOptions>)

/**
 * Writes matrices, or batches of them, as the named arrays of a NumPy .npz file. The file appears under its name only when it is
 * complete.
 *
 * @param arrays - the matrices by their names. They are read while the file is written: don't modify them
 * until the promise settles.
 * @throws FileError with the system's reason; ERR_MPMML_EXISTS; ERR_MPMML_SHAPE and ERR_MPMML_DTYPE for a
 * value that isn't a matrix; ERR_MPMML_OPTION, also for a name that isn't valid in an archive; AbortedError.
 * @example
 * await writeNpz('zeros.npz', { a: matrix(1000, 1000) }, { compress: true })
 * console.log((await stat('zeros.npz')).size < 10_000) // true
 */
export async function writeNpz(
  path: string | URL,
  arrays: Readonly<Record<string, MatrixLike<ElementArray>>>,
  options?: WriteNpzOptions,
): Promise<void> {
  const { compress, ...rest } = writeOptions.read(options)
  const name = pathOf(path)
  if (typeof arrays !== 'object' || arrays === null) {
    throw new OptionError(
      `arrays must be an object of matrices by their names, but it is ${typeName(arrays)}`,
    )
  }
  const views = Object.entries(arrays).map(([array, matrix]) => {
    if (array === '' || /^\/|\\|^[a-zA-Z]:|(^|\/)\.\.(\/|$)|\p{Cc}/u.test(array) || array.length > 1000) {
      throw new OptionError(`the name of an array can't be ${show(array)}: use letters, digits and _`)
    }
    const view = readBack(matrix, `matrix ${show(array)}`, 'result')
    assertAttached(view, `matrix ${show(array)}`)
    return [array, view] as const
  })
  const bytesOfAll = views.reduce((sum, [, view]) => sum + view.batch * view.rows * view.cols * view.bytes, 0)
  const pieces = async function* (work: FileWork) {
    const { ZipFile } = await import('yazl')
    const zip = new ZipFile()
    const output = zip.outputStream as Readable
    zip.on('error', (error) => output.destroy(error))
    let before = 0
    for (const [array, view] of views) {
      const bytes = view.batch * view.rows * view.cols * view.bytes
      const start = before
      before += bytes
      const content = function* () {
        // Pieces are copied, because the stream requests a piece before the previous one is written.
        const reached = (share: number) => work.reached((start + share * bytes) / bytesOfAll)
        for (const piece of npyPieces(view, reached, PIECE)) yield Buffer.from(piece)
      }
      const entry = {
        compress,
        // The fixed date is NumPy's, so that equal arrays give equal files.
        mtime: new Date(1980, 0, 1),
        forceDosTimestamp: true,
        forceZip64Format: bytes >= 2 ** 31,
      }
      zip.addReadStreamLazy(`${array}.npy`, entry, (ready) => {
        const input = Readable.from(content(), { objectMode: false, highWaterMark: 1 })
        input.on('error', (error) => output.destroy(error))
        ready(null, input)
      })
    }
    zip.end()
    yield* output as AsyncIterable<Buffer>
  }
  await FileWork.write(name, rest, pieces)
}
