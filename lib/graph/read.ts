/** Graphs in files. */

import { show } from '../describe.js'
import { OptionError, ShapeError } from '../errors.js'
import { dimacsParser } from '../files/dimacs.js'
import { pathOf } from '../files/files.js'
import { readLines, readText } from '../files/lines.js'
import { matrixMarketParser } from '../files/matrix-market.js'
import { type MemoryOptions, maxBytes } from '../files/memory.js'
import { formatOf } from '../files/names.js'
import type { FileOptions } from '../files/progress.js'
import { inSlices, type Steps } from '../graph-core/slices.js'
import { MAX_DIMENSION } from '../matrix.js'
import { boolean, choice, Options, type OptionsOf, type ReadOf, whole } from '../options.js'
import { longWorkSet, type Progress } from '../product/options.js'
import {
  edgeSink,
  edgesOf,
  isTsv,
  namedCsv,
  numberedCsv,
  type ReadEdgeList,
  weightOption,
} from './formats.js'
import { GraphmlParser } from './graphml.js'
import { bothWays, joiningGraphs, scaling } from './joined-files.js'
import type { NamedGraph } from './named-edges.js'

/** The formats that {@link readGraph} reads. */
export type GraphFormat = 'dimacs' | 'matrix-market' | 'csv' | 'graphml'

/** The options of {@link readGraph}. `undefined` means the default. */
export interface ReadGraphOptions extends FileOptions, MemoryOptions {
  /** By the end of the file's name if left out: .gr, .mtx, .csv, .tsv or .graphml, and .gz after it if gzip has compressed the file. */
  format?: GraphFormat | undefined
  /**
   * Whether nodes have the names that the file gives them, as `keys`; false by default. The cells of CSV are names then, and not
   * numbers; GraphML has names anyway, which are left out if this is false. DIMACS and Matrix Market have numbers only.
   */
  keys?: boolean | undefined
  /** Whether edges of CSV may have tokens, in the column of this name or the fourth cell; false by default. */
  tokens?: boolean | undefined
  /**
   * Name of the weights: a column of CSV, or an attribute of GraphML's edges. Null gives each edge the weight 1. By default it is the name
   * `weight`, in any spelling, or else the only usual name, such as `cost`, `distance` or `length`. Then CSV takes the only other column with
   * numbers, and edges without numbers weigh 1.
   */
  weight?: string | null | undefined
  /** Whether each edge leads back too, with the same weight; false by default. */
  twoWay?: boolean | undefined
  /** Factor of the weights, such as 100 for two decimals: all become int32 integers, and none may lose anything. */
  scale?: number | undefined
}

const lineFormats = ['dimacs', 'matrix-market', 'csv'] as const
const formats = [...lineFormats, 'graphml'] as const
const readOptions = new Options({
  format: choice(formats, undefined),
  keys: boolean(false),
  tokens: boolean(false),
  weight: weightOption,
  twoWay: boolean(false),
  scale: whole(undefined, 1, MAX_DIMENSION),
  maxBytes,
  ...longWorkSet,
} satisfies OptionsOf<ReadGraphOptions>)

/**
 * Reads a graph from a file: see {@link parseDimacs}, {@link parseMatrixMarket}, {@link parseEdgeCsv} and {@link parseGraphml}. What gzip has
 * compressed is decompressed.
 *
 * @param path - a regular file, or several that are one graph: nodes of one name, or of one number, are one node.
 * @throws FileError for a file that can't be read or isn't what it should be; OptionError; ValueError for a weight
 *   that `scale` makes no int32 integer; LimitError; OutOfMemoryError; AbortedError.
 * @example
 * await writeFile('roads.csv', '0,1,4\n1,2,-1\n')
 * const { distances } = await shortestPaths(await readGraph('roads.csv'), { sources: 0 })
 * console.log(distances.data.join()) // 0,4,3
 */
export function readGraph(
  path: string | URL | readonly (string | URL)[],
  options: ReadGraphOptions & { keys: true },
): Promise<NamedGraph>
export function readGraph(
  path: string | URL | readonly (string | URL)[],
  options?: ReadGraphOptions,
): Promise<ReadEdgeList>
export async function readGraph(
  path: string | URL | readonly (string | URL)[],
  options?: ReadGraphOptions,
): Promise<ReadEdgeList> {
  const { twoWay, scale, ...reading } = readOptions.read(options)
  const { signal, onProgress } = reading
  const paths = Array.isArray(path) ? [...(path as readonly (string | URL)[])] : [path as string | URL]
  if (paths.length === 0) throw new ShapeError('the paths of a graph must be one or more, but there are none')
  const names = paths.map(pathOf)
  const graphs: ReadEdgeList[] = []
  for (const name of names) {
    const share = ({ done }: Progress) => onProgress!({ done: (graphs.length + done) / names.length })
    graphs.push(await readOne(name, { ...reading, onProgress: onProgress && share }))
  }
  const steps = function* (): Steps<ReadEdgeList> {
    const joined = yield* joiningGraphs(graphs, names)
    const graph = twoWay ? yield* bothWays(joined) : joined
    return scale === undefined ? graph : yield* scaling(graph, scale)
  }
  return inSlices(steps(), signal, 'the reading of a graph')
}

async function readOne(
  name: string,
  { format, keys, tokens, weight, maxBytes, ...rest }: Omit<ReadOf<typeof readOptions>, 'twoWay' | 'scale'>,
): Promise<ReadEdgeList> {
  const isGraphml = format === 'graphml' || (format === undefined && /\.graphml(\.gz)?$/i.test(name))
  if (isGraphml) {
    const parser = new GraphmlParser(name, await import('saxes'), weight, maxBytes)
    return readText(name, 'a graph', parser, rest)
  }
  const known = format === undefined && isTsv(name) ? 'csv' : formatOf(name, format, lineFormats)
  if (known === 'csv') {
    const wishes = { tokens, weight, maxBytes }
    if (keys) return readLines(name, 'a graph', namedCsv(name, wishes), rest)
    return readLines(name, 'a graph', numberedCsv(name, wishes), rest)
  }
  if (keys) {
    throw new OptionError(
      `option keys is for files that name nodes, CSV and GraphML, but ${name} has numbers: leave it out`,
    )
  }
  if (weight !== undefined) {
    throw new OptionError(
      `option weight is for files that name what weighs the edges, CSV and GraphML, but it is ${show(weight)} for ${name}: leave it out`,
    )
  }
  const sink = edgeSink(name, maxBytes)
  const parser = known === 'dimacs' ? dimacsParser(sink) : matrixMarketParser(sink)
  return edgesOf(await readLines(name, 'a graph', parser, rest))
}
