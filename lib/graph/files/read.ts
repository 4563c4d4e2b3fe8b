/** Graphs in files. */
import { extname } from 'node:path'
import { readSignal } from '../../abort.js'
import { showChoices } from '../../describe.js'
import { FileError, MpmmlError, OutOfMemoryError } from '../../errors.js'
import { openForReading, pathOf, readFully, systemReason, throwIfAborted } from '../../files/files.js'
import { readChoice, requireNames } from '../../options.js'
import { inSlices } from '../slices.js'
import { parsingDimacs } from './dimacs.js'
import { parsingEdgeCsv } from './edge-csv.js'
import type { ReadEdgeList } from './edges.js'
import { parsingMatrixMarket } from './matrix-market.js'

/** Bytes of one read: few enough to stop soon after a signal. */
const chunkBytes = 1 << 23

export type GraphFormat = 'dimacs' | 'matrix-market' | 'csv'

export interface ReadGraphOptions {
  /** By the end of the file's name if left out: .gr, .mtx or .csv. */
  format?: GraphFormat | undefined
  /** Gives up reading; the error's `cause` is the signal's reason. */
  signal?: AbortSignal | undefined
}

const formats = ['dimacs', 'matrix-market', 'csv'] as const
const endings = ['.gr', '.mtx', '.csv']
const parsers = { dimacs: parsingDimacs, 'matrix-market': parsingMatrixMarket, csv: parsingEdgeCsv }

function formatOf(path: string, format: unknown): GraphFormat {
  if (format !== undefined) return formats[readChoice(formats, format, 'format')]!
  const index = endings.indexOf(extname(path).toLowerCase())
  if (index >= 0) return formats[index]!
  throw new FileError(
    `${path}: the name must end with ${showChoices(endings)}, or the option format must say what it is: ${showChoices(formats)}`,
  )
}

/**
 * Reads a graph from a file: see {@link parseDimacs}, {@link parseMatrixMarket} and {@link parseEdgeCsv}.
 *
 * @param path - a regular file.
 * @throws FileError for a file that can't be read or isn't what it should be; OptionError; OutOfMemoryError; AbortedError.
 */
export async function readGraph(path: string | URL, options: ReadGraphOptions = {}): Promise<ReadEdgeList> {
  requireNames(options, ['format', 'signal'])
  const name = pathOf(path)
  const format = formatOf(name, options.format)
  const signal = readSignal(options.signal)
  throwIfAborted(signal, 'reading a file')
  const { file, size } = await openForReading(name, 'a graph')
  try {
    const bytes = space(size, name)
    for (let done = 0; done < size; done += chunkBytes) {
      throwIfAborted(signal, 'reading a file')
      const part = bytes.subarray(done, done + chunkBytes)
      if ((await readFully(file, part, done)) < part.length) {
        throw new FileError(`${name} became shorter while it was read`)
      }
    }
    return await inSlices<ReadEdgeList>(parsers[format](bytes, name), signal, 'reading a file')
  } catch (error) {
    if (error instanceof MpmmlError) throw error
    throw new FileError(`${name} can't be read: ${systemReason(error)}`, { cause: error })
  } finally {
    await file.close()
  }
}

function space(size: number, name: string): Uint8Array {
  try {
    return new Uint8Array(size)
  } catch (error) {
    throw new OutOfMemoryError(`${name}: there is no memory for its ${size} bytes`, { cause: error })
  }
}
