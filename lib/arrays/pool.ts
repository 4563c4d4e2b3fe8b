/** Pool of a limited number of resources, which are created on first use, with a queue of waiting callers. */
export class Pool<Resource> {
  readonly #create: () => Resource | Promise<Resource>
  readonly #free: Resource[] = []
  readonly #waiting: ((resource: Resource) => void)[] = []
  /** Number of resources that haven't been created yet. */
  #missing: number

  constructor(count: number, create: () => Resource | Promise<Resource>) {
    this.#missing = count
    this.#create = create
  }

  async take(): Promise<Resource> {
    const free = this.#free.pop()
    if (free !== undefined) return free
    if (this.#missing === 0) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#missing--
    return this.#create()
  }

  give(resource: Resource): void {
    const first = this.#waiting.shift()
    if (first) first(resource)
    else this.#free.push(resource)
  }
}
