/** Calls of native code on graphs that can be given up, and say how far they are. */
import { aborted, cancelOnAbort } from '../abort.js'
import { configureCpu } from '../environment.js'
import { AbortedError, fromNative } from '../errors.js'
import { REPORT_FIELDS } from '../fields.js'
import { addon } from '../native.js'
import type { Progress } from '../product/options.js'
import { reporting, shareOf } from '../product/progress.js'

/** How work is watched. */
export interface Watched {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/** What calls of native code need, beside the request. */
export interface Calls {
  readonly report: Float64Array
  readonly cancel: Int32Array
}

/** Gives what `work` does, which is `steps` calls of native code. `what` is what messages call it. */
export async function watched<Result>(
  { signal, onProgress }: Watched,
  what: string,
  steps: number,
  work: (calls: Calls) => Promise<Result>,
): Promise<Result> {
  if (signal?.aborted) throw aborted(signal, what)
  configureCpu()
  const calls = { report: new Float64Array(REPORT_FIELDS), cancel: new Int32Array(1) }
  const forget = signal && cancelOnAbort(signal, calls.cancel)
  try {
    if (signal?.aborted) throw aborted(signal, what)
    const giveUp = () => addon.giveUp(calls.cancel)
    return await reporting(onProgress, shareOf(steps, calls.report), giveUp, () => work(calls))
  } catch (error) {
    throw error instanceof AbortedError && signal?.aborted ? aborted(signal, what) : error
  } finally {
    forget?.()
  }
}

/** What a call of native code gives, or the error of this library. */
export async function called<Result>(promise: Promise<Result>): Promise<Result> {
  try {
    return await promise
  } catch (error) {
    throw fromNative(error)
  }
}
