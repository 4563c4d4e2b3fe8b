/** Long work on JavaScript's thread, in parts between which the event loop turns. */
import { setImmediate as turn } from 'node:timers/promises'
import { aborted } from '../abort.js'

/** Work that yields between its parts. */
export type Parts<Result> = Generator<undefined, Result, undefined>

/** Milliseconds that parts may take together before the event loop turns. */
const SLICE = 10

/** Does the work. The event loop turns between its parts, and the signal is looked at. */
export async function inParts<Result>(
  work: Parts<Result>,
  signal: AbortSignal | undefined,
  what: string,
): Promise<Result> {
  let end = performance.now() + SLICE
  for (;;) {
    if (signal?.aborted) throw aborted(signal, what)
    const { done, value } = work.next()
    if (done) return value
    if (performance.now() < end) continue
    await turn()
    end = performance.now() + SLICE
  }
}
