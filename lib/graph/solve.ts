/** Answers path queries by all pairs or by searches. */
import { AUTO, automaticBackend, CPU, deviceName } from '../backend.js'
import { cheapestPaths } from '../backend-selection.js'
import { CycleError, OptionError, OutOfMemoryError, OverflowError } from '../errors.js'
import { isFromListener } from '../listener.js'
import { rowMajorMatrix } from '../matrix.js'
import { addon, type NativeDissection } from '../native.js'
import { runNative } from '../run-native.js'
import {
  canRetryInFloat64,
  certainCycle,
  type PathResult,
  solveByClosure,
  solveInFloat64,
} from './all-pairs.js'
import type { FoundBy } from './options.js'
import { graphsOf, type PathQuery, placed, shapeOf, WORK } from './query.js'
import { divide, forestOf, makeRoom, rootsOf, search } from './search.js'

/** Returns whether a choice of the addon's list names a GPU. */
const isGpu = (backend: number) => backend !== AUTO && backend !== CPU

/**
 * Method of a query: searches, all pairs, or nested dissection if it takes fewer milliseconds than all pairs.
 */
interface Choice {
  readonly how: 'search' | 'closure' | number
  /** Whether options, or the environment, demand all pairs. */
  readonly must: boolean
}

/**
 * Chooses the method of a query.
 *
 * @param allowed - the choice if neither options nor the environment decide; 'either' selects the faster one.
 * @throws ERR_MPMML_OPTION if options contradict each other.
 */
export function choose(
  { query, weights, batch, closing }: PathQuery,
  allowed: 'search' | 'closure' | 'either',
): Choice {
  const { nodes, method, limit } = query
  const isOpen = closing.backend === AUTO && !weights.view?.memory
  const backend = isOpen ? automaticBackend() : closing.backend
  if (isGpu(backend)) {
    const isSearch = method === 'search' || method === 'dissection'
    if (!isSearch && limit === undefined) return { how: 'closure', must: true }
    const reason = isSearch
      ? ` by a closure, and method '${method}' runs on the CPU`
      : ', and option limit is for searches'
    const name = addon.backendChoices[backend]
    throw new OptionError(`backend '${name}' computes the paths of all pairs${reason}: leave out one of them`)
  }
  if (method === 'closure') return { how: 'closure', must: true }
  if (method !== 'auto' || limit !== undefined) return { how: 'search', must: false }
  if (allowed !== 'either') return { how: allowed, must: false }
  const how = cheapestPaths({
    nodes,
    edges: weights.edges?.to.length ?? nodes * nodes,
    listed: weights.edges !== null,
    batch,
    roots: rootsOf(query),
    resident: weights.view?.memory?.session.backend ?? null,
    placement: closing,
  })
  return { how, must: false }
}

/** Solves a query. */
export async function answer(question: PathQuery): Promise<PathResult> {
  const { query, weights, closing } = question
  const some = query.sources !== null || query.targets !== null
  // All pairs of a matrix are always computed by a closure: then `next` doesn't depend on the backend, even
  // for paths of equal value.
  const { how, must } = choose(question, some || weights.edges ? 'either' : 'closure')
  if (how === 'search') return bySearch(question)
  const divided = typeof how === 'number' && (await bySearch(question, how))
  if (divided) return divided
  const isTooMuch = (error: unknown) => error instanceof OutOfMemoryError && !must
  try {
    const found = await solveByClosure(question)
    if (found) return found
  } catch (error) {
    if (isFromListener(error)) throw error
    if (some && isTooMuch(error)) return bySearch(question)
    // The error of a closure is created again with the names of nodes.
    const isNameless = error instanceof OverflowError && question.names !== null
    const certain =
      some || isNameless ? null : error instanceof CycleError ? await certainCycle(question, error) : error
    if (certain) throw certain
    // Cycles and overflows may concern pairs that weren't requested.
    if (!(error instanceof CycleError || error instanceof OverflowError)) throw error
  }
  if (canRetryInFloat64(question) && (must || !some)) {
    const again = await solveInFloat64(question).catch((error) => {
      if (isTooMuch(error) && !isFromListener(error)) return null
      throw error
    })
    if (again) return again
  }
  if (!must) return bySearch(question)
  const backend = isGpu(closing.backend) ? closing.backend : automaticBackend()
  const requested =
    query.method === 'closure' && !isGpu(closing.backend)
      ? "method 'closure'"
      : `backend '${addon.backendChoices[backend]}'`
  throw new OptionError(
    `${requested} computes the paths of all pairs, and here a cycle of floats gains so little, or nothing, that rounding decides ` +
      `where they lead: leave ${requested.split(' ')[0]} out, and searches on the CPU find them`,
  )
}

/**
 * Answers a query by searches or dissection. Returns null unless dissection takes less than `within`
 * milliseconds, the duration of another method, if it is given.
 */
async function bySearch(question: PathQuery, within: number): Promise<PathResult | null>
async function bySearch(question: PathQuery): Promise<PathResult>
async function bySearch(question: PathQuery, within?: number): Promise<PathResult | null> {
  const { query, type, batched, batch, closing, borrowed } = question
  const { signal, onProgress } = closing
  const started = performance.now()
  const graphOf = await graphsOf(question)
  let division: NativeDissection | undefined
  if (within !== undefined) {
    // Arrays for results are allocated only once it is certain that this method finds them.
    const divided = await runNative({ signal, what: WORK, borrowed }, (call) =>
      divide(graphOf(0), query, type, call, within),
    )
    if (!divided) return null
    division = divided
  }
  const room = makeRoom(query, batch, type)
  const searching = performance.now()
  let method: FoundBy = 'search'
  await runNative({ signal, onProgress, what: WORK, steps: batch, borrowed }, async (call) => {
    for (let item = 0; item < batch; item++) {
      method = await search(graphOf(item), { ...query, division }, room, call, batched ? item : undefined)
    }
  })
  const kernelMs = performance.now() - searching
  const shape = shapeOf(question)
  const distances = rowMajorMatrix(room.distances, shape)
  const next = room.next && rowMajorMatrix(room.next, shape)
  return {
    ...(await placed(question, distances, next)),
    forest: next && forestOf(query, room),
    method,
    backend: 'cpu',
    device: deviceName(-1),
    timing: { totalMs: performance.now() - started, kernelMs },
  }
}
