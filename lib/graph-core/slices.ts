/** Long work on JavaScript's thread in slices, between which the event loop turns. */
import { throwIfAborted } from '../abort.js'
import { turn } from '../platform.js'

/** Work that yields every millisecond or so. What it returns is its result. */
export type Steps<Result> = Generator<void, Result, void>

/**
 * Number of edges, elements or nodes that are processed between two yields: about 100 µs, or 1 ms if all of
 * them miss the caches.
 */
export const PER_STEP = 1 << 13

/** Milliseconds after which the event loop has its turn: a step and a collection of garbage may follow, and all should take less than 10. */
const SLICE_MS = 3

/** Does all of the work before it returns. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Does the work without keeping the event loop from anything for long. */
export async function inSlices<Result>(
  steps: Steps<Result> | AsyncGenerator<void, Result, void>,
  signal: AbortSignal | undefined,
  what: string,
): Promise<Result> {
  for (;;) {
    throwIfAborted(signal, what)
    const end = performance.now() + SLICE_MS
    do {
      const next = steps.next()
      const { done, value } = next instanceof Promise ? await next : next
      if (done) return value
    } while (performance.now() < end)
    await turn()
  }
}
