/** Where in a result what belongs to nodes is. */
import { show } from '../describe.js'
import { ValueError } from '../errors.js'
import { numberOfNode } from '../graph-core/edges.js'
import { type NodeNames, nodeText } from '../graph-core/names.js'
import type { Query } from './search.js'

/** Where the distance between two nodes is. */
interface Place {
  /** The numbers of the nodes. */
  readonly source: number
  readonly target: number
  readonly row: number
  readonly col: number
  readonly item: number
}

/** Finds the rows and columns of nodes. It keeps no more of the question than it needs. */
export class Places {
  readonly nodes: number
  readonly names: NodeNames | null
  readonly #batch: number
  readonly #sources: Int32Array | null
  readonly #targets: Int32Array | null
  /** The first place of each node among the sources, and among the targets, once they are asked for. */
  #rows: Map<number, number> | undefined
  #cols: Map<number, number> | undefined

  constructor({ nodes, sources, targets }: Query, batch: number, names: NodeNames | null) {
    this.nodes = nodes
    this.names = names
    this.#batch = batch
    this.#sources = sources
    this.#targets = targets
  }

  /** The row of a source. */
  rowOf(from: unknown): number {
    return this.#rowOf(numberOfNode(from, this, 'from'))
  }

  of(from: unknown, to: unknown, item = 0): Place {
    const [source, target] = [numberOfNode(from, this, 'from'), numberOfNode(to, this, 'to')]
    const batch = this.#batch
    if (this.#targets) this.#cols ??= placesOf(this.#targets)
    const row = this.#rowOf(source)
    const col = this.#among(target, this.#cols, 'to', 'targets')
    if (!(Number.isInteger(item) && item >= 0 && item < batch)) {
      throw new ValueError(
        `batch must be the index of a matrix, an integer from 0 to ${batch - 1}, but it is ${show(item)}`,
      )
    }
    return { source, target, row, col, item }
  }

  #rowOf(source: number): number {
    if (this.#sources) this.#rows ??= placesOf(this.#sources)
    return this.#among(source, this.#rows, 'from', 'sources')
  }

  #among(node: number, places: Map<number, number> | undefined, name: string, asked: string): number {
    const place = places ? places.get(node) : node
    if (place !== undefined) return place
    throw new ValueError(
      `${name} is ${nodeText(node, this.names)}, which is not among the ${asked} that were asked for`,
    )
  }
}

function placesOf(nodes: Int32Array): Map<number, number> {
  const map = new Map<number, number>()
  for (let at = nodes.length - 1; at >= 0; at--) map.set(nodes[at]!, at)
  return map
}
