/** What the work takes of the memory that it may take. */

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

/** Things of which there are few, and who waits for one. */
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
