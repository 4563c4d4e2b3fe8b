/**
 * Reads edge lists from text: DIMACS shortest-path files, Matrix Market coordinate files, CSV and GraphML.
 */

import { show } from '../describe.js'
import { OptionError } from '../errors.js'
import { cellText } from '../files/cells.js'
import { csvEdgesParser, type EdgeCells, numberedCells } from '../files/csv-edges.js'
import { dimacsParser } from '../files/dimacs.js'
import { EntryList, type EntrySink } from '../files/entries.js'
import { type ContentOptions, LineFeed, parseText, type TextFeed } from '../files/line-feed.js'
import { matrixMarketParser } from '../files/matrix-market.js'
import { type MemoryOptions, maxBytes } from '../files/memory.js'
import type { TextReader } from '../files/text.js'
import { makeEdges } from '../graph-core/edges.js'
import { atOnce } from '../graph-core/slices.js'
import { MAX_DIMENSION } from '../matrix.js'
import {
  boolean,
  Options,
  type OptionsOf,
  option,
  type ReadOf,
  readChoice,
  required,
  string,
  whole,
} from '../options.js'
import { GraphmlParser } from './graphml.js'
import { joiningGraphs } from './joined-files.js'
import { NamedEdges, type NamedGraph, type ReadEdgeList } from './named-edges.js'
import { assertSaxes, type Saxes } from './saxes.js'

/** Text formats of graphs. */
export type GraphFormat = 'dimacs' | 'matrix-market' | 'csv' | 'tsv' | 'graphml'

export const graphFormats: readonly GraphFormat[] = ['dimacs', 'matrix-market', 'csv', 'tsv', 'graphml']

/**
 * The option `weight` of functions that read graphs: the name of a column or an attribute, or null for edges
 * of weight 1.
 */
const weightOption = option<string | null, undefined>(undefined, (value, name) => {
  if (typeof value === 'string' || value === null) return value
  throw new OptionError(
    `option ${name} must be the name of a column or an attribute, or null, but it is ${show(value)}`,
  )
})

/** Options of text formats of graphs. `undefined` means the default. */
export interface GraphTextOptions extends MemoryOptions {
  /**
   * Number of nodes of a CSV text; one more than its largest node number by default. Not allowed with `keys`.
   */
  nodes?: number | undefined
  /**
   * Whether CSV cells of nodes are names instead of numbers; false by default. Nodes of GraphML always have
   * names. Nodes of DIMACS and Matrix Market always have numbers.
   */
  keys?: boolean | undefined
  /**
   * Whether edges of CSV may have tokens; false by default. The tokens are in the column `tokens`, or in the
   * fourth column if no line names the columns.
   */
  tokens?: boolean | undefined
  /**
   * Name of the CSV column, or of the attribute of GraphML's edges, with the weight. Null gives each edge the
   * weight 1. The default is `weight`, in any spelling. If it doesn't exist, the default is the only usual
   * name, such as `cost`, `distance` or `length`. If no usual name exists, CSV takes the only other column
   * with numbers, and edges without numbers have the weight 1.
   */
  weight?: string | null | undefined
  /** Whether to add the reverse of each edge, with the same weight; false by default. */
  twoWay?: boolean | undefined
  /** Factor of the weights, such as 100 for two decimals. The products must be exact int32 integers. */
  scale?: number | undefined
}

/** The options of {@link parseGraph}. `undefined` means the default. */
export interface ParseGraphOptions extends GraphTextOptions, ContentOptions {
  /** Format of the text. */
  format: GraphFormat
}

export const graphTextSet = {
  nodes: whole(undefined, 0, MAX_DIMENSION),
  keys: boolean(false),
  tokens: boolean(false),
  weight: weightOption,
  twoWay: boolean(false),
  scale: whole(undefined, 1, MAX_DIMENSION),
  maxBytes,
} satisfies OptionsOf<GraphTextOptions>

const parseOptions = new Options({
  format: required((value, name) => graphFormats[readChoice(graphFormats, value, name)]!),
  ...graphTextSet,
  name: string('the graph'),
} satisfies OptionsOf<ParseGraphOptions>)

