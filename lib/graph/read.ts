/** Graphs in files. */
import { extname } from 'node:path'
import { showChoices } from '../describe.js'
import { FileError } from '../errors.js'
import { csvEdgesParser } from '../files/csv-edges.js'
import { dimacsParser } from '../files/dimacs.js'
import type { EntryArrays, EntrySink } from '../files/entries.js'
import { pathOf } from '../files/files.js'
import { readLines } from '../files/lines.js'
import { matrixMarketParser } from '../files/matrix-market.js'
import { type FileOptions, fileOptions } from '../files/progress.js'
import type { LineParser } from '../files/text.js'
import { readChoice, requireNames } from '../options.js'
import { edgeSink, edgesOf, type ReadEdgeList } from './formats.js'

export type GraphFormat = 'dimacs' | 'matrix-market' | 'csv'

export interface ReadGraphOptions extends FileOptions {
  /** By the end of the file's name if left out: .gr, .mtx or .csv, and .gz after it if gzip has compressed the file. */
  format?: GraphFormat | undefined
}

const formats = ['dimacs', 'matrix-market', 'csv'] as const
const endings = ['.gr', '.mtx', '.csv']
const parsers: Record<GraphFormat, (sink: EntrySink<EntryArrays>) => LineParser<EntryArrays>> = {
  dimacs: dimacsParser,
  'matrix-market': (sink) => matrixMarketParser(sink),
  csv: (sink) => csvEdgesParser(sink, undefined),
}

function formatOf(path: string, format: unknown): GraphFormat {
  if (format !== undefined) return formats[readChoice(formats, format, 'format')]!
  const index = endings.indexOf(extname(path.replace(/\.gz$/i, '')).toLowerCase())
  if (index >= 0) return formats[index]!
  throw new FileError(
    `${path}: the name must end with ${showChoices(endings)}, or the option format must say what it is: ${showChoices(formats)}`,
  )
}

/**
 * Reads a graph from a file: see {@link parseDimacs}, {@link parseMatrixMarket} and {@link parseEdgeCsv}. What gzip has
 * compressed is decompressed.
 *
 * @param path - a regular file.
 * @throws FileError for a file that can't be read or isn't what it should be; OptionError; OutOfMemoryError; AbortedError.
 */
export async function readGraph(path: string | URL, options: ReadGraphOptions = {}): Promise<ReadEdgeList> {
  requireNames(options, ['format', ...fileOptions])
  const name = pathOf(path)
  const parser = parsers[formatOf(name, options.format)]
  return edgesOf(await readLines(name, 'a graph', parser(edgeSink(name)), options))
}
