/** Opens devices and keeps matrices in their memory. */

import { aborted, raceWithAbort, signal, throwIfAborted } from '../abort.js'
import {
  AUTO,
  assertDevicesOnly,
  automaticBackend,
  CPU,
  deviceName,
  devicesIn,
  indexOf,
  WEBGPU,
  whereSet,
} from '../backend.js'
import type { BackendChoice, BackendName } from '../backend-name.js'
import { ready } from '../backend-selection.js'
import { assertSemiringType, semiring } from '../built-in-semirings.js'
import { show, showChoices, showList, typeName } from '../describe.js'
import type { ArrayTypes, OperandsOf, StoredType } from '../element-types.js'
import {
  bytesOf,
  isInteger,
  isNarrow,
  narrowArrayNamed,
  newNarrowArray,
  newUnwrittenArray,
  rangeOf,
  storedTypeName,
} from '../elements.js'
import { DeviceError, DTypeError, natively, ShapeError } from '../errors.js'
import {
  type Elements,
  type Layout,
  rowMajorElements,
  type Shaped,
  shapeOf,
  stridedElements,
} from '../layout.js'
import {
  allocate,
  type DenseMatrix,
  type MatrixLike,
  readShape,
  rowMajorMatrix,
  type Shape,
} from '../matrix.js'
import { assertCapacity, overlap, sameLayout } from '../memory-overlap.js'
import { addon } from '../native.js'
import { checkedLater, Options, type OptionsOf } from '../options.js'
import { runNative } from '../run-native.js'
import type { ElementArray, KindOf, OperandArray } from '../storage.js'
import type { DataType, Semiring } from '../variant-names.js'
import {
  assertAttached,
  assertShape,
  assertStillAttached,
  type HostView,
  readBack,
  readView,
} from '../view.js'
import { assertGpu, nameOfKnownGpu } from '../webgpu/look.js'
import { pinnedResult } from './pinned.js'
import { combineRequest, copyRequest, copyToDevice, fillRequest } from './requests.js'
import { assertOpen, assertUsable, Resident, ResidentView, Session, SharedMemory } from './resident.js'

/**
 * Symbol of the method with which Node.js formats an object. The symbol is created here, because the type of
 * node:util's symbol requires @types/node.
 */
const inspected: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never

/** The options of {@link openDevice}. */
export interface OpenOptions {
  /**
   * Backend: 'auto', the default, opens a GPU if CUDA can be used, otherwise the CPU. The environment
   * variable MPMML_BACKEND (auto, cuda, webgpu or cpu) overrides 'auto'. 'cuda' and 'webgpu' without a usable
   * GPU are errors.
   */
  backend?: BackendChoice | undefined
  /** The index of the CUDA device; 0 by default. The CPU ignores it. */
  device?: number | undefined
  /**
   * Several CUDA devices that act as one: 'all', or their indices. Each device holds rows of every matrix (of
   * a batch, whole matrices), and all compute each product together. Without a GPU, 'all' has no effect.
   * Excludes `device`.
   */
  devices?: 'all' | readonly number[] | undefined
  /** Stops waiting for the device, with ERR_MPMML_ABORTED and the signal's reason as `cause`. */
  signal?: AbortSignal | undefined
}

const openOptions = new Options({ ...whereSet, signal } satisfies OptionsOf<OpenOptions>)

/** The options of {@link Device.upload} and {@link DeviceMatrix.download}. */
export interface CopyOptions {
  /** Aborts the copy with ERR_MPMML_ABORTED and the signal's reason as `cause`. */
  signal?: AbortSignal | undefined
}

const copyOptions = new Options({ signal } satisfies OptionsOf<CopyOptions>)

/** A part of a matrix, or of each matrix of a batch: see {@link DeviceMatrix.view}. */
export interface Part {
  /** Half-open range of rows. Default: all. */
  rows?: readonly [from: number, to: number] | undefined
  /** Half-open range of columns. Default: all. */
  cols?: readonly [from: number, to: number] | undefined
  /** Index of one matrix of a batch; the view is then a single matrix. Default: all. */
  batch?: number | undefined
}

// The view() method checks the values against the shape.
const partOptions = new Options({
  rows: checkedLater(),
  cols: checkedLater(),
  batch: checkedLater(),
} satisfies OptionsOf<Part>)

