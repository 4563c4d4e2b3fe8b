/** A queue of nodes, each of which is in it at most once. */
export class NodeQueue {
  readonly #nodes: Int32Array
  readonly #queued: Uint8Array
  #size = 0
  #head = 0
  #length = 0

  constructor(nodes: number) {
    this.#nodes = new Int32Array(nodes)
    this.#queued = new Uint8Array(nodes)
  }

  /** Says how many different nodes will be added from now on. It must be empty. */
  begin(size: number): void {
    this.#size = size
    this.#head = 0
  }

  get isEmpty(): boolean {
    return this.#length === 0
  }

  add(node: number): void {
    if (this.#queued[node] === 1) return
    this.#queued[node] = 1
    const place = this.#head + this.#length++
    this.#nodes[place < this.#size ? place : place - this.#size] = node
  }

  take(): number {
    const node = this.#nodes[this.#head]!
    if (++this.#head === this.#size) this.#head = 0
    this.#length--
    this.#queued[node] = 0
    return node
  }
}
