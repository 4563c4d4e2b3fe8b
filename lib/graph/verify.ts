/** Verifies results of path functions. */

import { signal } from '../abort.js'
import { typeName } from '../describe.js'
import type { DeviceMatrix } from '../device/device.js'
import { INT32, typeNameOf } from '../elements.js'
import { DTypeError } from '../errors.js'
import type { NodeNumbers } from '../graph-core/edges.js'
import type { NodeNames } from '../graph-core/names.js'
import { inSlices } from '../graph-core/slices.js'
import type { MatrixLike } from '../matrix.js'
import { assertObject, choice, Options, type OptionsOf, readChoice } from '../options.js'
import type { ElementArray } from '../storage.js'
import { assertShape, type HostView, readView } from '../view.js'
import type { AbortOptions } from './options.js'
import type { AnyWeights } from './paths.js'
import { type PathReader, Proof } from './proof.js'
import { answering, graphsOf, materialize, type PathQuery, readQuery, sizesOf } from './query.js'
import { type PathSemiring, pathSemirings } from './rules.js'

/** Result of a path function, or the fields of it that {@link verifyPaths} reads. */
export interface Verifiable {
  /** Distances to verify: a row for each source, a column for each target. */
  readonly distances: MatrixLike<ElementArray> | DeviceMatrix<ElementArray>
  /** Node after the source on each path; verified if it is present. */
  readonly next?: MatrixLike<Int32Array> | DeviceMatrix<Int32Array> | undefined
  /** The semiring that paths are compared in. */
  readonly semiring?: PathSemiring | undefined
  /** Nodes of the rows; all nodes if null or omitted. */
  readonly sources?: NodeNumbers | null | undefined
  /** Nodes of the columns; all nodes if null or omitted. */
  readonly targets?: NodeNumbers | null | undefined
  /** Returns the nodes of a path. Used to verify paths that searches found. */
  readonly path?: // biome-ignore lint/suspicious/noExplicitAny: nodes are numbers, or whatever the user names them by.
  ((from: any, to: any, batch?: number) => unknown[] | null | Promise<unknown[] | null>) | undefined
}

/** The options of {@link verifyPaths}. `undefined` means the default. */
export interface VerifyOptions extends AbortOptions {
  /** Semiring of the paths; the semiring of the result by default. */
  semiring?: PathSemiring | undefined
}

const verifyOptions = new Options({
  semiring: choice(pathSemirings, undefined),
  signal,
} satisfies OptionsOf<VerifyOptions>)

/** Numbers of verified values. */
export type Verified = {
  /** Number of verified distances. */
  readonly distances: number
  /** Number of pairs whose paths were verified; null if the result has none. */
  readonly paths: number | null
}

/**
 * Verifies a result of a path function: no edge improves a distance, each distance is the length of some
 * path, and, with `next`, every path has the stated length. Over floats equal values may differ by one
 * rounding per node. The time is proportional to sources times edges, plus the number of pairs.
 *
 * Distances that `overflow: 'saturate'` or 'wrap' has changed belong to no path, and fail the verification.
 *
 * @param graph - the graph of the result.
 * @param result - the result to verify; for all pairs `{ distances }` or `{ distances, next }` suffices.
 * @throws Rejects with ArgumentError (ERR_MPMML_VALUE) whose message names the wrong value; with
 * ERR_MPMML_SHAPE, ERR_MPMML_DTYPE or ERR_MPMML_OPTION for arguments that don't fit; and with AbortedError.
 * @example
 * const graph = { nodes: 3, from: [0, 1, 0], to: [1, 2, 2], weight: [4, -1, 9] }
 * const { distances, paths } = await verifyPaths(graph, await shortestPaths(graph, { paths: true }))
 * console.log(distances, paths) // 9 9
 */
export async function verifyPaths(
  graph: AnyWeights,
  result: Verifiable,
  options?: VerifyOptions,
): Promise<Verified> {
  assertObject(result, 'result', 'the result of a path function, or { distances }', ['distances'])
  const { signal: its, semiring: wished = result.semiring } = verifyOptions.read(options)
  const { sources, targets } = result
  const semiring = pathSemirings[readChoice(pathSemirings, wished, 'semiring')]!
  const requested = { sources: sources ?? undefined, targets: targets ?? undefined, signal: its }
  const question = await readQuery(semiring, graph, requested, true)
  return answering(question, () => verify(question, result))
}

async function verify(question: PathQuery, { distances, next, path }: Verifiable): Promise<Verified> {
  if (path !== undefined && typeof path !== 'function')
    throw new DTypeError(`path of the result must be a function, but it is ${typeName(path)}`)
  const { query, batch, closing } = question
  const values = await readResult(distances, 'distances', question.type, question)
  const nodes = next === undefined ? null : await readResult(next, 'next', INT32, question)
  const graphOf = await graphsOf(question)
  const all = query.sources === null && query.targets === null
  for (let item = 0; item < batch; item++) {
    const proof = new Proof(graphOf(item), query, values, item)
    await inSlices(proof.distances(), closing.signal, WORK)
    if (nodes && all) await inSlices(proof.nextNodes(nodes), closing.signal, WORK)
    else if (nodes && path) {
      const read = inNumbers(question.names, (from, to) => path(from, to, item))
      await inSlices(proof.paths(nodes, read), closing.signal, WORK)
    }
  }
  const pairs = values.batch * values.rows * values.cols
  return { distances: pairs, paths: nodes && (all || path) ? pairs : null }
}

const WORK = 'the verification of paths'

async function readResult(
  value: unknown,
  name: string,
  type: number,
  question: PathQuery,
): Promise<HostView> {
  const given = readView(value, name, 'result')
  question.borrowed.view(given, name)
  if (given.type !== type) {
    throw new DTypeError(`${name} must be of ${typeNameOf(type)}, but it is of ${typeNameOf(given.type)}`)
  }
  const [batch, rows, cols] = sizesOf(question)
  assertShape(given, name, 'the answer', { batched: question.batched, batch, rows, cols })
  return materialize(given)
}

/** Returns a reader of paths by node indices. */
function inNumbers(
  names: NodeNames | null,
  path: (from: unknown, to: unknown) => unknown[] | null | Promise<unknown[] | null>,
): PathReader {
  if (!names) return path as PathReader
  return async (from, to) => {
    const found = await path(names.keys[from], names.keys[to])
    return found === null ? null : found.map((key) => names.numberOf(key, 'a node of the path'))
  }
}
