/** Cancellable calls of native code with progress. */
import { deviceName, indexOf, withoutWebGpu } from '../backend.js'
import type { BackendName } from '../backend-name.js'
import { deviceMemoryLimit } from '../environment.js'
import { REPORT_FIELDS, reportAt } from '../fields.js'
import { availableMemory } from '../free-memory.js'
import { addon, type RnaRequest } from '../native.js'
import { runNative } from '../run-native.js'
import type { BasePair, ReadFold } from './options.js'

/** Returns the fields that all requests share. */
export function requestOf({ weights, minLoop, table, backend, device }: ReadFold, wide: boolean): RnaRequest {
  const maxBytes = availableMemory()
  return {
    within: weights,
    minLoop,
    wide,
    wantsTable: table,
    maxBytes,
    backend: withoutWebGpu(backend, 'RNA structures'),
    device: indexOf(device),
    deviceMemory: deviceMemoryLimit(),
  }
}

/** Backend and device of a result. */
export interface RnaPlacement {
  backend: BackendName
  /** The name of the GPU or of the processor. */
  device: string
}

/** Runs a call and returns the result with its backend and device. `what` names the work in messages. */
export async function run<Result>(
  { signal, onProgress }: ReadFold,
  what: string,
  start: (report: Float64Array, cancel: Int32Array) => Promise<Result>,
): Promise<[Result, RnaPlacement]> {
  const report = new Float64Array(REPORT_FIELDS)
  const work = { signal, onProgress, what, report, borrowed: null }
  const result = await runNative(work, ({ cancel }) => start(report, cancel))
  const backend = addon.backends[report[reportAt.backend]!]!
  return [result, { backend, device: deviceName(report[reportAt.device]!) }]
}

/** Returns the pairs of native code with converted indices. */
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
