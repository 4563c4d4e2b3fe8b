/**
 * Reads text files of any size, compressed by gzip or not, in slices that let the event loop run between
 * them.
 */
import type { FileHandle } from 'node:fs/promises'
import { pipeline, Readable } from 'node:stream'
import { FileError } from '../errors.js'
import type { Steps } from '../graph-core/slices.js'
import { StrictDecoder } from './encoding.js'
import { piecesOf, readFully, reading } from './files.js'
import { LineFeed, type TextFeed, WINDOW } from './line-feed.js'
import { isGzipName } from './names.js'
import { FileWork, type ReadFileOptions } from './progress.js'
import type { LineParser, TextReader } from './text.js'

/** Name of the work in messages. */
const READING = 'reading a file'

/** Greatest number of bytes that deflate encodes in one byte. */
export const MAX_INFLATED = 1032

/** Bytes of a text file, decompressed. */
interface Source {
  readonly chunks: AsyncIterable<Buffer>
  /** Returns the share of the file that has been read. */
  share(): number
  /** Returns an upper bound of the bytes after the current chunk. */
  later(): number
}

async function sourceOf(file: FileHandle, size: number, name: string): Promise<Source> {
  const magic = Buffer.alloc(2)
  const isGzip = (await readFully(file, magic, 0)) === 2 && magic[0] === 0x1f && magic[1] === 0x8b
  if (!isGzip && isGzipName(name))
    throw new FileError(`${name}: the name says that gzip compressed it, but the file doesn't begin as such`)
  let read = 0
  const count = (bytes: number) => {
    read += bytes
  }
  const bytes = piecesOf(file, name, 0, size, WINDOW, count)
  if (!isGzip) return { chunks: bytes, share: () => read / size, later: () => size - read }
  const { createGunzip } = await import('node:zlib')
  const output = createGunzip({ chunkSize: WINDOW / 2 })
  // The callback ignores errors, because the reader of the chunks gets them too.
  pipeline(Readable.from(bytes, { objectMode: false, highWaterMark: WINDOW }), output, () => {})
  const content = async function* () {
    yield* decompressed(output, name)
    // zlib ignores bytes after a member unless they begin another member.
    await assertPadding(file, name, output.bytesWritten, size)
  }
  return {
    chunks: content(),
    share: () => output.bytesWritten / size,
    later: () => 2 * WINDOW + MAX_INFLATED * Math.max(size - output.bytesWritten, 0),
  }
}

/** Throws FileError unless the bytes after the compressed data are zeros, with which some programs fill up a file. */
async function assertPadding(file: FileHandle, name: string, start: number, end: number): Promise<void> {
  for await (const bytes of piecesOf(file, name, start, end, WINDOW)) {
    if (bytes.every((byte) => byte === 0)) continue
    throw new FileError(
      `${name}: the compressed data must end with the file, but ${end - start} bytes from position ${start} on are no gzip: compress the file anew`,
    )
  }
}

async function* decompressed(output: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer, void> {
  try {
    yield* output
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    // Node.js pushes an end for each chunk after the last member.
    if (code === 'ERR_STREAM_PUSH_AFTER_EOF') return
    if (!code?.startsWith('Z_')) throw error
    const reason = code === 'Z_BUF_ERROR' ? 'it is truncated' : `it is damaged (${message})`
    throw new FileError(`${name}: the file can't be decompressed: ${reason}`, { cause: error })
  }
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
  FileWork.run(READING, options, (work) =>
    reading(name, expected, async (file, size) => {
      const steps = feeding(await sourceOf(file, size, name), feed, new StrictDecoder(name), work)
      try {
        return await work.inSlices(steps)
      } finally {
        // Closes the streams if the work has been aborted.
        await steps.return(undefined as Result)
      }
    }),
  )

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
  source: Source,
  feed: TextFeed<Result>,
  decoder: StrictDecoder,
  work: FileWork,
): AsyncGenerator<void, Result, void> {
  let done = 0
  for await (const chunk of source.chunks) {
    work.reached(source.share())
    for (let at = 0, end = 0; at < chunk.length; at = end) {
      end = Math.min(at + Math.max(FIRST_PIECE, Math.min(done, WINDOW) >> 3), chunk.length)
      const text = decoder.decode(chunk.subarray(at, end), false)
      yield* feed.characters(text, source.later() + chunk.length - end, false)
      done += end - at
      yield
    }
  }
  work.reached(1)
  yield* feed.characters(decoder.decode(new Uint8Array(0), true), 0, true)
  const result = yield* feed.end()
  work.end()
  return result
}
