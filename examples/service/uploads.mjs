/**
 * The bodies that are being received. They hold no place among the products that run and wait, so clients that send slowly, or
 * nothing, don't keep others out: if there are too many bodies at once, the slowest is given up.
 */
import { Refusal } from './refusals.mjs'

/** Bodies younger than this many milliseconds are not given up for another one. */
const YOUNG = 1000

/** What a client that sends still is given at shutdown, in milliseconds. */
const GRACE = 5000

export class Uploads {
  #most
  #milliseconds
  /** By their requests: when each began, and how much its connection had brought by then. */
  #all = new Map()

  constructor(most, seconds) {
    this.#most = most
    this.#milliseconds = 1000 * seconds
  }

  get count() {
    return this.#all.size
  }

  has(request) {
    return this.#all.has(request)
  }

  /** A body begins. Throws Refusal if there are too many, all of which have begun lately. */
  begin(request) {
    if (this.#all.size >= this.#most) {
      const slowest = this.#slowest()
      if (!slowest) {
        throw new Refusal(503, 'BUSY', `${this.#all.size} bodies are being received already: try again later`)
      }
      this.#giveUp(slowest)
    }
    const timer = setTimeout(() => this.#giveUp(request), this.#milliseconds)
    this.#all.set(request, { since: performance.now(), bytes: request.raw.socket.bytesRead, timer })
  }

  /** The request with the fewest bytes per time, of those that have had some. */
  #slowest() {
    const now = performance.now()
    const rates = [...this.#all]
      .filter(([, { since }]) => now - since > YOUNG)
      .map(([request, { since, bytes }]) => [(request.raw.socket.bytesRead - bytes) / (now - since), request])
    return rates.sort(([one], [other]) => one - other)[0]?.[1]
  }

  /** A body is there, or will never be. */
  end(request) {
    clearTimeout(this.#all.get(request)?.timer)
    this.#all.delete(request)
  }

  /** Those that are left have a short while. */
  hurry() {
    for (const [request, { timer }] of this.#all) {
      clearTimeout(timer)
      this.#all.get(request).timer = setTimeout(
        () => this.#giveUp(request),
        Math.min(GRACE, this.#milliseconds),
      )
    }
  }

  /** Fastify waits for the body before it sends anything, so this is sent without it. */
  #giveUp(request) {
    this.end(request)
    const body = JSON.stringify({ code: 'BODY_TIME_LIMIT', message: 'the body took too long to arrive' })
    const head = `HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
    request.raw.socket.end(`${head}\r\n\r\n${body}`, () => request.raw.socket.destroy())
  }
}
