/** Edge lists in text: DIMACS shortest-path files, Matrix Market coordinate files, CSV and GraphML. */

import { show } from '../describe.js'
import { OptionError } from '../errors.js'
import { cellText } from '../files/cells.js'
import { csvEdgesParser, type EdgeCells, NumberedCells } from '../files/csv-edges.js'
import { dimacsParser } from '../files/dimacs.js'
import { type EntryArrays, EntryList, type EntrySink } from '../files/entries.js'
import { parseText, requireText } from '../files/line-feed.js'
import { matrixMarketParser } from '../files/matrix-market.js'
import type { LineParser, TextReader } from '../files/text.js'
import { type EdgeList, makeEdges } from '../graph-core/edges.js'
import { atOnce, type Steps } from '../graph-core/slices.js'
import { MAX_DIMENSION } from '../matrix.js'
import { boolean, Options, type OptionsOf, option, whole } from '../options.js'
import { GraphmlParser } from './graphml.js'
import { NamedEdges, type NamedGraph } from './named-edges.js'
import { requireSaxes } from './saxes.js'

/** What the readers make. */
export interface ReadEdgeList extends EdgeList<Int32Array | Float64Array> {
  /** The node that each edge leaves, from 0. */
  readonly from: Int32Array
  /** The node that each edge enters, from 0. */
  readonly to: Int32Array
  readonly weight: Int32Array | Float64Array
  /** How many tokens each edge has, if they were asked for and are there: see `TokenEdgeList` of mpmml/algebra. */
  readonly tokens?: Int32Array
}

/** What takes the entries of a file of which errors speak as `name`. */
export const edgeSink = (name: string, maxBytes?: number): EntrySink<EntryArrays> =>
  new EntryList(name, true, maxBytes)

export const edgesOf = ({ rows, row, col, value }: EntryArrays): ReadEdgeList =>
  makeEdges(rows, row, col, value)

/**
 * Reads a graph in the format of the 9th DIMACS implementation challenge (`.gr`): a line `p sp NODES ARCS`, and a line
 * `a FROM TO WEIGHT` for each arc; lines that begin with c are comments. Its nodes are numbered from 1, those of the edge list
 * from 0. Weights are int32 integers.
 *
 * @param name - what errors call it.
 * @throws FileError with the number of the line; DTypeError for what is neither text nor bytes; OutOfMemoryError.
 * @see http://www.diag.uniroma1.it/challenge9/format.shtml
 * @example
 * const { nodes, from, to, weight } = parseDimacs('p sp 3 2\na 1 2 4\na 2 3 -1\n')
 * console.log(nodes, from.join(), to.join(), weight.join()) // 3 0,1 1,2 4,-1
 */
export function parseDimacs(content: Uint8Array | string, name = 'the graph'): ReadEdgeList {
  return edgesOf(parseText(content, name, dimacsParser(edgeSink(name))))
}

/**
 * Reads a square matrix in Matrix Market's coordinate format (`.mtx`): entry (i, j) is the edge from i to j, with nodes from 0.
 * Integers become int32, real numbers float64, and the edges of a pattern have the weight 1. A symmetric or skew-symmetric
 * file has the lower triangle; the edges of the upper one are made.
 *
 * @param name - what errors call it.
 * @throws FileError with the number of the line; DTypeError for what is neither text nor bytes; OutOfMemoryError.
 * @see https://math.nist.gov/MatrixMarket/formats.html
 * @example
 * const text = '%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 4\n2 3 -1\n'
 * const { nodes, from, to, weight } = parseMatrixMarket(text)
 * console.log(nodes, from.join(), to.join(), weight.join()) // 3 0,1 1,2 4,-1
 */
export function parseMatrixMarket(content: Uint8Array | string, name = 'the matrix'): ReadEdgeList {
  return edgesOf(parseText(content, name, matrixMarketParser(edgeSink(name))))
}

/** The option `weight` of readers of graphs: the name of a column or an attribute, or null for edges of weight 1. */
export const weightOption = option<string | null, undefined>(undefined, (value, name) => {
  if (typeof value === 'string' || value === null) return value
  throw new OptionError(
    `option ${name} must be the name of a column or an attribute, or null, but it is ${show(value)}`,
  )
})

/** The options of {@link parseEdgeCsv}. `undefined` means the default. */
export interface CsvOptions {
  /** Number of nodes; one more than the largest number in the file by default. Not with `keys`. */
  nodes?: number | undefined
  /** Whether the cells of nodes are their names, not their numbers; false by default. */
  keys?: boolean | undefined
  /** Whether edges may have tokens: in the column of this name, or in the fourth one if no line names them; false by default. */
  tokens?: boolean | undefined
  /**
   * The name of the column of weights, or null: then each edge weighs 1. By default the column that is named weight, or the only one with a
   * name of weights, or with numbers.
   */
  weight?: string | null | undefined
}

const csvOptions = new Options({
  nodes: whole(undefined, 0, MAX_DIMENSION),
  keys: boolean(false),
  tokens: boolean(false),
  weight: weightOption,
} satisfies OptionsOf<CsvOptions>)

