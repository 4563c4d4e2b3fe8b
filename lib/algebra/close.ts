/** Closures of weights: what star and plus and the graph functions have in common. */
import { aborted, cancelOnAbort, notCancelled } from '../abort.js'
import { AUTO, automaticBackend, CPU } from '../backend.js'
import { show, showList } from '../describe.js'
import { DeviceMatrix } from '../device/device.js'
import { implicitSession } from '../device/implicit.js'
import { copyRequest } from '../device/requests.js'
import { ResidentView, type Session, SharedMemory } from '../device/resident.js'
import { INT32, isInteger, newUnwrittenArray, typeNameOf } from '../elements.js'
import {
  AbortedError,
  CycleError,
  DeviceError,
  DTypeError,
  fromNative,
  OptionError,
  OutOfMemoryError,
  ShapeError,
  ValueError,
} from '../errors.js'
import { REPORT_FIELDS, REQUEST_FIELDS, reportAt, requestAt, writeLayout } from '../fields.js'
import { type Elements, rowMajorElements, shapeOf } from '../layout.js'
import { allocate, type DenseMatrix, rowMajor } from '../matrix.js'
import { addon, type NativeMemory } from '../native.js'
import { overlapsItself } from '../overlap.js'
import { LEFT_OUT, type ReadOptions, THROW } from '../product/options.js'
import { requireNoContradiction } from '../product/prepare.js'
import { ProgressReports } from '../product/progress.js'
import { requireSemiringType, zeroOf } from '../semirings.js'
import type { ElementArray, OperandArray } from '../storage.js'
import { readView, requireStillThere, requireThere, showShape, type View } from '../view.js'
import { findCycle } from './cycle-search.js'
import { type Order, orderOf } from './orders.js'

/** What is asked besides the options. */
export interface Closing {
  /** Whether the diagonal is ⊕ one: paths of no edges. */
  readonly reflexive: boolean
  /** Whether `next` is wanted. */
  readonly next: boolean
  /** What messages call the weights; 'a' by default. */
  readonly name?: string
}

/** A closure: on the device of the weights if they are on one, else in arrays. */
export interface Closed {
  /** `options.out` itself if it was given. */
  readonly distances: DenseMatrix<ElementArray> | DeviceMatrix<ElementArray>
  /**
   * int32. For i ≠ j the node after i on a best path from i to j; −1 if there is none. On the diagonal −1 if `reflexive`, else
   * the node after i on a best cycle through i. Following it ends, cycles of weight one included; over floats, whose sums
   * are rounded, whoever follows it must still stop after n edges.
   */
  readonly next: DenseMatrix<Int32Array> | DeviceMatrix<Int32Array> | null
  readonly backend: 'cuda' | 'cpu'
  /** The name of the GPU or of the processor. */
  readonly device: string
  readonly timing: { readonly totalMs: number; readonly kernelMs: number }
}

/** Steps that the CPU does sooner than a GPU, the copies included. */
export const MOST_STEPS_FOR_CPU = 2 ** 24

// Native code reads a request before the call returns: one serves all calls.
const request = new Float64Array(REQUEST_FIELDS)

/** A checked call. */
interface Call {
  readonly weights: View
  readonly out: View<ElementArray> | null
  readonly outValue: unknown
  readonly options: ReadOptions
  readonly closing: Closing
  readonly order: Order
  readonly name: string
  /** What is made: row-major. */
  readonly elements: Elements
  readonly cancel: Int32Array
  readonly report: Float64Array
}

/**
 * The closure of square matrices of weights, or of a batch. `weights` and `options` have been read (readView with the role
 * 'operand', readOptions); all else is checked here, and only the matrix `out` is read before that.
 *
 * @throws Rejects with ShapeError (not square, `out`), DTypeError, OptionError (plus-times, overflow for floats, …),
 *   ValueError (NaN; negative in max-times), OverflowError, CycleError, DisposedError, DeviceError, NoCudaError,
 *   OutOfMemoryError, AbortedError, CudaError.
 */
