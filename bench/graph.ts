/** Reads graphs from files. Output numbers or names nodes as the file does. */
import { extname } from 'node:path'
import { Option } from 'commander'
import { type EdgeList, type KeyedEdgeList, readGraph } from '../lib/graph.js'
import {
  ArgumentError,
  CycleError,
  type DataType,
  type ElementArray,
  FileError,
  type Matrix,
  type Semiring,
  zeroOf,
} from '../lib/index.js'
import { type CsvFlags, isCsv, kindOfGraph, namingNodes, note } from './csv-kind.js'
import { dtypeOf, typesOf } from './dtype.js'
import { inType } from './edge-file.js'
import { fileOf, readMatrixFile } from './matrix-file.js'
import { shapeText } from './output.js'
import { PIPE_HELP, shownInput } from './pipes.js'
import { nearestSpelling } from './spelling.js'

/** Graph that was loaded from a file. */
export interface GraphFile {
  path: string
  /** Weights for the library, which numbers nodes from 0. */
  weights: Matrix<ElementArray> | EdgeList<ElementArray> | KeyedEdgeList<string, ElementArray>
  /** Names of the nodes; undefined if nodes have numbers. */
  keys?: readonly string[]
  nodes: number
  edges: number
  /** Number of the first node in the file: 1 in DIMACS and Matrix Market, 0 in CSV and .npy. */
  firstNode: 0 | 1
  dtype: DataType
}

/** Number or name of a node in the file. */
export type FileNode = number | string

/** Options that control the reading of a file. */
export interface GraphFlags extends CsvFlags {
  /** Whether nodes have names in the file. */
  isNamed?: boolean | undefined
  /** Whether edges may have tokens. */
  tokens?: boolean | undefined
  /** Name of the column or attribute that is the weight; false for edges of weight 1. */
  weight?: string | false | undefined
  /** Whether each edge also exists in the reverse direction. */
  twoWay?: boolean | undefined
  /** Factor that scales weights to integers. */
  scale?: number | undefined
  /** More files with edges of the graph. */
  more?: readonly string[] | undefined
}

/** The options of edges in files. */
export const edgeOptions = () => [
  new Option('--weight <name>', 'column of a .csv or attribute of a .graphml file that is the weight'),
  new Option('--no-weight', 'each edge weighs 1, whatever numbers it has'),
  new Option('--two-way', 'each edge leads back, too'),
  new Option(
    '--scale <factor>',
    'multiply the weights to int32 integers, such as by 100 for two decimals; none may lose anything',
  ).argParser((text) => (/^\d{1,10}$/.test(text) ? Number(text) : text)),
]

/** Returns whether the file's extension implies named nodes. */
export const namesNodes = (path: string): boolean => /\.graphml(\.gz)?$/i.test(path)

/** Fields of the graph in the output of --json. */
export type GraphRecord = Pick<GraphFile, 'path' | 'nodes' | 'edges' | 'firstNode'>

/** Paragraph for the help of commands. */
export const GRAPH_HELP = `
A graph is a DIMACS .gr file, a Matrix Market .mtx file, an edge list in .csv (FROM,TO,WEIGHT), a .graphml file, or a square .npy
or .npz matrix of weights, in which the semiring's zero is no edge; text may be compressed (.gr.gz). --matrix says that a .csv is such a
matrix. Nodes have the numbers that they have in the file: .gr and .mtx count from 1, .csv, .npy and .npz from 0. Those of .graphml have
names.
${PIPE_HELP}`

const firstNodes: Record<string, 0 | 1> = {
  '.gr': 1,
  '.mtx': 1,
  '.csv': 0,
  '.tsv': 0,
  '.graphml': 0,
  '.npy': 0,
  '.npz': 0,
}

/**
 * Reads a graph with weights of a type that the semiring supports.
 *
 * @throws FileError if the file is no graph, and the errors of the readers.
 */
