/** Generates sparse networks without parallel edges. Equal seeds give equal networks. */
import { Draw } from '../../random.js'

export interface Network {
  nodes: number
  from: Int32Array
  to: Int32Array
  /** Weights are integers of at least 1, so that distances are exact in float64 too. */
  weight: Int32Array
}

const HEAVIEST = 1000

class Edges {
  readonly #from: Int32Array
  readonly #to: Int32Array
  readonly #weight: Int32Array
  #count = 0

  /** @param most - limit of the number of edges. */
  constructor(
    private readonly nodes: number,
    most: number,
  ) {
    this.#from = new Int32Array(most)
    this.#to = new Int32Array(most)
    this.#weight = new Int32Array(most)
  }

  add(from: number, to: number, weight: number): void {
    const e = this.#count++
    this.#from[e] = from
    this.#to[e] = to
    this.#weight[e] = weight
  }

  /** Adds an edge in each direction. */
  addBoth(one: number, other: number, weight: number): void {
    this.add(one, other, weight)
    this.add(other, one, weight)
  }

  end(): Network {
    const used = (values: Int32Array) => values.subarray(0, this.#count)
    return { nodes: this.nodes, from: used(this.#from), to: used(this.#to), weight: used(this.#weight) }
  }
}

/** Returns a square grid with about `nodes` nodes and the edges that `isEdge` selects. */
function latticeOf(
  nodes: number,
  seed: number,
  isEdge: (row: number, col: number, down: boolean) => boolean,
): Network {
  const draw = new Draw(seed)
  const side = Math.round(Math.sqrt(nodes))
  const edges = new Edges(side * side, 4 * side * side)
  for (let row = 0; row < side; row++) {
    for (let col = 0; col < side; col++) {
      const node = row * side + col
      if (col + 1 < side && isEdge(row, col, false)) edges.addBoth(node, node + 1, draw.integer(1, HEAVIEST))
      if (row + 1 < side && isEdge(row, col, true))
        edges.addBoth(node, node + side, draw.integer(1, HEAVIEST))
    }
  }
  return edges.end()
}

/** Returns a square grid, in which inner nodes have degree 4. */
export const grid = (nodes: number): Network => latticeOf(nodes, 1, () => true)

/** Returns a hexagonal grid, laid out like a brick wall, in which inner nodes have degree 3. */
export const hexagonal = (nodes: number): Network =>
  latticeOf(nodes, 2, (row, col, down) => !down || (row + col) % 2 === 0)

/**
 * Returns a grid without a quarter of its edges. It is planar, of average degree 3, with dead ends and
 * detours.
 */
export function roads(nodes: number): Network {
  const draw = new Draw(3)
  return latticeOf(nodes, 4, () => draw.chance(0.75))
}

/**
 * Returns points in a square with edges between near points, half of which are omitted. Weights are lengths
 * of edges.
 */
export function geometric(nodes: number): Network {
  const draw = new Draw(5)
  const x = Float64Array.from({ length: nodes }, () => draw.share())
  const y = Float64Array.from({ length: nodes }, () => draw.share())
  // Nodes have eight points within this radius on average, and half of the edges remain.
  const radius = Math.sqrt(8 / (Math.PI * nodes))
  const cells = Math.max(1, Math.floor(1 / radius))
  const cellOf = (at: number) => Math.min(cells - 1, Math.floor(at * cells))
  const inCell: number[][] = Array.from({ length: cells * cells }, () => [])
  for (let node = 0; node < nodes; node++) inCell[cellOf(y[node]!) * cells + cellOf(x[node]!)]!.push(node)
  const edges = new Edges(nodes, 16 * nodes)
  for (let node = 0; node < nodes; node++) {
    const [row, col] = [cellOf(y[node]!), cellOf(x[node]!)]
    for (let r = Math.max(0, row - 1); r <= Math.min(cells - 1, row + 1); r++) {
      for (let c = Math.max(0, col - 1); c <= Math.min(cells - 1, col + 1); c++) {
        for (const other of inCell[r * cells + c]!) {
          if (other <= node) continue
          const distance = Math.hypot(x[node]! - x[other]!, y[node]! - y[other]!)
          if (distance > radius || draw.chance(0.5)) continue
          edges.addBoth(node, other, 1 + Math.round((HEAVIEST * distance) / radius))
        }
      }
    }
  }
  return edges.end()
}

/**
 * Returns a scale-free network by preferential attachment. Each new node is connected with three older nodes,
 * with probabilities proportional to their degrees.
 *
 * @see A.-L. Barabási, R. Albert, Emergence of scaling in random networks, Science 286 (1999)
 */
function scaleFree(nodes: number): Network {
  const draw = new Draw(6)
  const each = 3
  const edges = new Edges(nodes, 2 * each * nodes)
  const ends: number[] = []
  for (let node = 1; node < nodes; node++) {
    const chosen = new Set<number>()
    while (chosen.size < Math.min(each, node)) {
      chosen.add(ends.length === 0 || draw.chance(0.01) ? draw.integer(0, node - 1) : draw.pick(ends))
    }
    for (const other of chosen) {
      edges.addBoth(node, other, draw.integer(1, HEAVIEST))
      ends.push(node, other)
    }
  }
  return edges.end()
}

/**
 * Returns an acyclic network of layers of 100 nodes, with edges from each node to some nodes of the next
 * layer.
 */
export function layered(nodes: number): Network {
  const draw = new Draw(7)
  const width = Math.min(100, nodes)
  const each = Math.min(3, width)
  const edges = new Edges(nodes, each * nodes)
  for (let node = 0; node < nodes; node++) {
    const next = (Math.floor(node / width) + 1) * width
    const there = Math.min(width, nodes - next)
    const chosen = new Set<number>()
    while (chosen.size < Math.min(each, there)) chosen.add(next + draw.integer(0, there - 1))
    for (const other of chosen) edges.add(node, other, draw.integer(1, HEAVIEST))
  }
  return edges.end()
}

/** Returns a network with four edges from each node to random nodes. */
export function random(nodes: number): Network {
  const draw = new Draw(8)
  const each = Math.min(4, nodes - 1)
  const edges = new Edges(nodes, each * nodes)
  for (let node = 0; node < nodes; node++) {
    const chosen = new Set<number>()
    while (chosen.size < each) {
      const other = draw.integer(0, nodes - 1)
      if (other !== node) chosen.add(other)
    }
    for (const other of chosen) edges.add(node, other, draw.integer(1, HEAVIEST))
  }
  return edges.end()
}

export const networks = {
  grid,
  hexagonal,
  geometric,
  'scale-free': scaleFree,
  layered,
} satisfies Record<string, (nodes: number) => Network>