export async function closeWeights(weights: View, options: ReadOptions, closing: Closing): Promise<Closed> {
  const started = performance.now()
  const call = check(weights, options, closing)
  const { signal } = options
  if (!signal) return close(call, started)
  const forget = cancelOnAbort(signal, call.cancel)
  try {
    requireThere(weights, call.name) // A signal that isn't Node's own may have run anything.
    if (call.out) requireThere(call.out, 'out')
    return await close(call, started)
  } catch (error) {
    throw error instanceof AbortedError && signal.aborted ? aborted(signal, 'the closure') : error
  } finally {
    forget()
  }
}

function check(weights: View, options: ReadOptions, closing: Closing): Call {
  const outValue = options.out
  const out = outValue === undefined ? null : readView(outValue, 'out', 'result')
  if (options.signal?.aborted) throw aborted(options.signal, 'the closure')
  const name = closing.name ?? 'a'
  const { type, batched, batch, rows, cols } = weights
  requireSemiringType(options.semiring, type)
  const order = orderOf(options.semiring)
  if (!order) {
    throw new OptionError(
      "option semiring must not be 'plus-times', whose sums of paths have no best one: choose another semiring",
    )
  }
  if (options.overflow !== LEFT_OUT && !isInteger(type)) {
    throw new OptionError(
      `option overflow is for integers, but ${name} is of ${typeNameOf(type)}, which has infinities for what is too large: ` +
        'leave it out',
    )
  }
  requireThere(weights, name)
  if (rows !== cols) {
    throw new ShapeError(`${showShape(weights, name)} must be square: row i has the edges that leave node i`)
  }
  if (out) requireOut(out, weights, name)
  const session = weights.memory?.session ?? out?.memory?.session
  if (session) requireNoContradiction(options, session)
  return {
    weights,
    out,
    outValue,
    options,
    closing,
    order,
    name,
    elements: rowMajorElements(type, elementBytes(weights), batched, batch, rows, cols),
    cancel: new Int32Array(1),
    report: new Float64Array(REPORT_FIELDS),
  }
}

/** Of an element as it is computed: one that is stored as int16 is an int32. */
const elementBytes = ({ bytes }: View): number => (bytes === 2 ? 4 : bytes)

function requireOut(out: View<ElementArray>, weights: View, name: string): void {
  requireThere(out, 'out')
  if (out.type !== weights.type) {
    throw new DTypeError(
      `out is of ${typeNameOf(out.type)} and ${name} of ${typeNameOf(weights.type)}: both must be of one element type`,
    )
  }
  if (showList(shapeOf(out)) !== showList(shapeOf(weights))) {
    throw new ShapeError(
      `${showShape(out, 'out')} must have the shape of ${name}, ${showList(shapeOf(weights))}`,
    )
  }
  if (overlapsItself(out)) {
    throw new ShapeError(
      'elements of out overlap each other, so the result has no room in it: give out strides that put each element in a ' +
        'place of its own',
    )
  }
  if (!weights.memory) return
  const { session } = weights.memory
  if (out.memory?.session === session) return
  const place = out.memory ? `on ${out.memory.session}, opened by another openDevice()` : 'in an array'
  throw new DeviceError(
    `out is ${place}, but ${name} is on ${session}, and so is the result: leave out \`out\` and download c`,
  )
}

async function close(call: Call, started: number): Promise<Closed> {
  const { weights, out, options, elements } = call
  const session = weights.memory?.session ?? out?.memory?.session
  if (session) return closeOn(session, call, started)
  const { batch, rows } = elements
  const device = options.device === LEFT_OUT ? 0 : options.device
  const small = batch * rows ** 3 <= MOST_STEPS_FOR_CPU
  try {
    return await closeOn(await implicitSession(options.backend, device, small), call, started)
  } catch (error) {
    const automatic = options.backend === AUTO && automaticBackend() === AUTO && !small
    if (!(automatic && error instanceof OutOfMemoryError)) throw error
    return closeOn(await implicitSession(CPU, 0, true), call, started)
  }
}