/** The options of {@link DeviceMatrix.combine}. */
export interface CombineOptions {
  /** Semiring whose ⊕ is applied; 'max-plus' by default. */
  semiring?: Semiring | undefined
  /**
   * Rejects with ERR_MPMML_ABORTED, without any effect, if the signal is aborted when combine() is called.
   */
  signal?: AbortSignal | undefined
}

const combineOptions = new Options({ semiring, signal } satisfies OptionsOf<CombineOptions>)

/**
 * Opens a device, in whose memory matrices stay between products: a GPU, or the CPU with an equal interface
 * and equal results.
 *
 * Close the device after use. An open device doesn't keep the process alive; its pending work does.
 *
 * @throws Rejects with ArgumentError (ERR_MPMML_OPTION), ResourceError (ERR_MPMML_NO_CUDA or ERR_MPMML_NO_WEBGPU) if 'cuda' or 'webgpu'
 *   was requested and can't be used, ResourceError (ERR_MPMML_OUT_OF_MEMORY), AbortedError (ERR_MPMML_ABORTED), ResourceError (ERR_MPMML_CUDA).
 * @example
 * const device = await openDevice()
 * const a = await device.upload(matrix(2, 2, [1, 2, 3, 4]))
 * const { c } = await mpmm(a, a)
 * console.log((await c.download()).data.join()) // 5,6,7,8
 * await device.close()
 */
export async function openDevice(options?: OpenOptions): Promise<Device> {
  const requested = openOptions.read(options)
  assertDevicesOnly(requested)
  throwIfAborted(requested.signal, OPENING)
  const opening = openSession(requested.backend, indexOf(requested.device), requested.devices)
  try {
    return new Device(await raceWithAbort(opening, requested.signal, (signal) => aborted(signal, OPENING)))
  } catch (error) {
    // Native code can't cancel the opening, so the device is closed when it is open.
    opening.then(({ native }) => addon.closeDevice(native)).catch(() => {})
    throw error
  }
}

/** Name of the work in messages. */
const OPENING = 'the opening of a device'

/** Opens a device; `backend` is an index into the addon's list of choices. */
export async function openSession(backend: number, index: number, devices = 0): Promise<Session> {
  const choice = backend === AUTO ? automaticBackend() : backend
  const { deviceMemory } = ready(choice)
  if (choice === WEBGPU) await assertGpu()
  const native = await natively(() =>
    addon.openDevice(choice, index, deviceMemory, choice === CPU || choice === WEBGPU ? 0 : devices),
  )
  const found = addon.describeDevice(native)
  const taken = addon.backends[found.backend]!
  const [label, name] =
    taken === 'cpu'
      ? [0, deviceName(-1)]
      : taken === 'webgpu'
        ? [0, nameOfKnownGpu()]
        : [found.index, found.name]
  return new Session(native, taken, label, name, found.devices, found.all)
}

/**
 * A device opened by {@link openDevice}, which holds matrices in its memory.
 *
 * @example
 * const device = await openDevice({ backend: 'cpu' })
 * console.log(device.backend, device.index) // cpu 0
 * await device.close()
 */
export class Device {
  readonly #session: Session

  /** Not public: use {@link openDevice}. */
  constructor(session: unknown) {
    if (!(session instanceof Session)) {
      throw new TypeError('Device has no public constructor: await openDevice() gives a device')
    }
    session.owner = this
    this.#session = session
  }

  /** Backend of the device. */
  get backend(): BackendName {
    return this.#session.backend
  }

  /** The name of the GPU or of the processor. */
  get name(): string {
    return this.#session.name
  }

  /** The index of the CUDA device; 0 for the CPU and for WebGPU. */
  get index(): number {
    return this.#session.index
  }

  /** Indices of the CUDA devices that form this device; none for the CPU and for WebGPU. */
  get devices(): readonly number[] {
    const { devices, backend, index } = this.#session
    return devices > 0 ? devicesIn(devices) : backend === 'cuda' ? [index] : []
  }

