/**
 * Bodies that are being received. They don't count as running or queued products, so slow or silent clients don't block others: with
 * too many bodies at once, the slowest is rejected.
 */
import { Refusal } from './refusals.mjs'

/** Age in ms from which a body may be rejected for another one. */
const YOUNG = 1000

/** Time in ms for clients that are still sending at shutdown. */
const GRACE = 5000

export class Uploads {
  #most
  #milliseconds
  /** Map from requests to their start time and the bytes that their connection had received before. */
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

  /** Registers a body. Throws Refusal if there are too many, all of them recent. */
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

  /** Returns the request with the lowest rate among the requests that are not recent. */
  #slowest() {
    const now = performance.now()
    const rates = [...this.#all]
      .filter(([, { since }]) => now - since > YOUNG)
      .map(([request, { since, bytes }]) => [(request.raw.socket.bytesRead - bytes) / (now - since), request])
    return rates.sort(([one], [other]) => one - other)[0]?.[1]
  }

  /** Removes a complete or failed body. */
  end(request) {
    clearTimeout(this.#all.get(request)?.timer)
    this.#all.delete(request)
  }

  /** Shortens the time of the remaining bodies at shutdown. */
  hurry() {
    for (const [request, { timer }] of this.#all) {
      clearTimeout(timer)
      this.#all.get(request).timer = setTimeout(
        () => this.#giveUp(request),
        Math.min(GRACE, this.#milliseconds),
      )
    }
  }

  /** Answers 408 directly on the socket, because Fastify sends nothing before the body's end. */
  #giveUp(request) {
    this.end(request)
    const body = JSON.stringify({ code: 'BODY_TIME_LIMIT', message: 'the body took too long to arrive' })
    const head = `HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
    request.raw.socket.end(`${head}\r\n\r\n${body}`, () => request.raw.socket.destroy())
  }
}
