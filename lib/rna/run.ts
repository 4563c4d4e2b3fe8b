/** Calls of native code that can be given up, and say how far they are. */
import { aborted, cancelOnAbort } from '../abort.js'
import { AUTO, automaticBackend, deviceName, indexOf } from '../backend.js'
import { configureCpu, deviceMemoryLimit } from '../environment.js'
import { AbortedError, fromNative } from '../errors.js'
import { REPORT_FIELDS, reportAt } from '../fields.js'
import { availableMemory } from '../free-memory.js'
import { addon, type RnaRequest } from '../native.js'
import { reporting, shareOf } from '../product/progress.js'
import type { BasePair, ReadFold } from './options.js'

/** What all requests have. */
export function requestOf({ weights, minLoop, table, backend, device }: ReadFold, wide: boolean): RnaRequest {
  const mostBytes = availableMemory()
  return {
    within: weights,
    minLoop,
    wide,
    wantsTable: table,
    mostBytes,
    backend: backend === AUTO ? automaticBackend() : backend,
    device: indexOf(device),
    deviceMemory: deviceMemoryLimit(),
  }
}

/** What computed a result. */
export interface RnaPlace {
  backend: 'cuda' | 'cpu'
  /** The name of the GPU or of the processor. */
  device: string
}

/** Gives the result, and what computed it. `what` is what messages call the work. */
export async function run<Result>(
  { signal, onProgress }: ReadFold,
  what: string,
  start: (report: Float64Array, cancel: Int32Array) => Promise<Result>,
): Promise<[Result, RnaPlace]> {
  if (signal?.aborted) throw aborted(signal, what)
  configureCpu()
  const report = new Float64Array(REPORT_FIELDS)
  const cancel = new Int32Array(1)
  const forget = signal && cancelOnAbort(signal, cancel)
  const giveUp = () => addon.giveUp(cancel)
  try {
    const result = await reporting(onProgress, shareOf(1, report), giveUp, () => start(report, cancel))
    const backend = addon.backends[report[reportAt.backend]!]!
    return [result, { backend, device: deviceName(report[reportAt.device]!) }]
  } catch (thrown) {
    const error = fromNative(thrown)
    throw error instanceof AbortedError && signal?.aborted ? aborted(signal, what) : error
  } finally {
    forget?.()
  }
}

/** Pairs as native code gives them, each index changed. */
export function pairsOf(
  indices: Int32Array,
  first = (index: number) => index,
  second: (index: number) => number = first,
): BasePair[] {
  const pairs: BasePair[] = []
  for (let at = 0; at < indices.length; at += 2) pairs.push([first(indices[at]!), second(indices[at + 1]!)])
  return pairs
}

/** Sets the marks of pairs of one strand. */
export function mark(dots: string[], pairs: readonly BasePair[]): void {
  for (const [i, j] of pairs) {
    dots[i] = '('
    dots[j] = ')'
  }
}
