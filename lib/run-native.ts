/** Runs native code for a user: signal, progress, errors and their codes, and the presence of the arrays that it reads. */
import { aborted, cancelOnAbort, NEVER_CANCELLED, throwIfAborted } from './abort.js'
import type { Borrowed } from './borrowed.js'
import { configureCpu } from './environment.js'
import { AbortedError, fromNative } from './errors.js'
import { REPORT_FIELDS } from './fields.js'
import { addon } from './native.js'
import { type Progress, ProgressReports, shareOf } from './product/progress.js'

/** Options of a call through which users abort native code and receive its progress. */
export interface ControlOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/** Work of native code. */
export interface NativeWork extends ControlOptions {
  /** Name of the work in messages. */
  readonly what: string
  /** Arrays of the user that native code reads and writes; null if all arrays are the library's. */
  readonly borrowed: Borrowed | null
  /** Number of the steps that native code counts. */
  readonly steps?: number
  /** The report of the call; a new one by default. */
  readonly report?: Float64Array
}

/** Arguments of native code in addition to its request. */
export interface NativeCall {
  /** Set to stop the work. */
  readonly cancel: Int32Array
  /** Array in which native code counts its steps. */
  readonly report: Float64Array
  readonly borrowed: Borrowed | null
}

/**
 * Runs native code, in one call or several, and returns its result.
 *
 * @param start - starts the work. If it makes several calls, it must check the arrays before each of them.
 * @param drop - releases a result that isn't returned.
 * @throws Rejects with AbortedError, with exactly what the listener threw, with ERR_MPMML_DTYPE for an array that was transferred away, and
 *   with the errors of native code as those of the library.
 */
export async function runNative<Result>(
  { signal, onProgress, what, borrowed, steps = 1, report = new Float64Array(REPORT_FIELDS) }: NativeWork,
  start: (call: NativeCall) => Promise<Result>,
  drop?: (result: Result) => void,
): Promise<Result> {
  throwIfAborted(signal, what)
  configureCpu()
  const cancel = signal || onProgress ? new Int32Array(1) : NEVER_CANCELLED
  const forget = signal && cancelOnAbort(signal, cancel)
  let progress: ProgressReports | undefined
  let result: Result
  try {
    // Adding a listener to a signal of another realm or of a polyfill may run any code.
    throwIfAborted(signal, what)
    borrowed?.requireStillThere()
    const cancelWork = () => addon.cancelWork(cancel)
    if (onProgress) progress = new ProgressReports(onProgress, shareOf(steps, report), cancelWork)
    result = await start({ cancel, report, borrowed })
  } catch (thrown) {
    progress?.end(false)
    const error = fromNative(thrown)
    throw error instanceof AbortedError && signal?.aborted ? aborted(signal, what) : error
  } finally {
    forget?.()
  }
  try {
    progress?.end(true)
    borrowed?.requireStillThere()
  } catch (error) {
    drop?.(result)
    throw error
  }
  return result
}

/**
 * Makes one of several calls of native code. It checks the arrays again, because the event loop may have run
 * since the last call.
 */
export function callNative<Answer>(
  { report, cancel, borrowed }: NativeCall,
  call: (report: Float64Array, cancel: Int32Array) => Answer,
): Answer {
  borrowed?.requireStillThere()
  return call(report, cancel)
}