export async function readGraphFile(
  path: string,
  semiring: Semiring,
  signal: AbortSignal,
  {
    isNamed = false,
    tokens = false,
    weight: flag,
    twoWay,
    scale,
    more: others = [],
    ...flags
  }: GraphFlags = {},
): Promise<GraphFile> {
  const file = fileOf(path).path
  const ending = extname(file.replace(/\.gz$/i, '')).toLowerCase()
  const firstNode = firstNodes[ending]
  const types = typesOf(semiring)
  if (file === '') throw new FileError('the name of a graph file must not be empty: give its path')
  if (firstNode === undefined) {
    throw new FileError(
      `${path}: the name must end with .gr (DIMACS), .mtx (Matrix Market), .csv, .graphml, .npy or .npz: that says what the file is`,
    )
  }
  const csv = isCsv(file)
  const isList = flag !== undefined || twoWay || scale !== undefined || others.length > 0
  const isMatrix = csv
    ? (await kindOfGraph(
        path,
        isNamed || isList ? { edges: true } : flags,
        semiring !== 'or-and',
        tokens,
      )) === 'matrix'
    : ending === '.npy' || ending === '.npz'
  if (!isMatrix) {
    const options = { signal, tokens, weight: flag === false ? null : flag, twoWay, scale }
    const files = [file, ...others.map((each) => fileOf(each).path)]
    const read = () => readGraph(files, options)
    const readNamed = () => readGraph(files, { ...options, keys: true })
    const numbered = () =>
      read().catch((error) => {
        if (error instanceof FileError && LARGE_ID.test(error.message)) return null
        throw error
      })
    let list = isNamed ? await readNamed() : await (csv ? namingNodes(path, 'say --names', numbered) : read())
    if (list === null || (csv && !isNamed && hasIds(list))) {
      const why = list ? `numbers up to ${list.nodes - 1} would be as many nodes` : 'numbers are beyond 2^31'
      note(`the nodes of ${shownInput(path)} are taken as names, because ${why}`)
      list = await readNamed()
    }
    const weight = inType(list.weight, types, true)
    return {
      path,
      weights: { ...list, weight },
      ...('keys' in list && { keys: list.keys as readonly string[] }),
      nodes: list.nodes,
      edges: list.from.length,
      firstNode,
      dtype: dtypeOf(weight),
    }
  }
  if (isList) {
    throw new ArgumentError(
      `options --weight, --two-way, --scale and further files are for lists of edges, but ${shownInput(path)} is a matrix: leave them out`,
    )
  }
  const matrix = await readMatrixFile(path, { semiring }, signal)
  const [rows, cols, ...more] = matrix.shape
  if (rows !== cols || more.length > 0) {
    throw new FileError(
      `${shownInput(path)}: a graph is one square matrix of weights, but this is ${shapeText(matrix.shape)}`,
    )
  }
  const data = inType(matrix.data, types, false)
  const dtype = dtypeOf(data)
  const zero = zeroOf(semiring, dtype)
  let edges = 0
  let zeros = 0
  for (const weight of data) {
    if (weight !== zero) edges++
    if (weight === 0) zeros++
  }
  // No note for zeros on the diagonal only, which are common.
  if (zero !== 0 && 2 * zeros > data.length && zeros > rows!) {
    note(
      `${zeros} of the ${data.length} elements of ${shownInput(path)} are 0, which are edges of weight 0: if 0 means no edge, write ${zero > 0 ? 'inf' : '-inf'} in its place`,
    )
  }
  return { path, weights: { ...matrix, data }, nodes: rows!, edges, firstNode, dtype }
}

/** Message of the reader for an id that exceeds the range of node numbers. */
const LARGE_ID = /the node where .* must be from 0 to \d+, but it is \d{10,}:/

/** Number of nodes from which the nodes' numbers may be ids. */
const LARGE = 2 ** 20
/**
 * Ratio of the number of nodes to the number of edges above which numbers are taken for ids, such as
 * OpenStreetMap's.
 */
