/** Finds an improving cycle on the host. */
import { type ImprovingCycle, leastOf, rotated } from '../graph-core/cycles.js'
import { PER_SLICE, type Steps } from '../graph-core/slices.js'
import type { Order } from '../semiring-order.js'
import type { OperandArray } from '../storage.js'

/** Weights of edges between nodes. */
export interface WeightsOnHost {
  readonly data: OperandArray
  /** The index of the first element. */
  readonly offset: number
  readonly rowStride: number
  readonly colStride: number
  /** Value that represents no edge: the zero of the semiring. */
  readonly zero: number
}

/**
 * Finds the best cycle whose last node is `last`, by the Bellman-Ford algorithm with parents, from `last`
 * over the nodes before it. By the order of Floyd-Warshall pivots no cycle of nodes before `last` improves
 * paths, but one with `last` does.
 *
 * Sums of int32 are exact. Sums of floats are rounded in another order than in the closure. So a cycle that
 * improves paths in the closure only by rounding may not improve them here.
 */
export function* findCycle(
  { data, offset, rowStride, colStride, zero }: WeightsOnHost,
  last: number,
  { one, maximizes, extend, isBetter }: Order,
): Steps<Pick<ImprovingCycle, 'nodes' | 'weight'>> {
  const weight = (from: number, to: number) => data[offset + from * rowStride + to * colStride]!
  const cycleOf = (cycle: number[]) => {
    // The weight of floats is rounded in this order of edges.
    const nodes = rotated(cycle, leastOf(cycle))
    const extended = (sum: number, from: number, k: number) =>
      extend(sum, weight(from, nodes[(k + 1) % nodes.length]!))
    return { nodes, weight: nodes.reduce(extended, one) }
  }
  // An infinity instead of the semiring's zero, because exact sums of int32 weights may be worse than the
  // zero.
  const worst = maximizes ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  const best = new Float64Array(last).fill(worst)
  const parent = new Int32Array(last).fill(-1)
  /** Number of edges of the walk that the parents describe. */
  const edges = new Int32Array(last)
  const isQueued = new Uint8Array(last)
  let queue: number[] = []
  for (let node = 0; node < last; node++) {
    const first = weight(last, node)
    if (first === zero) continue
    best[node] = first
    parent[node] = last
    edges[node] = 1
    isQueued[node] = 1
    queue.push(node)
  }
  let read = 0
  while (queue.length > 0) {
    const next: number[] = []
    for (const from of queue) {
      isQueued[from] = 0
      const value = best[from]!
      const row = offset + from * rowStride
      for (let to = 0; to < last; to++) {
        if (++read % PER_SLICE === 0) yield
        const edge = data[row + to * colStride]!
        if (edge === zero || to === from) continue
        const sum = extend(value, edge)
        if (!isBetter(sum, best[to]!)) continue
        best[to] = sum
        parent[to] = from
        edges[to] = edges[from]! + 1
        // By rounding, parents may form a cycle. The cycle improves paths, so it shows as a path with more
        // edges than nodes.
        if (edges[to]! > last) return cycleOf(walkTo(to, last, parent))
        if (isQueued[to]) continue
        isQueued[to] = 1
        next.push(to)
      }
    }
    queue = next
  }
  let found = [last]
  const loop = weight(last, last)
  let gain = loop === zero ? worst : loop
  for (let node = 0; node < last; node++) {
    const back = weight(node, last)
    if (parent[node] === -1 || back === zero) continue
    const sum = extend(best[node]!, back)
    if (!isBetter(sum, gain)) continue
    gain = sum
    found = walkTo(node, last, parent)
  }
  return cycleOf(found)
}

/** Returns the nodes from `root` to `node` by parents; only the nodes of a cycle if the parents form one. */
function walkTo(node: number, root: number, parent: Int32Array): number[] {
  const path: number[] = []
  const positions = new Map<number, number>()
  for (let at = node; at !== root; at = parent[at]!) {
    const position = positions.get(at)
    if (position !== undefined) return path.slice(position).reverse()
    positions.set(at, path.length)
    path.push(at)
  }
  return [root, ...path.reverse()]
}
