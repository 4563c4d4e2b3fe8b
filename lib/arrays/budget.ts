/** Accounts for the host memory of work on arrays, within its limit. */

export class Budget {
  used = 0
  peak = 0

  take(bytes: number): void {
    this.used += bytes
    this.peak = Math.max(this.peak, this.used)
  }

  give(bytes: number): void {
    this.used -= bytes
  }
}

/** Pool of a limited number of resources with a queue of waiting callers. */
export class Pool<Thing> {
  readonly #free: Thing[]
  readonly #waiting: ((thing: Thing) => void)[] = []

  constructor(things: readonly Thing[]) {
    this.#free = [...things]
  }

  async take(): Promise<Thing> {
    const thing = this.#free.pop()
    if (thing !== undefined) return thing
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  give(thing: Thing): void {
    const first = this.#waiting.shift()
    if (first) first(thing)
    else this.#free.push(thing)
  }
}
