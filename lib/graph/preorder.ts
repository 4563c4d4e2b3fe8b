/** The tree of a search as a list in preorder: all nodes that hang below a node, directly or not, follow it. */

/** Not in the tree. */
const OUT = -1

export class Preorder {
  readonly #after: Int32Array
  readonly #previous: Int32Array
  readonly #children: Int32Array
  /** All others hang below it. It has the number after that of the last node. */
  readonly top: number
  /** How many nodes {@link endOf} has looked at. */
  looked = 0

  constructor(nodes: number) {
    this.top = nodes
    this.#after = new Int32Array(nodes + 1)
    this.#previous = new Int32Array(nodes + 1)
    this.#children = new Int32Array(nodes + 1)
  }

  /** Begins a tree that has only the top. Nodes that may have been in the tree before must be left out one by one. */
  begin(): void {
    const { top } = this
    this.#after[top] = this.#previous[top] = top
    this.#children[top] = 0
  }

  leaveOut(node: number): void {
    this.#children[node] = OUT
  }

  has(node: number): boolean {
    return this.#children[node] !== OUT
  }

  hang(node: number, parent: number): void {
    const next = this.#after[parent]!
    this.#after[parent] = node
    this.#previous[node] = parent
    this.#after[node] = next
    this.#previous[next] = node
    this.#children[parent]!++
    this.#children[node] = 0
  }

  /** The node that comes after all that hang below `node`; undefined if `other` is `node` or one of these. */
  endOf(node: number, other: number): number | undefined {
    let next = node
    // Places in the list that nodes below still have to take.
    for (let open = 1; open > 0; next = this.#after[next]!) {
      if (next === other) return undefined
      open += this.#children[next]! - 1
      this.looked++
    }
    return next
  }

  /** Takes out a child of `parent` and all that hang below it, after which `end` comes. */
  takeOut(node: number, parent: number, end: number): void {
    const last = this.#previous[node]!
    this.#children[parent]!--
    for (let below = node; below !== end; below = this.#after[below]!) this.#children[below] = OUT
    this.#after[last] = end
    this.#previous[end] = last
  }
}