/**
 * Reads a graph from a text or from its bytes. Bytes are UTF-8, or UTF-16 if a byte order mark or the zero
 * bytes of the first characters show it.
 *
 * | format | text |
 * |---|---|
 * | `csv`, `tsv` | One line per edge. The first line may name the columns, such as `from,to,weight`: then the columns may be in any order, and columns with other names are ignored. Names of the first node's column are from, source, src, tail, u, start and origin. Names of the second node's column are to, target, dst, head, v, end and destination. Names of the weight are weight, cost, length, distance, duration, time and value; the column of tokens is tokens. Without a line of names the cells are `FROM,TO,WEIGHT`, or `FROM,TO,WEIGHT,TOKENS`. Nodes are numbers from 0, or names with the option `keys`. The separator of cells is a comma, a semicolon, a tab, a bar or blanks. The first lines determine it, unless a line such as `sep=;` precedes them. If the separator is a semicolon or a tab, the decimal point may be a comma. Cells may be in quotation marks. Lines that begin with # are comments |
 * | `dimacs` | The format of the [9th DIMACS implementation challenge](http://www.diag.uniroma1.it/challenge9/format.shtml): a line `p sp NODES ARCS`, and a line `a FROM TO WEIGHT` for each arc. Nodes are numbered from 1 in the text, and from 0 in the edge list. Weights are int32 integers |
 * | `matrix-market` | A square matrix in the [coordinate format](https://math.nist.gov/MatrixMarket/formats.html): entry (i, j) is the edge from i to j, with nodes from 0. Edges of a `pattern` matrix have the weight 1. A symmetric or skew-symmetric text contains only the lower triangle; the edges of the upper triangle are added |
 * | `graphml` | [GraphML](http://graphml.graphdrawing.org/specification.html), whose node ids become the names of nodes. An undirected edge becomes two edges, one in each direction |
 *
 * The weights are int32 if all of them are integers in its range, and float64 otherwise. Integers beyond 2^53
 * must be exact in float64. Numbers with a decimal point or an exponent are real numbers, which are rounded.
 *
 * @throws FileError with the number of the line; ERR_MPMML_DTYPE for content that is neither text nor bytes;
 * ERR_MPMML_OPTION; ERR_MPMML_VALUE for a weight whose product with `scale` isn't an int32 integer;
 * LimitError; ERR_MPMML_OUT_OF_MEMORY; ERR_MPMML_PACKAGE if the XML parser is not installed.
 * @example
 * const { keys, from, to, weight } = parseGraph('from,to,km\nA,B,4\nB,C,0.5\n', { format: 'csv', keys: true })
 * console.log(keys.join(), from.join(), to.join(), weight.join()) // A,B,C 0,1 1,2 4,0.5
 */
export function parseGraph(
  content: Uint8Array | string,
  options: ParseGraphOptions & ({ keys: true } | { format: 'graphml' }),
): NamedGraph & { readonly tokens?: Int32Array }
export function parseGraph(content: Uint8Array | string, options: ParseGraphOptions): ReadEdgeList
export function parseGraph(content: Uint8Array | string, options: ParseGraphOptions): ReadEdgeList {
  const { format, twoWay, scale, name, ...columnOptions } = parseOptions.read(options)
  const saxes = format === 'graphml' ? assertSaxes() : null
  const graph = parseText(content, name, graphFeed(name, format, columnOptions, saxes))
  return atOnce(joiningGraphs([graph], [name], twoWay, scale))
}

type ColumnOptions = Omit<ReadOf<typeof parseOptions>, 'format' | 'twoWay' | 'scale' | 'name'>

/**
 * Returns a parser of a graph.
 *
 * @param saxes - parser of XML, for GraphML.
 */
export function graphFeed(
  name: string,
  format: GraphFormat,
  { nodes, keys, maxBytes, ...columnOptions }: ColumnOptions,
  saxes: Saxes | null,
): TextFeed<ReadEdgeList> {
  const { weight } = columnOptions
  const isCsv = format === 'csv' || format === 'tsv'
  if (nodes !== undefined && (keys || !isCsv)) {
    throw new OptionError(
      `option nodes is for nodes of CSV with numbers, but ${keys ? 'option keys says that they have names: leave out one of them' : `the format is ${format}: leave it out`}`,
    )
  }
  if (saxes) return new GraphmlParser(name, saxes, weight, maxBytes)
  const sink = edgeSink(name, maxBytes)
  if (isCsv) {
    const csv = { ...columnOptions, named: keys, isTsv: format === 'tsv' }
    return keys
      ? new LineFeed(name, csvEdgesParser(namedCells(new NamedEdges(name, maxBytes)), csv))
      : new LineFeed(name, csvEdgesParser(numberedCells(sink, nodes), csv))
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
  return new LineFeed(name, format === 'dimacs' ? dimacsParser(sink) : matrixMarketParser(sink))
}

/** Returns a sink whose entries are edges. */
function edgeSink(name: string, maxBytes: number): EntrySink<ReadEdgeList> {
  const list = new EntryList(name, true, maxBytes)
  return {
    begin: (head, reader) => list.begin(head, reader),
    add: (row, col, value) => list.add(row, col, value),
    *end(rows, cols, integral) {
      const { row, col, value } = yield* list.end(rows, cols, integral)
      return makeEdges(rows, row, col, value)
    },
  }
}

/** Reads the name of a node: the unchanged string of the file, so that `1` and `01` are two nodes. */
function nameIn(reader: TextReader): string {
  const name = cellText(reader)
  return name === '' ? reader.fail('the name of a node is missing') : name
}

function namedCells(edges: NamedEdges<string>): EdgeCells<NamedGraph> {
  return {
    node: (reader) => edges.node(nameIn(reader)),
    has: (name) => edges.has(name),
    join: (from, to, weight) => edges.join(from, to, weight),
    end: () => edges.end(),
  }
}
