/** Answers to questions for paths: from all pairs, or by searches. */
import { AUTO, automaticBackend, CUDA, deviceName } from '../backend.js'
import { onImplicitDevice } from '../device/implicit.js'
import { CycleError, OptionError, OutOfMemoryError, OverflowError } from '../errors.js'
import { isFromListener } from '../listener.js'
import { rowMajorMatrix } from '../matrix.js'
import type { NativeDivision } from '../native.js'
import { dissectionBudget, searchIsCheaper } from '../placement.js'
import { runNative } from '../run-native.js'
import { type Answer, byClosure, certainCycle, closeAgain, maySayMore, placed } from './closing.js'
import type { Graph } from './keyed.js'
import { hostViewOf, namesOf, type Question, shapeOf, WORK } from './question.js'
import { excludesEmpty } from './rules.js'
import { directionOf, divide, makeRoom, rootsOf, search, treesOf } from './search.js'

/** What estimates of a question need, and who says which backend so many steps of a closure are computed on. */
function estimated({ query, weights, batch, closing }: Question) {
  const { nodes } = query
  const resident = weights.view?.memory?.session.backend ?? null
  const backend = closing.backend === AUTO && !resident ? automaticBackend() : closing.backend
  const work = {
    nodes,
    edges: weights.edges?.to.length ?? nodes * nodes,
    listed: weights.edges !== null,
    batch,
    roots: rootsOf(query),
    resident,
    backend,
  }
  const backendOf = (steps: number) => onImplicitDevice(closing, steps, async (session) => session.backend)
  return { work, backendOf }
}

/** Whether all pairs take less time than searches. */
export async function closingIsCheaper(question: Question): Promise<boolean> {
  const { work, backendOf } = estimated(question)
  return !(await searchIsCheaper(work, backendOf))
}

/** Finds what a question asks for. */
export async function answer(question: Question): Promise<Answer> {
  const { query } = question
  const { sources, targets } = query
  const some = sources !== null || targets !== null
  const { work, backendOf } = estimated(question)
  const { backend } = work
  // All pairs of a matrix are always closed: then `next` is the same on every backend, also where paths are equally good.
  const maySearch = some || work.listed
  const { method } = query
  if (method === 'search' || method === 'dissection') {
    if (backend !== CUDA) return bySearch(question)
    throw new OptionError(
      `backend 'cuda' computes the paths of all pairs by a closure, and method '${method}' runs on the CPU: leave out one of them`,
    )
  }
  if (query.limit !== undefined) {
    if (backend !== CUDA) return bySearch(question)
    throw new OptionError(
      "backend 'cuda' computes the paths of all pairs, and option limit is for searches: leave out one of them",
    )
  }
  // If a GPU or a closure was asked for, it is an error that it can't answer.
  const mustClose = backend === CUDA || method === 'closure'
  if (!mustClose && maySearch) {
    if (await searchIsCheaper(work, backendOf)) return bySearch(question)
    const budget = await dissectionBudget(work, backendOf)
    const found = budget !== null && (await bySearch(question, budget))
    if (found) return found
  }
  const isTooMuch = (error: unknown) => error instanceof OutOfMemoryError && !mustClose
  try {
    const found = await byClosure(question)
    if (found) return found
  } catch (error) {
    if (isFromListener(error)) throw error
    if (some && isTooMuch(error)) return bySearch(question)
    // What the closure says of numbers is said again of names.
    const isNameless = error instanceof OverflowError && namesOf(question) !== null
    const isOpen = some || isNameless
    const certain = isOpen ? null : error instanceof CycleError ? await certainCycle(question, error) : error
    if (certain) throw certain
    // Cycles, and sums that leave the type, may be of pairs that weren't asked for.
    if (!(error instanceof CycleError || error instanceof OverflowError)) throw error
  }
  if (maySayMore(question) && (mustClose || !some)) {
    const again = await closeAgain(question).catch((error) => {
      if (isTooMuch(error) && !isFromListener(error)) return null
      throw error
    })
    if (again) return again
  }
  if (!mustClose) return bySearch(question)
  const asked = backend === CUDA ? "backend 'cuda'" : "method 'closure'"
  throw new OptionError(
    `${asked} computes the paths of all pairs, and here a cycle of floats gains so little, or nothing, that rounding decides ` +
      `where they lead: leave ${asked.split(' ')[0]} out, and searches on the CPU find them`,
  )
}

/** Null unless dissection takes less than the milliseconds of another way, `within`, if they are given. */
async function bySearch(question: Question, within: number): Promise<Answer | null>
async function bySearch(question: Question): Promise<Answer>
async function bySearch(question: Question, within?: number): Promise<Answer | null> {
  const { query, weights, type, batched, batch, closing, borrowed } = question
  const { view, edges } = weights
  const { signal, onProgress } = closing
  const started = performance.now()
  const matrix = view && (await hostViewOf(view))
  const graphOf = (item: number): Graph => (matrix ? { matrix, item } : { edges: edges! })
  let division: NativeDivision | undefined
  if (within !== undefined) {
    // There is no room for results until it is certain that they are found here.
    const divided = await runNative({ signal, what: WORK, borrowed }, (call) =>
      divide(graphOf(0), query, type, call, within),
    )
    if (!divided) return null
    division = divided
  }
  const room = makeRoom(query, batch, type)
  const searching = performance.now()
  let method: Answer['method'] = 'search'
  await runNative({ signal, onProgress, what: WORK, steps: batch, borrowed }, async (call) => {
    for (let item = 0; item < batch; item++) {
      const results = { ...room, item: batched ? item : undefined }
      method = await search(graphOf(item), { ...query, division }, results, call)
    }
  })
  const kernelMs = performance.now() - searching
  const next = room.next && rowMajorMatrix(room.next, shapeOf(question))
  return {
    ...(await placed(question, rowMajorMatrix(room.distances, shapeOf(question)), next)),
    ways: next && {
      forward: directionOf(query) === 'forward',
      every: !query.sources && !query.targets,
      none: excludesEmpty(query.rules, query.limit),
      trees: (item) => treesOf(query, room, item)!,
    },
    method,
    backend: 'cpu',
    device: deviceName(-1),
    timing: { totalMs: performance.now() - started, kernelMs },
  }
}
