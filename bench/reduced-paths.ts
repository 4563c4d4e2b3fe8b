/** Computes, writes and describes numbers to which best paths are reduced. */
import { type NearestPaths, type ReducedPaths, type ReduceOptions, reducePaths } from '../lib/graph.js'
import { type DataType, matrix, type Semiring } from '../lib/index.js'
import {
  describeGraph,
  type FileNode,
  fileNode,
  type GraphFile,
  type GraphRecord,
  graphRecord,
} from './graph.js'
import { writeMatrixFile } from './matrix-file.js'
import { duration, labelled, shapeText, table } from './output.js'
import {
  assertPrintable,
  finiteOf,
  kinds,
  type PathsRequest,
  requestedNodes,
  searched,
  valueText,
} from './paths.js'

export interface ReduceRequest extends PathsRequest {
  reduce: NonNullable<ReduceOptions['reduce']>
}

/** A number, or a string for numbers that JSON lacks; null if no path exists. */
type Value = ReturnType<typeof finiteOf>

/** Value of a node. */
interface NodeRecord {
  node: FileNode
  value: Value
  /** Number of targets that the value is computed from. */
  reached: number
}

/** Nearest targets of a node. */
interface NearestRecord {
  from: FileNode
  nearest: { to: FileNode; value: Value }[]
}

/** Output of `paths --reduce --json`. */
interface ReduceRecord extends Pick<ReducedPaths, 'method' | 'device' | 'timing'> {
  graph: GraphRecord
  semiring: Semiring
  dtype: DataType
  reduce: string
  /** Output file with one row per node; null if the results are printed. */
  output: { path: string; shape: readonly number[] } | null
  next: { path: string } | null
  /** Results per node; null if they are in a file. */
  nodes: NodeRecord[] | NearestRecord[] | null
}

/** @throws errors of all steps; output files are renamed into place only after success. */
export async function reduceGraph(
  request: ReduceRequest,
  graph: GraphFile,
  signal: AbortSignal,
): Promise<ReduceRecord> {
  const { semiring, reduce, limit, method, backend, device, devices, output, next } = request
  const { sources, targets } = requestedNodes(request, graph)
  const count = (sources?.length ?? graph.nodes) * (typeof reduce === 'object' ? reduce.nearest : 1)
  if (output === undefined) assertPrintable(count, `the result has ${count} numbers`)
  const options = { semiring, reduce, limit, method, backend, device, devices, sources, targets, signal }
  const found: ReducedPaths | NearestPaths = await searched(graph, (onProgress) =>
    reducePaths(graph.weights, { ...options, onProgress } as ReduceOptions),
  )
  const isNearest = 'nodes' in found
  const values = isNearest ? found.distances : matrix(found.values.length, 1, found.values)
  if (output !== undefined) await writeMatrixFile(output, values, isNearest ? semiring : undefined, signal)
  if (next !== undefined && isNearest) await writeMatrixFile(next, found.nodes, undefined, signal)
  return {
    graph: graphRecord(graph),
    semiring,
    dtype: graph.dtype,
    reduce: typeof reduce === 'object' ? `nearest=${reduce.nearest}` : reduce,
    output: output === undefined ? null : { path: output, shape: values.shape },
    next: next === undefined ? null : { path: next },
    nodes: output === undefined ? recordsOf(graph, found, sources) : null,
    method: found.method,
    device: found.device,
    timing: found.timing,
  }
}

/** Returns the results, with nodes named as in the file. */
function recordsOf(
  graph: GraphFile,
  found: ReducedPaths | NearestPaths,
  sources: readonly FileNode[] | undefined,
): NodeRecord[] | NearestRecord[] {
  const nodes = sources ?? Array.from({ length: found.reached.length }, (_, node) => node)
  const named = (node: unknown) => fileNode(node as FileNode, graph)
  const finite = (value: number) => (Number.isNaN(value) ? null : finiteOf(value, Number.NaN))
  if (!('nodes' in found)) {
    return nodes.map((node, row) => ({
      node: named(node),
      value: finite(found.values[row]!),
      reached: found.reached[row]!,
    }))
  }
  return nodes.map((node) => ({
    from: named(node),
    nearest: found
      .of(typeof node === 'string' ? node : (graph.keys?.[node] ?? node))
      .map((near) => ({ to: named(near.node), value: finite(near.distance) })),
  }))
}

/** Returns the record as text for people. */
export function describeReduced(
  { graph, nodes, output, next, timing, ...record }: ReduceRecord,
  semiring: PathsRequest['semiring'],
): string {
  const head = labelled([
    ['graph', describeGraph(graph)],
    ['semiring', `${semiring} on ${record.dtype}`],
    ['reduced to', record.reduce],
    ['result', output ? `${shapeText(output.shape)}  ${output.path}` : undefined],
    ['nodes', next?.path],
    ['method', record.method],
    ['device', record.device],
    ['total', duration(timing.totalMs)],
  ])
  if (!nodes) return head
  const { value } = kinds[semiring]
  const rows = nodes.flatMap((node) =>
    'nearest' in node
      ? node.nearest.map((near) => [`${node.from}`, `${near.to}`, valueText(near.value)])
      : [[`${node.node}`, node.reached === 0 ? 'no path' : valueText(node.value), `${node.reached}`]],
  )
  const columns = /^nearest/.test(record.reduce) ? ['from', 'to', value] : ['node', record.reduce, 'reached']
  return `${head}\n\n${table([columns, ...rows])}`
}