/** What a promise of native code gives; an error is made one of the library's, and calls the matrix by its name. */
async function settled<T>(work: Promise<T>, name: string): Promise<T> {
  try {
    return await work
  } catch (cause) {
    const error = fromNative(cause)
    if (error instanceof ValueError) error.message = error.message.replace(/^the matrix(?=\[)/, name)
    throw error
  }
}

async function closeOn(session: Session, call: Call, started: number): Promise<Closed> {
  const { weights, closing, elements, cancel, report, name } = call
  report.fill(0)
  const uploaded = weights.memory
    ? null
    : await settled(
        addon.upload(session.native, weights.data, copyRequest(weights, stored(weights)), cancel),
        name,
      )
  const inPlace = uploaded !== null && weights.bytes !== 2
  const progress = startProgress(call)
  let made: NativeMemory[]
  try {
    const matrix = uploaded ?? (weights.data as NativeMemory)
    writeClosing(call, uploaded ? elements : weights)
    const given = await settled(
      addon.closeMatrix(
        session.native,
        matrix,
        inPlace,
        closing.reflexive,
        closing.next,
        request,
        report,
        cancel,
      ),
      name,
    )
    made = given === undefined ? [] : Array.isArray(given) ? given : [given]
  } catch (error) {
    if (uploaded) addon.release(uploaded)
    progress?.end(false)
    throw error
  }
  if (inPlace) made.unshift(uploaded)
  else if (uploaded) addon.release(uploaded)
  const [d, next] = made as [NativeMemory, NativeMemory?]
  const gain = report[reportAt.gain]!
  try {
    progress?.end(gain < 0)
    if (!weights.memory) requireStillThere(weights, name)
  } catch (error) {
    for (const memory of made) addon.release(memory)
    throw error
  }
  if (gain >= 0) {
    for (const memory of made) addon.release(memory)
    throw await cycleError(session, call, gain)
  }
  const nextElements = { ...elements, type: INT32, bytes: 4 }
  const stays = weights.memory !== null || call.out?.memory != null
  const distances = stays ? await leave(session, call, d) : await fetchInto(session, call, d)
  let nextMatrix: Closed['next'] = null
  if (next && weights.memory) nextMatrix = new DeviceMatrix<Int32Array>(resident(next, session, nextElements))
  else if (next) nextMatrix = (await fetch(session, next, nextElements, name)) as DenseMatrix<Int32Array>
  return {
    distances,
    next: nextMatrix,
    backend: session.backend,
    device: session.name,
    timing: { totalMs: performance.now() - started, kernelMs: report[reportAt.kernelMs]! },
  }
}

/** The elements of an uploaded matrix. */
const stored = ({ type, bytes, batched, batch, rows, cols }: View): Elements =>
  rowMajorElements(type, bytes, batched, batch, rows, cols)

const resident = (memory: NativeMemory, session: Session, elements: Elements) =>
  new ResidentView(new SharedMemory(memory, session), elements)

function startProgress({ options, elements, report, cancel }: Call): ProgressReports | null {
  const { onProgress } = options
  if (!onProgress) return null
  const { batch, rows: n } = elements
  return new ProgressReports(onProgress, { batch, m: n, n, k: n }, report, () => addon.giveUp(cancel))
}

function writeClosing({ options, elements }: Call, layout: Elements): void {
  request.fill(0)
  request[requestAt.batch] = elements.batch
  request[requestAt.n] = elements.rows
  request[requestAt.semiring] = options.semiring
  request[requestAt.dtype] = elements.type
  request[requestAt.overflow] = options.overflow === LEFT_OUT ? THROW : options.overflow
  request[requestAt.variant] = LEFT_OUT
  writeLayout(request, 0, requestAt.a, layout)
}

/** A result that stays on the device. */
async function leave(
  session: Session,
  { out, outValue, elements, name }: Call,
  memory: NativeMemory,
): Promise<Closed['distances']> {
  if (!out) return new DeviceMatrix<ElementArray>(resident(memory, session, elements))
  try {
    requireThere(out, 'out')
    await settled(
      addon.copyMatrix(session.native, memory, out.data as NativeMemory, copyRequest(out, elements)),
      name,
    )
  } finally {
    addon.release(memory)
  }
  return outValue as DeviceMatrix<ElementArray>
}

/** A result in an array. */
async function fetchInto(session: Session, call: Call, memory: NativeMemory): Promise<Closed['distances']> {
  const { out, outValue, elements, name } = call
  if (!out) return fetch(session, memory, elements, name)
  try {
    requireThere(out, 'out')
    // From here on it isn't given up: after an error `out` is as it was.
    await settled(
      addon.download(
        session.native,
        memory,
        out.data as ElementArray,
        copyRequest(out, elements),
        notCancelled,
      ),
      name,
    )
  } finally {
    addon.release(memory)
  }
  requireStillThere(out, 'out')
  return outValue as DenseMatrix<ElementArray>
}

/** Moves row-major elements from a device into an array of their own. */
async function fetch(
  session: Session,
  memory: NativeMemory,
  elements: Elements,
  name: string,
): Promise<DenseMatrix<ElementArray>> {
  try {
    const { type, reach } = elements
    const data = allocate(reach, 'the result', type, newUnwrittenArray)
    await settled(
      addon.download(session.native, memory, data, copyRequest(elements, elements), notCancelled),
      name,
    )
    const shape = shapeOf(elements)
    return { data, shape, strides: rowMajor(shape), offset: 0 }
  } finally {
    addon.release(memory)
  }
}

/** The error for a cycle that gains; `gain` is what native code reported. */
async function cycleError(session: Session, call: Call, gain: number): Promise<CycleError> {
  const { weights, options, order, elements, name } = call
  const n = elements.rows
  const item = Math.floor(gain / n)
  const { type, bytes } = weights
  let data: OperandArray
  let layout: Elements | View = weights
  if (weights.memory) {
    layout = rowMajorElements(type, bytes, false, 1, n, n)
    data = bytes === 2 ? new Int16Array(n * n) : allocate(n * n, 'a copy of the weights', type, newUnwrittenArray)
    const source = { ...layout, ...layoutOfItem(weights, item) }
    requireThere(weights, name)
    await settled(
      addon.download(session.native, weights.data, data, copyRequest(layout, source), notCancelled),
      name,
    )
  } else {
    data = weights.data
    layout = { ...weights, ...layoutOfItem(weights, item) }
  }
  const { offset, rowStride, colStride } = layout
  const found = await findCycle({ data, offset, rowStride, colStride, zero: storedZero(call) }, gain % n, order)
  const batch = weights.batched ? item : undefined
  const { cycle, weight } = found
  const shown = cycle.length > 12 ? [...cycle.slice(0, 12), '…'] : [...cycle, cycle[0]]
  const which = batch === undefined ? '' : ` of matrix ${batch}`
  const semiring = addon.semirings[options.semiring]!.name
  return new CycleError(
    `the cycle ${shown.join(' → ')}${which} gains: its weight is ${show(weight)}, better than ${order.one} in ${semiring}, so ` +
      'each round makes paths better, and there is no best one: change the weight of one of its edges',
    { cycle, weight, batch },
  )
}

function layoutOfItem({ offset, batchStride, rowStride, colStride }: View, item: number) {
  return { offset: offset + item * batchStride, batchStride: 0, rowStride, colStride }
}

/** The semiring's zero as the weights hold it. */
function storedZero({ weights, options, order }: Call): number {
  if (weights.bytes === 2) return order.isBetter(1, 0) ? -32768 : 32767
  return zeroOf(addon.semirings[options.semiring]!.name, typeNameOf(weights.type))
}