/**
 * Reads an edge list in CSV: a line for each edge. A first line that names columns, such as `from,to,weight`, says which is which: columns may
 * stand in any order, and others are left out. Known are from, source, src, tail, u, start and origin; to, target, dst, head, v, end and
 * destination; weight, cost, length, distance, duration, time and value; and tokens. Without such a line the cells are `FROM,TO,WEIGHT`, and
 * with the option `tokens` `FROM,TO,WEIGHT,TOKENS`. Without a column of weights all weights are 1.
 *
 * Nodes are numbers from 0 unless `keys` says that they have names. Cells are separated by commas, semicolons, tabs, bars or blanks, which
 * all of the first lines decide, or a line such as `sep=;` before them; where semicolons or tabs separate, a comma may be the decimal point. Cells
 * may be in quotation marks. Lines that begin with # are comments. The text is UTF-8, or UTF-16 if its first bytes say so.
 *
 * The weights are int32 if all of them are integers in its range, and float64 otherwise.
 *
 * @param name - what errors call it.
 * @throws FileError with the number of the line; DTypeError for what is neither text nor bytes; OptionError; OutOfMemoryError.
 * @example
 * const { nodes, weight } = parseEdgeCsv('from,to,weight\n0,1,4\n1,2,0.5\n', 'roads', { nodes: 5 })
 * console.log(nodes, weight) // 5 Float64Array(2) [ 4, 0.5 ]
 */
export function parseEdgeCsv(
  content: Uint8Array | string,
  name: string | undefined,
  options: CsvOptions & { keys: true },
): NamedGraph & { readonly tokens?: Int32Array }
export function parseEdgeCsv(content: Uint8Array | string, name?: string, options?: CsvOptions): ReadEdgeList
export function parseEdgeCsv(
  content: Uint8Array | string,
  name = 'the edge list',
  options?: CsvOptions,
): ReadEdgeList {
  const { nodes, keys, ...wishes } = csvOptions.read(options)
  requireText(content, name)
  if (!keys) return parseText(content, name, numberedCsv(name, wishes, nodes))
  if (nodes === undefined) return parseText(content, name, namedCsv(name, wishes))
  throw new OptionError(
    'option nodes is for nodes with numbers, but option keys says that they have names: leave out one of them',
  )
}

/** Options of the columns of CSV, and the limit of memory. */
interface CsvWishes {
  readonly tokens: boolean
  readonly weight: string | null | undefined
  readonly maxBytes?: number
}

/** Returns whether a file's name says that tabs separate. */
export const isTsv = (name: string) => /\.tsv(\.gz)?$/i.test(name)

/** Returns a parser of CSV whose nodes have numbers. */
export function numberedCsv(
  name: string,
  { maxBytes, ...wishes }: CsvWishes,
  nodes?: number,
): LineParser<ReadEdgeList> {
  const cells = new NumberedCells(edgeSink(name, maxBytes), nodes, edgesOf)
  return csvEdgesParser(cells, { ...wishes, named: false, isTsv: isTsv(name) })
}

/** Returns a parser of CSV whose nodes have names. */
export function namedCsv(
  name: string,
  { maxBytes, ...wishes }: CsvWishes,
): LineParser<NamedGraph & { tokens?: Int32Array }> {
  return csvEdgesParser(new NamedCells(new NamedEdges(name, maxBytes)), {
    ...wishes,
    named: true,
    isTsv: isTsv(name),
  })
}

/** Edges between nodes with names, which are texts as they stand in the file: `1` and `01` are two nodes. */
class NamedCells implements EdgeCells<string, NamedGraph> {
  readonly #edges: NamedEdges<string>

  constructor(edges: NamedEdges<string>) {
    this.#edges = edges
  }

  *begin(): Steps<void> {}

  node(reader: TextReader): string {
    const name = cellText(reader)
    return name === '' ? reader.fail('the name of a node is missing') : name
  }

  add(from: string, to: string, weight: number): void {
    this.#edges.add(from, to, weight)
  }

  flush(): void {}

  has(name: string): boolean {
    return this.#edges.has(name)
  }

  end(): Steps<NamedGraph> {
    return this.#edges.ending()
  }
}

/** The options of {@link parseGraphml}. `undefined` means the default. */
export interface GraphmlOptions {
  /** Name of the edges' attribute that is their weight: see `readGraph`. */
  weight?: string | null | undefined
}

const graphmlOptions = new Options({ weight: weightOption } satisfies OptionsOf<GraphmlOptions>)

/**
 * Reads a graph in GraphML, with the names that it has for its nodes. Undirected edges lead both ways.
 *
 * @param name - what errors call it.
 * @throws FileError with the number of the line; DTypeError for content that is neither text nor bytes; OptionError; OutOfMemoryError.
 * @see http://graphml.graphdrawing.org/specification.html
 * @example
 * const text = '<graphml><graph edgedefault="directed"><node id="A"/><node id="B"/><edge source="A" target="B"/></graph></graphml>'
 * const { keys, from, to } = parseGraphml(text)
 * console.log(keys.join(), from.join(), to.join()) // A,B 0 1
 */
export function parseGraphml(
  content: Uint8Array | string,
  name = 'the graph',
  options?: GraphmlOptions,
): NamedGraph {
  const { weight } = graphmlOptions.read(options)
  requireText(content, name)
  const parser = new GraphmlParser(name, requireSaxes(), weight)
  atOnce(typeof content === 'string' ? parser.characters(content) : parser.bytes(content, 0, true))
  return atOnce(parser.end())
}
