/** Reads a graph, then computes, verifies, writes and describes its best paths. */

import {
  type EdgeList,
  longestPaths,
  mostReliablePaths,
  type PathFunction,
  type PathOptions,
  type PathSemiring,
  type PathsResult,
  shortestPaths,
  transitiveClosure,
  type Verified,
  verifyPaths,
  widestPaths,
} from '../lib/graph.js'
import type { BackendName } from '../lib/index.js'
import {
  ArgumentError,
  type DataType,
  type ElementArray,
  type Matrix,
  type MpmmOptions,
  zeroOf,
} from '../lib/index.js'
import {
  assertShape,
  chainText,
  describeGraph,
  type FileNode,
  fileNode,
  type GraphFile,
  type GraphFlags,
  type GraphRecord,
  graphRecord,
  namingCycles,
  nodesOf,
  readGraphFile,
} from './graph.js'
import {
  checkMatrixOutputs,
  isUntyped,
  type ReadFlags,
  readMatrixFile,
  writeMatrixFile,
} from './matrix-file.js'
import { duration, labelled, shapeText, table, withStatus } from './output.js'
import { shownInput } from './pipes.js'
import { why } from './place.js'
import { withProgress } from './progress.js'
import { describeValues, overflowOf, semiringText, summarize, type ValueSummary } from './summary.js'
import { MAX_PRINTED, type Values, valuesOf, withValues } from './values.js'
import { VerificationError } from './verify.js'

/** Path function of each semiring, and the name of the value of its paths. */
export const kinds: Record<PathSemiring, { find: PathFunction; value: string }> = {
  'min-plus': { find: shortestPaths, value: 'length' },
  'max-plus': { find: longestPaths, value: 'length' },
  'max-min': { find: widestPaths, value: 'width' },
  'max-times': { find: mostReliablePaths, value: 'reliability' },
  // transitiveClosure accepts only graphs of bytes, which readGraphFile returns for or-and.
  'or-and': { find: transitiveClosure as PathFunction, value: 'reached' },
}

export const pathSemirings = Object.keys(kinds) as PathSemiring[]

export interface PathsRequest
  extends GraphFlags,
    Pick<MpmmOptions, 'overflow' | 'backend' | 'device' | 'devices'> {
  graph: string
  /** Source nodes, named as in the file; undefined: all nodes. */
  from: FileNode[] | undefined
  to: FileNode[] | undefined
  /** Limit of path values. Paths with worse values are ignored. */
  limit?: number | undefined
  method?: PathOptions['method']
  semiring: PathSemiring
  /** Output file of the distances. */
  output: string | undefined
  /** Whether to print all distances, however many, if no output file is given. */
  all?: boolean | undefined
  /** File of the next nodes: written, or read by --check. */
  next: string | undefined
  verify: boolean
}

/** @throws Error if `count` exceeds the number of values that are printed. */
export function assertPrintable(count: number, what: string): void {
  if (count <= MAX_PRINTED) return
  throw new Error(
    `${what}, more than the ${MAX_PRINTED} that are printed: name a file with -o, or fewer nodes with --from and --to`,
  )
}

/**
 * Returns the result of `find`, with a progress line. Errors about cycles use the file's numbers or names of
 * nodes.
 */
export const searched = <T>(
  graph: GraphFile,
  find: (onProgress: (progress: { done: number }) => void) => Promise<T>,
): Promise<T> =>
  withProgress(`finding paths between ${graph.nodes} nodes`, (onProgress) =>
    namingCycles(graph, () => find(onProgress)),
  )

/** A requested pair of nodes, named as in the file. */
interface PairRecord {
  from: FileNode
  to: FileNode
  /** Value of the best path; null if no path exists. */
  value: number | 'Infinity' | '-Infinity' | null
  /** Nodes of the path if --from and --to were given; null if no path exists. */
  path?: FileNode[] | null
}

/** Output of `paths --json`. */
interface PathsRecord {
  graph: GraphRecord
  semiring: PathSemiring
  dtype: DataType
  /** Overflow policy; null if nothing can overflow. */
  overflow: string | null
  /** Summary of the distances, and their values if all are printed. */
  distances: ValueSummary & {
    path: string | null
    shape: readonly number[]
    values?: Values | undefined
    /** Names of rows and columns, if values are printed and nodes have names. */
    names?: readonly string[] | undefined
  }
  next: { path: string } | null
  /** Requested pairs; null if all pairs were requested or the distances are in a file. */
  pairs: PairRecord[] | null
  /** Algorithm that computed the paths. */
  method: PathsResult['method']
  backend: BackendName
  device: string
  timing: PathsResult['timing']
  /** Numbers of verified values; null without verification. */
  verified: Verified | null
}

