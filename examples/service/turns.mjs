/** Limits the number of concurrent tasks. Further tasks are queued in the order of their calls. */
export class Turns {
  #free
  #queue = []

  constructor(count) {
    this.count = count
    this.#free = count
  }

  get running() {
    return this.count - this.#free
  }

  get waiting() {
    return this.#queue.length
  }

  /** Runs `work` when the limit allows it, and returns its result. An aborted `signal` removes it from the queue. */
  async run(work, signal) {
    signal.throwIfAborted()
    if (this.#free > 0) this.#free--
    else await this.#wait(signal)
    try {
      return await work()
    } finally {
      const next = this.#queue.shift()
      if (next) next()
      else this.#free++
    }
  }

  #wait(signal) {
    return new Promise((resolve, reject) => {
      const start = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = () => {
        this.#queue.splice(this.#queue.indexOf(start), 1)
        reject(signal.reason)
      }
      this.#queue.push(start)
      signal.addEventListener('abort', leave)
    })
  }
}
