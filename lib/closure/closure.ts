/** Computes closures of weights for star, plus and the graph functions. */

import { NEVER_CANCELLED } from '../abort.js'
import type { BackendName } from '../backend-name.js'
import { throughout } from '../borrowed.js'
import { storedZeroOf } from '../built-in-semirings.js'
import type { DeviceMatrix } from '../device/device.js'
import { copyRequest } from '../device/requests.js'
import type { Session } from '../device/resident.js'
import { INT32, newNarrowArray, newUnwrittenArray } from '../elements.js'
import { CycleError } from '../errors.js'
import { REPORT_FIELDS, REQUEST_FIELDS, reportAt, requestAt, writeLayout } from '../fields.js'
import { cycleError } from '../graph-core/cycles.js'
import type { NodeNames } from '../graph-core/names.js'
import { inSlices } from '../graph-core/slices.js'
import { type Elements, type Layout, rowMajorElements } from '../layout.js'
import { isFromListener } from '../listener.js'
import { allocate, type DenseMatrix } from '../matrix.js'
import { addon, type NativeMemory } from '../native.js'
import { UNSET } from '../options.js'
import { type ReadOptions, THROW } from '../product/options.js'
import { runNative } from '../run-native.js'
import { assertOrder, type Order } from '../semiring-order.js'
import type { ElementArray, OperandArray } from '../storage.js'
import { assertAttached, type View } from '../view.js'
import { findCycle } from './cycle-search.js'
import {
  checkSquare,
  deliver,
  download,
  kindOfWork,
  onItsDevice,
  resident,
  type SquareRequest,
  settled,
  upload,
} from './square-matrix.js'

/** Settings of a closure that aren't options of the user. */
export interface ClosureOptions {
  /** Whether to include empty paths: ⊕ one on the diagonal. */
  readonly reflexive: boolean
  /** Whether to compute `next`. */
  readonly next: boolean
  /** Name of the weights in messages; 'a' by default. */
  readonly name?: string
  /** The names of the nodes, for errors. */
  readonly names?: NodeNames | null | undefined
}

/** Result of a closure: on the device of the weights if they are on one, otherwise in arrays. */
export interface ClosureResult {
  /** `options.out` itself if it was given. */
  readonly distances: DenseMatrix<ElementArray> | DeviceMatrix<ElementArray>
  /**
   * Next nodes, int32: for i ≠ j the node after i on a best path from i to j; −1 if no path exists. On the
   * diagonal −1 if `reflexive`, otherwise the node after i on a best cycle through i. Following next nodes
   * terminates, even with cycles of weight one. Over floats, whose sums are rounded, callers must stop after
   * n edges.
   */
  readonly next: DenseMatrix<Int32Array> | DeviceMatrix<Int32Array> | null
  readonly backend: BackendName
  /** The name of the GPU or of the processor. */
  readonly device: string
  readonly timing: { readonly totalMs: number; readonly kernelMs: number }
}

/** Name of the work in messages. */
const WORK = 'the closure'

// One array serves all calls, because native code reads a request before the call returns.
const request = new Float64Array(REQUEST_FIELDS)

/** A checked call. */
interface Call extends SquareRequest {
  readonly closing: ClosureOptions
  readonly order: Order
  readonly report: Float64Array
}

/**
 * Computes the closure of a square matrix of weights, or of a batch. The caller has read `weights` and
 * `options` (readView with the role 'operand', readOptions); all other checks happen here, and only the
 * matrix `out` is read before them.
 *
 * @throws Rejects with ERR_MPMML_SHAPE (not square, `out`), ERR_MPMML_DTYPE, ERR_MPMML_OPTION (plus-times, overflow for floats, …),
 *   ERR_MPMML_VALUE (NaN; negative in max-times), OverflowError, CycleError, ERR_MPMML_DISPOSED, ERR_MPMML_DEVICE, ERR_MPMML_NO_CUDA,
 *   ERR_MPMML_OUT_OF_MEMORY, AbortedError, ERR_MPMML_CUDA.
 */
export async function computeClosure(
  weights: View,
  options: ReadOptions,
  closing: ClosureOptions,
): Promise<ClosureResult> {
  const started = performance.now()
  const why = ': row i has the edges that leave node i'
  const call: Call = {
    ...checkSquare(closing.name ?? 'a', weights, options, WORK, why),
    closing,
    order: assertOrder(options.semiring),
    report: new Float64Array(REPORT_FIELDS),
  }
  const kind = kindOfWork(call, closing.next)
  // WebGPU closes int32 matrices only.
  const isByWebGpu = kind.dtype === 'int32' && kind.semiring.endsWith('-plus')
  return onItsDevice(call, isByWebGpu ? kind : null, (session) => closeOn(session, call, started))
}