const MS_PER_EDGE = 32

const hasIds = ({ nodes, from }: EdgeList) => nodes > LARGE && nodes > MS_PER_EDGE * from.length

export const graphRecord = ({ path, nodes, edges, firstNode }: GraphFile): GraphRecord => ({
  path,
  nodes,
  edges,
  firstNode,
})

/** Returns a line such as "6 nodes, 9 edges  roads.gr". */
export const describeGraph = ({ path, nodes, edges }: GraphRecord) =>
  `${counted(nodes, 'node')}, ${counted(edges, 'edge')}  ${shownInput(path)}`

export const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`

/** Returns the numbers of nodes in the file. */
export const namesOf = (nodes: ArrayLike<number>, firstNode: number): number[] =>
  Array.from(nodes, (node) => node + firstNode)

/** Returns the node's name in the file if nodes have names, its number in the file otherwise. */
export const fileNode = (node: FileNode, { firstNode, keys }: GraphFile): FileNode =>
  typeof node === 'string' ? node : (keys?.[node] ?? node + firstNode)

/** Returns the names or numbers of nodes in the file. */
export const fileNodes = (nodes: ArrayLike<FileNode>, graph: GraphFile): FileNode[] =>
  Array.from(nodes, (node) => fileNode(node, graph))

/** Returns a path as text, such as "1 → 3 → 6". */
export const chainText = (names: readonly FileNode[]) => names.join(' → ')

/** Returns a cycle as text, which ends with its first node: "1 → 3 → 1". */
export const cycleText = (names: readonly FileNode[]) => chainText([...names, ...names.slice(0, 1)])

/**
 * Converts nodes given by the user to indices from 0, or to names if nodes have names.
 *
 * @throws Error if the graph has no such node.
 */
export function nodesOf(names: readonly FileNode[], { path, nodes, firstNode, keys }: GraphFile): FileNode[] {
  const known = keys && new Set(keys)
  return names.map((name) => {
    if (known || typeof name === 'string') {
      if (known?.has(`${name}`)) return `${name}`
      const meant = keys && nearestSpelling(`${name}`, keys)
      const advice = meant === undefined ? '' : `: did you mean ${meant}?`
      throw new Error(
        `there is no node ${name}: ${shownInput(path)} has ${counted(nodes, 'node')} of other names${advice}`,
      )
    }
    const node = name - firstNode
    if (node >= 0 && node < nodes) return node
    const there = nodes === 0 ? 'has no nodes' : `has the nodes ${firstNode} to ${nodes - 1 + firstNode}`
    throw new Error(`there is no node ${name}: ${shownInput(path)} ${there}`)
  })
}

/** Returns the result of `work`. Errors about improving cycles use the file's numbers or names of nodes. */
export async function namingCycles<T>(
  { path, firstNode }: Pick<GraphFile, 'path' | 'firstNode'>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof CycleError) || error.cycle.length === 0) throw error
    const { weight, batch, keys } = error
    const cycle = namesOf(error.cycle, firstNode)
    const where = batch === undefined ? shownInput(path) : `${shownInput(path)}, matrix ${batch}`
    throw new CycleError(
      `${where}: the cycle ${cycleText((keys as readonly string[] | undefined) ?? cycle)} has the weight ${weight}, and each time round makes a result better: there is no best one`,
      { cause: error, cycle, weight, batch, keys },
    )
  }
}

/** Checks that the matrix of a result file has the shape that the graph implies. */
export function assertShape(
  path: string,
  matrix: { shape: readonly number[] },
  shape: readonly number[],
): void {
  if (shapeText(matrix.shape) === shapeText(shape)) return
  throw new FileError(
    `${shownInput(path)}: expected ${shapeText(shape)} for this graph, but it is ${shapeText(matrix.shape)}`,
  )
}