/** Output of `paths --check --json`. */
interface CheckRecord {
  graph: GraphRecord
  semiring: PathSemiring
  dtype: DataType
  checked: { distances: string; next: string | null }
  verified: Verified
}

/** Returns the requested nodes in the library's numbering. */
export const requestedNodes = ({ from, to }: Pick<PathsRequest, 'from' | 'to'>, graph: GraphFile) => ({
  sources: from && nodesOf(from, graph),
  targets: to && nodesOf(to, graph),
})

/**
 * @param graph - result of {@link readGraphOf}.
 * @throws errors of all steps; output files are renamed into place only after success.
 */
export async function findPaths(
  request: PathsRequest,
  graph: GraphFile,
  signal: AbortSignal,
): Promise<PathsRecord> {
  const { semiring, overflow, backend, device, devices, limit, method, output, next } = request
  const { sources, targets } = requestedNodes(request, graph)
  const hasEnds = sources !== undefined || targets !== undefined
  const count = (sources?.length ?? graph.nodes) * (targets?.length ?? graph.nodes)
  if (hasEnds && output === undefined) assertPrintable(count, `the result has ${count} pairs`)
  const paths = request.verify || next !== undefined || targets !== undefined
  const options = {
    paths,
    sources,
    targets,
    limit,
    method,
    overflow,
    backend,
    device,
    devices,
    signal,
  } as PathOptions
  const found = await searched(graph, (onProgress) =>
    kinds[semiring].find(graph.weights as EdgeList<ElementArray>, { ...options, onProgress }),
  )
  const { distances } = found
  const verification = request.verify
    ? await withStatus('verifying', () => verified(graph, found, semiring, signal))
    : null
  if (output !== undefined) await writeMatrixFile(output, distances, semiring, signal)
  if (next !== undefined) await writeMatrixFile(next, found.next!, undefined, signal)
  const zero = zeroOf(semiring, graph.dtype)
  const values =
    hasEnds || output !== undefined ? undefined : valuesOf(distances, semiring, request.all === true)
  return {
    graph: graphRecord(graph),
    semiring,
    dtype: graph.dtype,
    overflow: overflowOf(semiring, graph.dtype, overflow),
    distances: {
      path: output ?? null,
      shape: distances.shape,
      ...summarize(distances, zero),
      values,
      names: values && graph.keys,
    },
    next: next === undefined ? null : { path: next },
    pairs: hasEnds && output === undefined ? pairsOf(graph, found, sources, targets, zero) : null,
    method: found.method,
    backend: found.backend,
    device: found.device,
    timing: found.timing,
    verified: verification,
  }
}

/** Checks that the outputs can be written, then reads the graph of a request. */
export async function readGraphOf(request: PathsRequest, signal: AbortSignal): Promise<GraphFile> {
  await checkMatrixOutputs([request.output, request.next], [request.graph])
  return read(request, signal)
}

const read = (request: PathsRequest, signal: AbortSignal) =>
  withStatus(`reading ${shownInput(request.graph)}`, () =>
    readGraphFile(request.graph, request.semiring, signal, request),
  )

function pairsOf(
  graph: GraphFile,
  found: PathsResult,
  sources: FileNode[] | undefined,
  targets: FileNode[] | undefined,
  zero: number,
): PairRecord[] {
  const all = () => graph.keys ?? Array.from({ length: graph.nodes }, (_, node) => node)
  const named = (node: FileNode) => fileNode(node, graph)
  const [rows, columns] = [sources ?? all(), targets ?? all()]
  const { data } = found.distances
  let printed = 0
  return rows.flatMap((i, row) =>
    columns.map((j, column) => {
      const value = data[row * columns.length + column]!
      const pair: PairRecord = { from: named(i), to: named(j), value: finiteOf(value, zero) }
      if (targets === undefined) return pair
      const path: FileNode[] | null = found.path(i as number, j as number)
      printed += 1 + (path?.length ?? 0)
      assertPrintable(printed, 'the paths have too many nodes')
      return { ...pair, path: path === null ? null : path.map(named) }
    }),
  )
}

/** Converts a path's value to JSON, which has no infinities. */
export function finiteOf(value: number, zero: number): PairRecord['value'] {
  if (value === zero) return null
  return Number.isFinite(value) ? value : (String(value) as 'Infinity' | '-Infinity')
}