  /**
   * Copies a matrix, or a batch, to the device. An Int16Array becomes an int16 matrix, which can only be an
   * operand.
   *
   * Don't write to, transfer or detach the array until the promise settles.
   *
   * @throws Rejects with ArgumentError (ERR_MPMML_SHAPE), ArgumentError (ERR_MPMML_DTYPE), ResourceError
   *   (ERR_MPMML_OUT_OF_MEMORY), ArgumentError (ERR_MPMML_DISPOSED) if the device has been closed, AbortedError
   *   (ERR_MPMML_ABORTED), ResourceError (ERR_MPMML_CUDA).
   * @example
   * const device = await openDevice()
   * const a = await device.upload(matrix(2, 3))
   * console.log(a.shape.join(' × '), a.dtype) // 2 × 3 int32
   * await device.close()
   */
  async upload<Data extends OperandArray>(
    matrix: MatrixLike<Data>,
    options?: CopyOptions,
  ): Promise<DeviceMatrix<KindOf<Data>>> {
    const { signal } = copyOptions.read(options)
    const view = readBack(matrix, 'matrix', 'operand')
    const session = this.#session
    assertOpen(session)
    const native = await runNative(
      { what: 'the upload', signal, borrowed: null },
      ({ cancel }) => copyToDevice(session, view, cancel, 'matrix'),
      addon.release,
    )
    return new DeviceMatrix(new ResidentView(new SharedMemory(native, session), rowMajorElements(view)))
  }

  /**
   * Creates a matrix, or a batch, whose elements are all `value`.
   *
   * @param shape - [rows, cols] or [batch, rows, cols]
   * @param value - a value of the type; for float32 it is rounded as a Float32Array does
   * @param dtype - 'int32', the default, 'float32', 'float64' or 'uint8'
   * @throws Rejects with ArgumentError (ERR_MPMML_SHAPE), ArgumentError (ERR_MPMML_DTYPE) for an unknown type
   * or a value that the type can't represent, and with the errors of {@link Device.upload}.
   * @example
   * const device = await openDevice()
   * const a = await device.full([2, 2], zeroOf('min-plus', 'float32'), 'float32')
   * console.log((await a.download()).data.join()) // Infinity,Infinity,Infinity,Infinity
   * await device.close()
   */
  full<Type extends DataType>(
    shape: Readonly<Shape>,
    value: number,
    dtype: Type,
  ): Promise<DeviceMatrix<ArrayTypes[Type]>>
  /** Creates an int32 matrix of one value. */
  full(shape: Readonly<Shape>, value: number): Promise<DeviceMatrix>
  async full(
    shape: Readonly<Shape>,
    value: number,
    dtype: unknown = 'int32',
  ): Promise<DeviceMatrix<ElementArray>> {
    if (typeof shape !== 'object' || shape === null) {
      throw new ShapeError(`shape must be [rows, cols] or [batch, rows, cols], but it is ${show(shape)}`)
    }
    const sizes = readShape(shape)
    const type = readType(dtype)
    assertValue(value, type)
    const session = this.#session
    assertOpen(session)
    const batched = sizes.length === 3
    const [batch, rows, cols] = batched ? sizes : [1, ...sizes]
    const elements = rowMajorElements({ type, bytes: bytesOf(type), batched, batch, rows, cols })
    const native = await natively(() => addon.fill(session.native, fillRequest(elements, value)))
    return new DeviceMatrix(new ResidentView(new SharedMemory(native, session), elements))
  }