async function closeOn(session: Session, call: Call, started: number): Promise<ClosureResult> {
  const { out, options, closing, home, borrowed, report, elements } = call
  const { signal, onProgress } = options
  const { batch, rows } = elements
  const target = home && out ? out : null
  report.fill(0)
  const work = { what: WORK, signal, onProgress, report, steps: batch * rows ** 3, borrowed }
  const nativeResult = await runNative(
    work,
    ({ cancel }) => closed(session, call, target, cancel),
    (memories) => {
      for (const memory of memories) addon.release(memory)
    },
  ).catch(async (error) => {
    const gains = error instanceof CycleError && !isFromListener(error)
    throw gains ? await gainingCycle(session, call, report[reportAt.gain]!) : error
  })
  const next = closing.next ? nativeResult.pop()! : null
  const distances = target
    ? (options.out as DeviceMatrix<ElementArray>)
    : await deliver(session, call, nativeResult[0]!).catch((error) => {
        if (next) addon.release(next)
        throw error
      })
  return {
    distances,
    next: next && (await nextMatrix(session, call, next)),
    backend: session.backend,
    device: session.name,
    timing: { totalMs: performance.now() - started, kernelMs: report[reportAt.kernelMs]! },
  }
}

/**
 * Returns the memory of the distances, unless they are in `target`, and of the next nodes if they are
 * requested.
 */
async function closed(
  session: Session,
  { matrix: weights, out, name, elements, options, closing, report }: Call,
  target: View<ElementArray> | null,
  cancel: Int32Array,
): Promise<NativeMemory[]> {
  // The event loop turned while the device was opened.
  assertAttached(weights, name)
  if (out) assertAttached(out, 'out')
  const uploaded = weights.memory ? null : await upload(session, weights, cancel, name)
  const inPlace = uploaded !== null && weights.bytes !== 2
  let becomesResult = false
  try {
    writeClosing(options, elements, uploaded ? rowMajorElements(weights) : weights, target)
    const given = await settled(
      addon.closeMatrix(
        session.native,
        uploaded ?? (weights.data as NativeMemory),
        target ? (target.data as NativeMemory) : null,
        inPlace,
        closing.reflexive,
        closing.next,
        request,
        report,
        cancel,
      ),
      name,
    )
    const memories = given === undefined ? [] : Array.isArray(given) ? given : [given]
    becomesResult = inPlace && !target
    return becomesResult ? [uploaded!, ...memories] : memories
  } finally {
    if (uploaded && !becomesResult) addon.release(uploaded)
  }
}

function nextMatrix(
  session: Session,
  { matrix, elements }: Call,
  memory: NativeMemory,
): Promise<DenseMatrix<Int32Array>> | DeviceMatrix<Int32Array> {
  const nodes = { ...elements, type: INT32, bytes: 4 }
  if (matrix.memory) return resident<Int32Array>(memory, session, nodes)
  return download(session, memory, nodes) as Promise<DenseMatrix<Int32Array>>
}

function writeClosing(options: ReadOptions, elements: Elements, matrix: Layout, out: Layout | null): void {
  request.fill(0)
  request[requestAt.batch] = elements.batch
  request[requestAt.n] = elements.rows
  request[requestAt.semiring] = options.semiring
  request[requestAt.dtype] = elements.type
  request[requestAt.overflow] = options.overflow === UNSET ? THROW : options.overflow
  request[requestAt.variant] = UNSET
  writeLayout(request, 0, requestAt.a, matrix)
  if (out) writeLayout(request, 0, requestAt.c, out)
}

/** Returns the error for an improving cycle; `gain` is native code's report. */
async function gainingCycle(session: Session, call: Call, gain: number): Promise<CycleError> {
  const { matrix: weights, options, order, elements, name, closing, borrowed } = call
  const n = elements.rows
  const item = Math.floor(gain / n)
  const { type } = weights
  let data: OperandArray
  let layout: Elements | View = weights
  if (weights.memory) {
    layout = rowMajorElements({ ...weights, batched: false, batch: 1 })
    data = newNarrowArray(weights, n * n) ?? allocate(n * n, 'a copy of the weights', type, newUnwrittenArray)
    const source = { ...layout, ...layoutOfItem(weights, item) }
    assertAttached(weights, name)
    await settled(
      addon.download(session.native, weights.data, data, copyRequest(layout, source), NEVER_CANCELLED),
      name,
    )
  } else {
    data = weights.data
    layout = { ...weights, ...layoutOfItem(weights, item) }
  }
  const { offset, rowStride, colStride } = layout
  const semiring = addon.semirings[options.semiring]!.name
  const zero = storedZeroOf(semiring, weights)
  const found = await inSlices(
    throughout(borrowed, findCycle({ data, offset, rowStride, colStride, zero }, gain % n, order)),
    options.signal,
    WORK,
  )
  return cycleError({ ...found, batch: weights.batched ? item : undefined }, order, closing.names)
}

function layoutOfItem({ offset, batchStride, rowStride, colStride }: View, item: number) {
  return { offset: offset + item * batchStride, batchStride: 0, rowStride, colStride }
}