/**
 * Verifies distances in a file, and next nodes in another file if one is given.
 *
 * @throws errors of all steps; an error with a description if values are wrong.
 */
export async function checkPaths(
  request: PathsRequest,
  distancesFile: string,
  signal: AbortSignal,
): Promise<CheckRecord> {
  const { semiring } = request
  const graph = await read(request, signal)
  const shape = [graph.nodes, graph.nodes]
  const load = async (path: string, flags: ReadFlags) => {
    const matrix = await readMatrixFile(path, flags, signal)
    assertShape(path, matrix, shape)
    return matrix
  }
  const distances = await load(distancesFile, {
    semiring,
    dtype: isUntyped(distancesFile) ? graph.dtype : undefined,
  })
  const next =
    request.next === undefined
      ? undefined
      : await load(request.next, { semiring: 'max-plus', dtype: 'int32' })
  const found = { distances, next: next as Matrix<Int32Array> | undefined }
  return {
    graph: graphRecord(graph),
    semiring,
    dtype: graph.dtype,
    checked: { distances: distancesFile, next: request.next ?? null },
    verified: await withStatus('verifying', () => verified(graph, found, semiring, signal)),
  }
}

/** @throws VerificationError with a description of the first error. */
async function verified(
  { weights, firstNode }: GraphFile,
  found: Parameters<typeof verifyPaths>[1],
  semiring: PathSemiring,
  signal: AbortSignal,
): Promise<Verified> {
  try {
    return await verifyPaths(weights as EdgeList<ElementArray>, found, { semiring, signal })
  } catch (error) {
    if (!(error instanceof ArgumentError && error.code === 'ERR_MPMML_VALUE')) throw error
    const counted = firstNode === 0 ? '' : ' (counting nodes from 0)'
    throw new VerificationError(`verification failed${counted}: ${error.message}`, { cause: error })
  }
}

/** Returns the record as text for people. */
export function describePaths(record: PathsRecord, request: PathsRequest): string {
  const { graph, distances, pairs, timing, semiring, dtype } = record
  const [first] = pairs ?? []
  const one = pairs?.length === 1 && first?.path !== undefined ? first : undefined
  const head = labelled([
    ['graph', describeGraph(graph)],
    ['semiring', semiringText(record)],
    [
      'distances',
      pairs
        ? undefined
        : `${shapeText(distances.shape)}  ${distances.path ?? '(not written; -o names a file)'}`,
    ],
    ['next', record.next ? `${shapeText(distances.shape)}  ${record.next.path}` : undefined],
    ['values', pairs ? undefined : describeValues(distances, distances.shape, semiring, dtype)],
    ['from', one ? `${one.from}` : undefined],
    ['to', one ? `${one.to}` : undefined],
    [kinds[semiring].value, one ? valueText(one.value) : undefined],
    ['path', one?.path ? chainText(one.path) : undefined],
    ['method', record.method],
    ['backend', `${record.backend}, ${record.device}: ${why(record, request)}`],
    ['kernel', timing.kernelMs > 0 ? duration(timing.kernelMs) : undefined],
    ['total', duration(timing.totalMs)],
    ['verified', record.verified ? describeVerified(record.verified) : undefined],
  ])
  if (one) return head
  if (!pairs) {
    const nameOf = (node: number) => distances.names?.[node] ?? node + graph.firstNode
    return withValues(head, distances.values, request.all === true, nameOf)
  }
  const withPaths = pairs.some(({ path }) => path !== undefined)
  const columns = ['from', 'to', kinds[semiring].value, ...(withPaths ? ['path'] : [])]
  const rows = pairs.map(({ from, to, value, path }) => [
    `${from}`,
    `${to}`,
    valueText(value),
    ...(withPaths ? [path ? chainText(path) : ''] : []),
  ])
  return `${head}\n\n${table([columns, ...rows])}`
}

export const valueText = (value: PairRecord['value']) =>
  value === null ? 'no path' : `${value}`.replace('-', '−').replace('Infinity', '∞')

function describeVerified({ distances, paths }: Verified): string {
  const walked = paths === null ? '' : `, and ${paths} paths have the lengths that are stated`
  return `no edge makes any of ${distances} distances better${walked}`
}

export function describeCheck({ graph, checked, semiring, dtype, verified }: CheckRecord): string {
  return labelled([
    ['graph', describeGraph(graph)],
    ['semiring', `${semiring} on ${dtype}`],
    ['distances', checked.distances],
    ['next', checked.next ?? undefined],
    ['verified', describeVerified(verified)],
  ])
}