  /**
   * Returns the memory use of the device.
   *
   * @throws ArgumentError (ERR_MPMML_DISPOSED) if the device has been closed.
   * @example
   * const device = await openDevice()
   * const a = await device.full([100, 100], 0)
   * console.log(device.memory().used >= 40_000) // true
   * a.dispose()
   * console.log(device.memory().used) // 0
   * await device.close()
   */
  memory(): {
    /** Bytes of existing matrices. */
    used: number
    /**
     * Bytes that the library has allocated: matrices, their packed forms and buffers cached for later products.
     */
    reserved: number
    /** Maximum of `used` since the device was opened. */
    peak: number
    /** Free bytes of the device. */
    free: number
    /** Total bytes of the device. */
    total: number
  } {
    assertOpen(this.#session)
    return natively(() => addon.memoryUse(this.#session.native))
  }

  /**
   * Waits for pending work and then releases the device's memory. From the call on, the device and its
   * matrices can't be used. Idempotent.
   *
   * @throws Rejects with ResourceError (ERR_MPMML_CUDA) if the work failed with this error.
   * @example
   * const device = await openDevice()
   * const a = await device.full([2, 2], 0)
   * await device.close()
   * console.log(a.disposed) // true
   */
  close(): Promise<void> {
    const session = this.#session
    session.closing ??= natively(() => addon.closeDevice(session.native))
    return session.closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  [inspected](): string {
    return `Device ${this.#session}${this.#session.closing ? ', closed' : ''}`
  }
}

/** Reads an element type and returns its number. */
function readType(dtype: unknown): number {
  const type = addon.dataTypes.indexOf(dtype as DataType)
  if (type >= 0) return type
  const narrow = narrowArrayNamed(dtype)
  const advice = narrow ? `: only what is uploaded from an ${narrow} has it` : ''
  throw new DTypeError(`dtype must be ${showChoices(addon.dataTypes)}, but it is ${show(dtype)}${advice}`)
}

/** Throws DTypeError unless the type can represent the value. */
function assertValue(value: unknown, type: number): void {
  const name = addon.dataTypes[type]!
  const [least, most] = rangeOf(name)
  if (typeof value === 'number') {
    if (!isInteger(type) || (Number.isInteger(value) && value >= least && value <= most)) return
  }
  const expected = isInteger(type) ? `an integer from ${least} to ${most}` : 'a number'
  throw new DTypeError(`value must be ${expected}, to be of ${name}, but it is ${show(value)}`)
}

/**
 * A matrix, or a batch of matrices, in the memory of a device. {@link Device.upload}, {@link Device.full} and
 * products create such matrices.
 *
 * The memory is released when the matrix and all its views are disposed or garbage-collected. A matrix may be
 * disposed while pending work uses it.
 *
 * @example
 * const device = await openDevice()
 * const a = await device.upload(matrix(2, 2, [1, 2, 3, 4]))
 * console.log((await a.transpose().download()).data.join()) // 1,3,2,4
 * await device.close()
 */
export class DeviceMatrix<Data extends OperandArray = Int32Array> extends Resident {
  /** Not public: use `upload` and `full` of a device. */
  constructor(view: unknown) {
    if (!(view instanceof ResidentView)) {
      throw new TypeError(
        'DeviceMatrix has no public constructor: upload() and full() of a device make matrices',
      )
    }
    super(view)
  }

  /** Shape: [rows, cols], or [batch, rows, cols] of a batch. */
  get shape(): Shape {
    return shapeOf(viewOf(this))
  }

  /** Element type. 'int16' has values of int32 in half the memory; only operands can have this type. */
  get dtype(): StoredType {
    return storedTypeName(viewOf(this))
  }

  /** Device that holds the matrix. */
  get device(): Device {
    return viewOf(this).memory.session.owner as Device
  }

  /** Returns whether the matrix was disposed or its device was closed. */
  get disposed(): boolean {
    const { disposed, memory } = viewOf(this)
    return disposed || memory.session.closing !== undefined
  }

  /**
   * Returns a part of this matrix, or of each matrix of this batch, as a view. The view shares the memory
   * without a copy, so that changes of one are visible in the other. The memory stays until both are
   * disposed, in any order.
   *
   * @throws ArgumentError (ERR_MPMML_SHAPE) for a part outside of the matrix, ArgumentError
   * (ERR_MPMML_OPTION) for an unknown property, ArgumentError (ERR_MPMML_DISPOSED).
   * @example
   * const device = await openDevice()
   * const a = await device.upload(matrix(2, 3, [1, 2, 3, 4, 5, 6]))
   * console.log((await a.view({ rows: [0, 2], cols: [1, 3] }).download()).data.join()) // 2,3,5,6
   * await device.close()
   */
  view(part?: Part): DeviceMatrix<Data> {
    const { rows, cols, batch } = partOptions.read(part)
    const whole = viewOf(this)
    const [top, bottom] = readRange(rows, 'rows', whole.rows)
    const [left, right] = readRange(cols, 'cols', whole.cols)
    const index = readIndex(batch, whole)
    const { type, bytes, offset, batchStride, rowStride, colStride } = whole
    const batched = whole.batched && index === undefined
    const first = offset + (index ?? 0) * batchStride + top * rowStride + left * colStride
    return this.#sharing(
      { type, bytes, batched, batch: batched ? whole.batch : 1, rows: bottom - top, cols: right - left },
      { offset: first, batchStride, rowStride, colStride },
    )
  }

  /**
   * Returns the transpose of this matrix, or of each matrix of this batch, as a view that shares the memory.
   *
   * @throws ArgumentError (ERR_MPMML_DISPOSED).
   * @example
   * const device = await openDevice()
   * const a = await device.upload(matrix(2, 2, [1, 2, 3, 4]))
   * const { c } = await mpmm(a, a.transpose())
   * console.log((await c.download()).data.join()) // 4,6,6,8
   * await device.close()
   */
  transpose(): DeviceMatrix<Data> {
    const { type, bytes, batched, batch, rows, cols, offset, batchStride, rowStride, colStride } =
      viewOf(this)
    return this.#sharing(
      { type, bytes, batched, batch, rows: cols, cols: rows },
      { offset, batchStride, rowStride: colStride, colStride: rowStride },
    )
  }

  #sharing(shaped: Shaped, layout: Layout): DeviceMatrix<Data> {
    const { memory } = viewOf(this)
    assertUsable(viewOf(this), 'the matrix')
    return new DeviceMatrix(new ResidentView(memory, stridedElements(shaped, layout)))
  }

  /**
   * Replaces this matrix with its element-wise ⊕ with `d`: in max-plus each element becomes the larger of the two.
   *
   * @param d - matrix with this matrix's shape, element type and device; int16 is allowed if this matrix is
   * int32. It may be this matrix itself, but must not overlap it partly.
   * @returns This matrix.
   * @throws Rejects with ArgumentError (ERR_MPMML_SHAPE), ArgumentError (ERR_MPMML_DTYPE), ArgumentError (ERR_MPMML_OPTION),
   *   ArgumentError (ERR_MPMML_DEVICE), ArgumentError (ERR_MPMML_DISPOSED), ArgumentError (ERR_MPMML_VALUE) for a negative
   *   element of max-times, AbortedError (ERR_MPMML_ABORTED), ResourceError (ERR_MPMML_CUDA).
   * @example
   * const device = await openDevice()
   * const a = await device.upload(matrix(2, 2, [1, 2, 3, 4]))
   * await a.combine(await device.full([2, 2], 3))
   * console.log((await a.download()).data.join()) // 3,3,3,4
   * await device.close()
   */
  async combine(d: DeviceMatrix<OperandsOf<Data>>, options?: CombineOptions): Promise<this> {
    const { semiring, signal } = combineOptions.read(options)
    const c = readView(this, 'the matrix', 'result') as ResidentView
    const other = readView(d, 'd', 'operand')
    throwIfAborted(signal, 'the combination')
    assertAttached(c, 'the matrix')
    assertAttached(other, 'd')
    const { session } = c.memory
    if (!other.memory || other.memory.session !== session) {
      const location = other.memory ? `on ${other.memory.session}` : 'in an array'
      throw new DeviceError(
        `d must be on the device of the matrix, ${session}, but it is ${location}: upload it there`,
      )
    }
    if (c.type !== other.type) {
      throw new DTypeError(
        `d must be of ${storedTypeName(c)}, as the matrix is, but it is of ${storedTypeName(other)}`,
      )
    }
    assertSemiringType(semiring, c.type)
    assertShape(other, 'd', 'the matrix', c)
    if (!sameLayout(c, other) && overlap(c, other)) {
      throw new ShapeError(
        'd overlaps the matrix without being the same: combine with a matrix in memory of its own',
      )
    }
    await natively(() =>
      addon.combine(session.native, c.data, other.data, combineRequest(semiring, c, other)),
    )
    return this
  }

  /**
   * Copies the matrix into an array, after all earlier work of the device.
   *
   * @param out - destination, which is also the result: a matrix of this shape and array type, with any
   * strides. Default: a new row-major matrix, in an Int16Array for int16, otherwise in an array of the
   * element type. Don't use, transfer or detach its array until the promise settles. After ERR_MPMML_ABORTED
   * its content is unspecified.
   * @throws Rejects with ArgumentError (ERR_MPMML_SHAPE), ArgumentError (ERR_MPMML_DTYPE), ArgumentError (ERR_MPMML_DISPOSED),
   *   ResourceError (ERR_MPMML_OUT_OF_MEMORY), AbortedError (ERR_MPMML_ABORTED), ResourceError (ERR_MPMML_CUDA).
   * @example
   * const device = await openDevice()
   * const a = await device.upload(matrix(1, 2, [1, 2]))
   * const out = matrix(1, 2)
   * console.log((await a.download(out)) === out, out.data.join()) // true 1,2
   * await device.close()
   */
  download<Out extends MatrixLike<Data>>(out: Out, options?: CopyOptions): Promise<Out>
  /** Copies the matrix into a new array. */
  download(out?: undefined, options?: CopyOptions): Promise<DenseMatrix<Data>>
  async download(
    out?: MatrixLike<Data>,
    options?: CopyOptions,
  ): Promise<MatrixLike<Data> | DenseMatrix<Data>> {
    const { signal } = copyOptions.read(options)
    const from = readView(this, 'the matrix', 'operand') as ResidentView
    const into = out === undefined ? null : readBack(out, 'out', 'operand')
    assertAttached(from, 'the matrix')
    if (into) assertFits(into, from)
    const target = into ? null : rowMajorMatrix(this.#newArray(from) as Data, shapeOf(from))
    const layout = into ?? rowMajorElements(from)
    const array = into ? into.data : target!.data
    const { session } = from.memory
    const borrowed = into && { requireStillThere: () => assertStillAttached(into, 'out') }
    await runNative({ what: 'the download', signal, borrowed }, ({ cancel }) => {
      if (signal) assertAttached(from, 'the matrix')
      return addon.download(session.native, from.data, array, copyRequest(layout, from), cancel)
    })
    return out ?? target!
  }

  #newArray(from: ResidentView): OperandArray {
    const { type, batch, rows, cols, memory } = from
    const { session } = memory
    const length = batch * rows * cols
    if (isNarrow(from)) {
      return allocate(length, 'the copy', type, () => newNarrowArray(from, length)!)
    }
    const pinned = session.backend === 'cuda' ? pinnedResult(type, length, session.index) : null
    return pinned ?? allocate(length, 'the copy', type, newUnwrittenArray)
  }

  /**
   * Releases the matrix. Views of it stay valid. Idempotent.
   *
   * @throws Nothing.
   * @example
   * const device = await openDevice()
   * const a = await device.full([2, 2], 7)
   * const row = a.view({ rows: [0, 1] })
   * a.dispose()
   * console.log(a.disposed, (await row.download()).data.join()) // true 7,7
   * await device.close()
   */
  dispose(): void {
    viewOf(this).dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  [inspected](): string {
    const { memory } = viewOf(this)
    const state = this.disposed ? ', disposed' : ''
    return `DeviceMatrix ${showList(this.shape)} of ${this.dtype} on ${memory.session}${state}`
  }
}

function viewOf(matrix: DeviceMatrix<OperandArray>): ResidentView {
  return Resident.viewOf(matrix)!
}

/** Reads the range of rows or columns of a part. */
function readRange(value: unknown, name: string, size: number): [from: number, to: number] {
  if (value === undefined) return [0, size]
  const [from, to, more] = typeof value === 'object' && value !== null ? Array.from(value as number[]) : []
  const fits = Number.isInteger(from) && Number.isInteger(to) && more === undefined
  if (fits && 0 <= from! && from! <= to! && to! <= size) return [from! + 0, to! + 0]
  const came = Array.isArray(value) ? showList(value) : show(value)
  throw new ShapeError(
    `${name} must be [from, to] with integers 0 ≤ from ≤ to ≤ ${size}, the ${name} of the matrix, but it is ${came}`,
  )
}

/** Reads the index of a matrix of a batch. */
function readIndex(value: unknown, { batched, batch }: Elements): number | undefined {
  if (value === undefined) return undefined
  if (!batched) {
    throw new ShapeError(`batch must be left out, because this isn't a batch, but it is ${show(value)}`)
  }
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) < batch)
    return (value as number) + 0
  throw new ShapeError(
    `batch must be the index of a matrix of the batch of ${batch}, but it is ${show(value)}`,
  )
}

/** Returns a matrix in an array: the given one, or a copy of one on a device. */
export const onHost = async <Data extends OperandArray, Host extends MatrixLike<Data>>(
  matrix: Host | DeviceMatrix<Data>,
): Promise<Host | DenseMatrix<Data>> => (matrix instanceof DeviceMatrix ? await matrix.download() : matrix)

/** Throws unless the device matrix `from` can be copied to the user's matrix `into`. */
function assertFits(into: HostView, from: ResidentView): void {
  assertAttached(into, 'out')
  if (into.type !== from.type || into.bytes !== from.bytes) {
    throw new DTypeError(
      `out must be of ${storedTypeName(from)}, as the matrix is, but out.data is ${typeName(into.data)}`,
    )
  }
  assertShape(into, 'out', 'the matrix', from)
  assertCapacity(into, 'out', 'the matrix')
}
