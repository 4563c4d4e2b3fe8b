/** Finding a cycle that gains, on the host. */
import type { OperandArray } from '../storage.js'
import type { Order } from './orders.js'


/** A cycle: its nodes in order, and what ⊗ makes of its weights. */
export interface Cycle {
  readonly cycle: number[]
  readonly weight: number
}

/** Weights of edges between nodes. */
export interface WeightsOnHost {
  readonly data: OperandArray
  /** The index of the first element. */
  readonly offset: number
  readonly rowStride: number
  readonly colStride: number
  /** What stands for no edge. */
  readonly zero: number
}

/** The event loop gets its turn after so many elements, which take some milliseconds. */
const ELEMENTS_AT_ONCE = 4_000_000

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/**
 * The best cycle of which `last` is the last node. No cycle of nodes before `last` gains, but one with it does: so Floyd and
 * Warshall's order of pivots says. Bellman and Ford's way with parents, from `last` over the nodes before it.
 *
 * Sums of int32 are exact. Over floats sums are rounded in another order than a closure rounds them, so the best cycle may
 * not gain here if it gains there by rounding.
 */
export async function findCycle(
  { data, offset, rowStride, colStride, zero }: WeightsOnHost,
  last: number,
  { one, extend, isBetter }: Order,
): Promise<Cycle> {
  const weight = (from: number, to: number) => data[offset + from * rowStride + to * colStride]!
  const best = new Float64Array(last).fill(zero)
  const parent = new Int32Array(last).fill(-1)
  const edges = new Int32Array(last)
  const queued = new Uint8Array(last)
  let queue: number[] = []
  let read = 0

  /** The nodes from `last` to `node` by parents; only a cycle of parents if there is one. */
  const wayTo = (node: number): number[] => {
    const way: number[] = []
    const place = new Map<number, number>()
    for (let at = node; at !== last; at = parent[at]!) {
      const seen = place.get(at)
      if (seen !== undefined) return way.slice(seen).reverse()
      place.set(at, way.length)
      way.push(at)
    }
    return [last, ...way.reverse()]
  }
  const cycleOf = (cycle: number[]): Cycle => ({
    cycle,
    weight: cycle.reduce((sum, from, k) => extend(sum, weight(from, cycle[(k + 1) % cycle.length]!)), one),
  })

  for (let node = 0; node < last; node++) {
    const first = weight(last, node)
    if (first === zero) continue
    best[node] = first
    parent[node] = last
    edges[node] = 1
    queued[node] = 1
    queue.push(node)
  }
  while (queue.length > 0) {
    const next: number[] = []
    for (const from of queue) {
      queued[from] = 0
      const value = best[from]!
      read += last
      if (read > ELEMENTS_AT_ONCE) {
        read = 0
        await turn()
      }
      const row = offset + from * rowStride
      for (let to = 0; to < last; to++) {
        const step = data[row + to * colStride]!
        if (step === zero) continue
        const sum = extend(value, step)
        if (to === from || !isBetter(sum, best[to]!)) continue
        best[to] = sum
        parent[to] = from
        edges[to] = edges[from]! + 1
        // Only a cycle that gains makes such a way, by rounding.
        if (edges[to]! > last) return cycleOf(wayTo(to))
        if (queued[to]) continue
        queued[to] = 1
        next.push(to)
      }
    }
    queue = next
  }
  let found: number[] = [last]
  let gain = weight(last, last)
  for (let node = 0; node < last; node++) {
    const back = weight(node, last)
    if (best[node] === zero || back === zero) continue
    const sum = extend(best[node]!, back)
    if (gain !== zero && !isBetter(sum, gain)) continue
    gain = sum
    found = wayTo(node)
  }
  return cycleOf(found)
}
