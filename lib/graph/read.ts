/** Graphs in files. */

import { OptionError } from '../errors.js'
import { csvEdgesParser, TokenColumn } from '../files/csv-edges.js'
import { dimacsParser } from '../files/dimacs.js'
import type { EntryArrays, EntrySink } from '../files/entries.js'
import { pathOf } from '../files/files.js'
import { readLines, readText } from '../files/lines.js'
import { matrixMarketParser } from '../files/matrix-market.js'
import { type MemoryOptions, maxBytes } from '../files/memory.js'
import { formatOf } from '../files/names.js'
import type { FileOptions } from '../files/progress.js'
import type { LineParser } from '../files/text.js'
import { boolean, choice, Options, type OptionsOf } from '../options.js'
import { longWorkSet } from '../product/options.js'
import { edgeSink, edgesOf, type ReadEdgeList, requireNumbers, weightOption, withTokens } from './formats.js'
import { GraphmlParser } from './graphml.js'
import { namedCsvParser } from './named-csv.js'
import type { NamedGraph } from './named-edges.js'

/** The formats that {@link readGraph} reads. */
export type GraphFormat = 'dimacs' | 'matrix-market' | 'csv' | 'graphml'

/** The options of {@link readGraph}. `undefined` means the default. */
export interface ReadGraphOptions extends FileOptions, MemoryOptions {
  /** By the end of the file's name if left out: .gr, .mtx, .csv or .graphml, and .gz after it if gzip has compressed the file. */
  format?: GraphFormat | undefined
  /**
   * Whether nodes have the names that the file gives them, as `keys`; false by default. The cells of CSV are names then, and not
   * numbers; GraphML has names always. DIMACS and Matrix Market have numbers only.
   */
  keys?: boolean | undefined
  /** Whether lines of CSV may have a fourth cell, the edge's tokens; false by default. Not with `keys`. */
  tokens?: boolean | undefined
  /**
   * Name of the attribute of GraphML's edges that is their weight, or null for edges that weigh 1 each. By default the attribute
   * `weight`, in any spelling, or else the only one of a usual name, such as `cost`, `distance` or `length`; 1 if edges have no numbers.
   */
  weight?: string | null | undefined
}

const lineFormats = ['dimacs', 'matrix-market', 'csv'] as const
const formats = [...lineFormats, 'graphml'] as const
const readOptions = new Options({
  format: choice(formats, undefined),
  keys: boolean(false),
  tokens: boolean(false),
  weight: weightOption,
  maxBytes,
  ...longWorkSet,
} satisfies OptionsOf<ReadGraphOptions>)
type LineFormat = (typeof lineFormats)[number]
const parsers: Record<
  LineFormat,
  (sink: EntrySink<EntryArrays>, tokens: TokenColumn | null) => LineParser<EntryArrays>
> = {
  dimacs: dimacsParser,
  'matrix-market': (sink) => matrixMarketParser(sink),
  csv: (sink, tokens) => csvEdgesParser(sink, undefined, tokens),
}

/**
 * Reads a graph from a file: see {@link parseDimacs}, {@link parseMatrixMarket}, {@link parseEdgeCsv} and {@link parseGraphml}. What gzip has
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
export function readGraph(path: string | URL, options: ReadGraphOptions & { keys: true }): Promise<NamedGraph>
export function readGraph(path: string | URL, options?: ReadGraphOptions): Promise<ReadEdgeList>
export async function readGraph(path: string | URL, options?: ReadGraphOptions): Promise<ReadEdgeList> {
  const { format, keys, tokens, weight, maxBytes, ...rest } = readOptions.read(options)
  const name = pathOf(path)
  const isGraphml = format === 'graphml' || (format === undefined && /\.graphml(\.gz)?$/i.test(name))
  if (isGraphml) {
    const parser = new GraphmlParser(name, await import('saxes'), weight, maxBytes)
    return readText(name, 'a graph', parser, rest)
  }
  if (weight !== undefined) {
    throw new OptionError(
      `option weight is for files whose edges have attributes, which ${name} has not: leave it out`,
    )
  }
  const known = formatOf(name, format, lineFormats)
  if (keys) {
    requireNumbers(tokens)
    if (known === 'csv') return readLines(name, 'a graph', namedCsvParser(name, maxBytes), rest)
    throw new OptionError(
      `option keys is for files that name nodes, CSV and GraphML, but ${name} has numbers: leave it out`,
    )
  }
  const column = tokens ? new TokenColumn() : null
  const parser = parsers[known](edgeSink(name, maxBytes), column)
  return withTokens(edgesOf(await readLines(name, 'a graph', parser, rest)), column)
}
