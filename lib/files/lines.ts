/**
 * Reads text files of any size, compressed by gzip or not, in slices that let the event loop run between
 * them.
 */
import type { FileHandle } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { FileError, MpmmlError } from '../errors.js'
import type { Steps } from '../graph-core/slices.js'
import { StrictDecoder } from './encoding.js'
import { openForReading, readFully, systemReason } from './files.js'
import { LineFeed, type TextFeed, WINDOW } from './line-feed.js'
import { isGzipName } from './names.js'
import { FileWork, type ReadFileOptions } from './progress.js'
import type { LineParser, TextReader } from './text.js'

/** Name of the work in messages. */
const READING = 'reading a file'

/** Greatest number of bytes that deflate encodes in one byte. */
export const MAX_INFLATED = 1032

/** Sequential source of bytes. */
interface ByteSource {
  /** Writes the next bytes to `buffer` from `start` on. Returns their number, which is 0 only at the end. */
  fill(buffer: Buffer, start: number): Promise<number>
  /** The share of the file that has been read. */
  readonly share: number
  /** Upper bound of the bytes that follow. */
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

/** Decompressed bytes of a gzip file. */
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
    // The callback ignores errors, because the reader of the chunks gets them too.
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
    return this.#chunk.length + 2 * WINDOW + MAX_INFLATED * compressed
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
 * Reads a text file with a parser. A file that gzip has compressed is decompressed, regardless of its name.
 *
 * @param expected - name of the expected content in messages.
 * @throws FileError, ERR_MPMML_OUT_OF_MEMORY, AbortedError, and what the parser and the listener throw.
 */
export const readText = <Result>(
  name: string,
  expected: string,
  feed: TextFeed<Result>,
  options: ReadFileOptions,
): Promise<Result> =>
  FileWork.run(READING, options, async (work) => {
    const { file, size } = await openForReading(name, expected)
    let source: ByteSource | undefined
    try {
      source = await sourceOf(file, size, name, isGzipName(name))
      return await work.inSlices(feeding(source, feed, new StrictDecoder(name), work))
    } catch (error) {
      if (error instanceof MpmmlError || (error as NodeJS.ErrnoException).syscall === undefined) throw error
      throw new FileError(`${name} can't be read: ${systemReason(error)}`, { cause: error })
    } finally {
      source?.close()
      await file.close()
    }
  })

/** Reads a text file by {@link readText} with a parser of lines. */
export const readLines = <Result>(
  name: string,
  expected: string,
  parser: LineParser<Result>,
  options: ReadFileOptions,
): Promise<Result> => readText(name, expected, new LineFeed(name, parser), options)

/** Thrown to stop the reading of a file with a result. */
class Found<Result> extends Error {
  constructor(readonly result: Result) {
    super()
  }
}

/**
 * Reads lines of a text file until `lines` returns a result.
 *
 * @returns undefined if the file ends without a result.
 */
export async function findInLines<Result>(
  name: string,
  expected: string,
  lines: (reader: TextReader) => Steps<Result | undefined>,
  options: ReadFileOptions = {},
): Promise<Result | undefined> {
  const parser: LineParser<undefined> = {
    *lines(reader) {
      const result = yield* lines(reader)
      if (result !== undefined) throw new Found(result)
    },
    *end() {
      yield
      return undefined
    },
  }
  try {
    return await readLines(name, expected, parser, options)
  } catch (error) {
    if (error instanceof Found) return error.result
    throw error
  }
}

/**
 * Bytes that are parsed before a turn of the event loop can end. The pieces grow to an eighth of a window, which takes about 1 ms, because
 * functions that V8 has just compiled take 20 times as long.
 */
const FIRST_PIECE = WINDOW / 128

async function* feeding<Result>(
  source: ByteSource,
  feed: TextFeed<Result>,
  decoder: StrictDecoder,
  work: FileWork,
): AsyncGenerator<void, Result, void> {
  const chunk = Buffer.allocUnsafeSlow(WINDOW)
  let done = 0
  for (;;) {
    const count = await source.fill(chunk, 0)
    work.reached(source.share)
    if (count === 0) break
    for (let at = 0, end = 0; at < count; at = end) {
      end = Math.min(at + Math.max(FIRST_PIECE, Math.min(done, WINDOW) >> 3), count)
      yield* feed.characters(
        decoder.decode(chunk.subarray(at, end), false),
        source.later + count - end,
        false,
      )
      done += end - at
      yield
    }
  }
  yield* feed.characters(decoder.decode(chunk.subarray(0, 0), true), source.later, true)
  const result = yield* feed.end()
  work.end()
  return result
}
