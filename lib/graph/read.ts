/** Graphs in files. */

import { csvEdgesParser } from '../files/csv-edges.js'
import { dimacsParser } from '../files/dimacs.js'
import type { EntryArrays, EntrySink } from '../files/entries.js'
import { pathOf } from '../files/files.js'
import { readLines } from '../files/lines.js'
import { matrixMarketParser } from '../files/matrix-market.js'
import { type MemoryOptions, maxBytes } from '../files/memory.js'
import { formatOf } from '../files/names.js'
import type { FileOptions } from '../files/progress.js'
import type { LineParser } from '../files/text.js'
import { choice, Options, type OptionsOf } from '../options.js'
import { longWorkSet } from '../product/options.js'
import { edgeSink, edgesOf, type ReadEdgeList } from './formats.js'

/** The formats that {@link readGraph} reads. */
export type GraphFormat = 'dimacs' | 'matrix-market' | 'csv'

/** The options of {@link readGraph}. `undefined` means the default. */
export interface ReadGraphOptions extends FileOptions, MemoryOptions {
  /** By the end of the file's name if left out: .gr, .mtx or .csv, and .gz after it if gzip has compressed the file. */
  format?: GraphFormat | undefined
}

const formats = ['dimacs', 'matrix-market', 'csv'] as const
const readOptions = new Options({
  format: choice(formats, undefined),
  maxBytes,
  ...longWorkSet,
} satisfies OptionsOf<ReadGraphOptions>)
const parsers: Record<GraphFormat, (sink: EntrySink<EntryArrays>) => LineParser<EntryArrays>> = {
  dimacs: dimacsParser,
  'matrix-market': (sink) => matrixMarketParser(sink),
  csv: (sink) => csvEdgesParser(sink, undefined),
}

/**
 * Reads a graph from a file: see {@link parseDimacs}, {@link parseMatrixMarket} and {@link parseEdgeCsv}. What gzip has
 * compressed is decompressed.
 *
 * @param path - a regular file.
 * @throws FileError for a file that can't be read or isn't what it should be; OptionError; LimitError; OutOfMemoryError;
 *   AbortedError.
 * @example
 * await writeFile('roads.csv', '0,1,4\n1,2,-1\n')
 * const { distances } = await shortestPaths(await readGraph('roads.csv'), { sources: 0 })
 * console.log(distances.data.join()) // 0,4,3
 */
export async function readGraph(path: string | URL, options?: ReadGraphOptions): Promise<ReadEdgeList> {
  const { format, maxBytes, ...rest } = readOptions.read(options)
  const name = pathOf(path)
  const parser = parsers[formatOf(name, format, formats)]
  return edgesOf(await readLines(name, 'a graph', parser(edgeSink(name, maxBytes)), rest))
}
