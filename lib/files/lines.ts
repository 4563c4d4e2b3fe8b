/** Text files of any size, compressed by gzip or not, read in windows of whole lines. */
import type { FileHandle } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { FileError, MpmmlError } from '../errors.js'
import { openForReading, readFully, systemReason } from './files.js'
import { isGzipName } from './names.js'
import { FileWork, type ReadFileOptions } from './progress.js'
import { type LineParser, TextReader } from './text.js'

/** A window takes some milliseconds, between which the event loop turns. */
const WINDOW = 1 << 19

/** A line that is longer than any matrix has, if it isn't the whole of a wrong file. */
const LONGEST_LINE = 1 << 28

/** Deflate makes at most so many bytes of one. */
export const MOST_INFLATED = 1032

const NEWLINE = 10

/** Bytes one after the other. */
interface ByteSource {
  /** Puts the next bytes into `buffer` from `start` on; returns how many, 0 only at the end. */
  fill(buffer: Buffer, start: number): Promise<number>
  /** The share of the file that has been read. */
  readonly share: number
  /** At most so many bytes follow. */
  readonly later: number
  close(): void
}

class PlainSource implements ByteSource {
  readonly #file: FileHandle
  readonly #size: number
  readonly #name: string
  #position = 0

  constructor(file: FileHandle, size: number, name: string) {
    this.#file = file
    this.#size = size
    this.#name = name
  }

  async fill(buffer: Buffer, start: number): Promise<number> {
    const length = Math.min(buffer.length - start, this.later)
    if (length === 0) return 0
    const { bytesRead } = await this.#file.read(buffer, start, length, this.#position)
    if (bytesRead === 0)
      throw new FileError(
        `${this.#name} became shorter while it was read: read it again when no program writes it`,
      )
    this.#position += bytesRead
    return bytesRead
  }

  get share(): number {
    return this.#position / this.#size
  }

  get later(): number {
    return this.#size - this.#position
  }

  close(): void {}
}

/** What gunzip gives of a file. */
class GzipSource implements ByteSource {
  readonly #input
  readonly #output
  readonly #chunks: AsyncIterator<Buffer>
  readonly #size: number
  readonly #name: string
  #chunk: Buffer = Buffer.alloc(0)

  constructor(file: FileHandle, size: number, name: string, zlib: typeof import('node:zlib')) {
    this.#size = size
    this.#name = name
    this.#input = file.createReadStream({ autoClose: false, start: 0, end: Math.max(size - 1, 0) })
    this.#output = zlib.createGunzip({ chunkSize: WINDOW / 2 })
    // Errors arrive where the chunks are read.
    pipeline(this.#input, this.#output, () => {})
    this.#chunks = this.#output[Symbol.asyncIterator]()
  }

  async fill(buffer: Buffer, start: number): Promise<number> {
    if (this.#chunk.length === 0) {
      const { done, value } = await this.#next()
      if (done) return 0
      this.#chunk = value
    }
    const length = this.#chunk.copy(buffer, start)
    this.#chunk = this.#chunk.subarray(length)
    return length
  }

  async #next(): Promise<IteratorResult<Buffer>> {
    try {
      return await this.#chunks.next()
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      if (!code?.startsWith('Z_')) throw error
      const reason = code === 'Z_BUF_ERROR' ? 'it is truncated' : `it is damaged (${message})`
      throw new FileError(`${this.#name}: the file can't be decompressed: ${reason}`, { cause: error })
    }
  }

  get share(): number {
    return this.#input.bytesRead / this.#size
  }

  get later(): number {
    const compressed = Math.max(this.#size - this.#output.bytesWritten, 0)
    return this.#chunk.length + 2 * WINDOW + MOST_INFLATED * compressed
  }

  close(): void {
    this.#output.destroy()
    this.#input.destroy()
  }
}

async function sourceOf(file: FileHandle, size: number, name: string, gzip: boolean): Promise<ByteSource> {
  const magic = Buffer.alloc(2)
  const compressed = (await readFully(file, magic, 0)) === 2 && magic[0] === 0x1f && magic[1] === 0x8b
  if (compressed) return new GzipSource(file, size, name, await import('node:zlib'))
  if (gzip)
    throw new FileError(`${name}: the name says that gzip compressed it, but the file doesn't begin as such`)
  return new PlainSource(file, size, name)
}

/**
 * Reads a text file with a parser. What gzip has compressed is decompressed, whatever the file's name is.
 *
 * @param expected - what messages say that the file should be.
 * @throws FileError, OutOfMemoryError, AbortedError, and what the parser and the listener throw.
 */
export async function readLines<Result>(
  name: string,
  expected: string,
  parser: LineParser<Result>,
  options: ReadFileOptions,
): Promise<Result> {
  const work = new FileWork('reading a file', options)
  return work.during(() => readFile(name, expected, parser, work))
}

async function readFile<Result>(
  name: string,
  expected: string,
  parser: LineParser<Result>,
  work: FileWork,
): Promise<Result> {
  const { file, size } = await openForReading(name, expected)
  let source: ByteSource | undefined
  try {
    source = await sourceOf(file, size, name, isGzipName(name))
    return await parseSource(source, name, parser, work)
  } catch (error) {
    if (error instanceof MpmmlError || (error as NodeJS.ErrnoException).syscall === undefined) throw error
    throw new FileError(`${name} can't be read: ${systemReason(error)}`, { cause: error })
  } finally {
    source?.close()
    await file.close()
  }
}

async function parseSource<Result>(
  source: ByteSource,
  name: string,
  parser: LineParser<Result>,
  work: FileWork,
): Promise<Result> {
  const reader = new TextReader(name)
  let buffer = Buffer.allocUnsafeSlow(WINDOW)
  let filled = 0
  for (;;) {
    // One byte is kept for the line break that the last line may lack.
    if (filled > buffer.length / 2) buffer = larger(buffer, filled, reader)
    const start = filled
    const came = await source.fill(buffer.subarray(0, buffer.length - 1), start)
    work.reached(source.share)
    filled += came
    if (came === 0) {
      if (filled > 0) {
        buffer[filled++] = NEWLINE
        reader.window(buffer, filled, 0)
        parser.lines(reader)
      }
      work.end()
      return parser.end(reader)
    }
    const whole = start + buffer.subarray(start, filled).lastIndexOf(NEWLINE) + 1
    if (whole === start) continue
    reader.window(buffer, whole, filled - whole + source.later)
    parser.lines(reader)
    filled = buffer.copy(buffer, 0, whole, filled)
  }
}

function larger(buffer: Buffer, filled: number, reader: TextReader): Buffer<ArrayBuffer> {
  if (2 * buffer.length > LONGEST_LINE) {
    reader.fail(`the line has more than ${filled} bytes: is this a text file?`)
  }
  const next = Buffer.allocUnsafeSlow(2 * buffer.length)
  buffer.copy(next, 0, 0, filled)
  return next
}
