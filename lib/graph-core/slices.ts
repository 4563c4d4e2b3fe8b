/** Runs long work on JavaScript's thread in slices, and lets the event loop run between them. */
import { throwIfAborted } from '../abort.js'
import { turn } from '../platform.js'

/** Generator of long work, which yields about every millisecond and returns the result. */
export type Steps<Result> = Generator<void, Result, void>

/**
 * Number of edges, elements or nodes that are processed between two yields: about 100 µs, or 1 ms if all of
 * them miss the caches.
 */
export const PER_SLICE = 1 << 13

/**
 * Duration of a slice in ms. With one more step and a garbage collection the event loop should be blocked for
 * less than 10 ms.
 */
const SLICE_MS = 3

/** Runs all of the work synchronously. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Runs the work in slices of a few ms. */
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
