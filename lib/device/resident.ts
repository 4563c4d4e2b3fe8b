/** Internal representation of devices and of matrices on them; the public class is {@link DeviceMatrix}. */

import { devicesIn } from '../backend.js'
import type { BackendName } from '../backend-name.js'
import type { Name } from '../describe.js'
import { DisposedError } from '../errors.js'
import type { Elements } from '../layout.js'
import { addon, type NativeDevice, type NativeMemory } from '../native.js'

/** An open device. */
export class Session {
  /** Public Device object of this session. */
  owner: object | undefined
  /** Set by close(): from then on the device and its matrices can't be used. */
  closing: Promise<void> | undefined
  /** Sends deferred requests of an earlier call. It runs before any later request. */
  rest: (() => void) | null = null
  readonly #native: NativeDevice

  constructor(
    native: NativeDevice,
    readonly backend: BackendName,
    readonly index: number,
    readonly name: string,
    /** Bit mask of the indices of several CUDA devices; 0 for a single device. */
    readonly devices = 0,
    /** Whether the device consists of all CUDA devices. */
    readonly isAll = false,
  ) {
    this.#native = native
  }

  /** Handle of the device in native code. A device executes requests in the order of the calls. */
  get native(): NativeDevice {
    this.catchUp()
    return this.#native
  }

  /** Sends deferred requests of earlier calls. */
  catchUp(): void {
    const { rest } = this
    this.rest = null
    rest?.()
  }

  /** Name of the matrix in messages. */
  toString(): string {
    if (this.devices > 0) return `devices ${devicesIn(this.devices).join(', ')} (${this.name})`
    if (this.backend === 'webgpu') return `the GPU of WebGPU (${this.name})`
    return this.backend === 'cuda' ? `CUDA device ${this.index} (${this.name})` : 'the CPU'
  }
}

/** Throws DisposedError if the device has been closed. */
export function assertOpen(session: Session): void {
  if (session.closing === undefined) return
  throw new DisposedError(`the device, ${session}, has been closed: open it again with openDevice()`)
}

/** Memory of a device, which several matrices may share. */
export class SharedMemory {
  /** Number of matrices that share this memory and aren't disposed. */
  owners = 0
  #number = 0

  constructor(
    readonly native: NativeMemory,
    readonly session: Session,
  ) {}

  /** Number of the matrix in requests. */
  get number(): number {
    if (this.#number === 0) this.#number = addon.memoryNumber(this.native)
    return this.#number
  }
}

/** Internal state of a DeviceMatrix: a matrix on a device. */
export class ResidentView implements Elements {
  readonly offset: number
  readonly batchStride: number
  readonly rowStride: number
  readonly colStride: number
  readonly type: number
  readonly bytes: number
  readonly batched: boolean
  readonly batch: number
  readonly rows: number
  readonly cols: number
  readonly reach: number
  readonly data: NativeMemory
  disposed = false

  constructor(
    readonly memory: SharedMemory,
    elements: Elements,
  ) {
    memory.owners++
    this.offset = elements.offset
    this.batchStride = elements.batchStride
    this.rowStride = elements.rowStride
    this.colStride = elements.colStride
    this.type = elements.type
    this.bytes = elements.bytes
    this.batched = elements.batched
    this.batch = elements.batch
    this.rows = elements.rows
    this.cols = elements.cols
    this.reach = elements.reach
    this.data = memory.native
  }

  /**
   * Disposes the matrix, and releases the memory with its last matrix. Memory whose matrices weren't disposed
   * is released by garbage collection.
   */
  dispose(): void {
    if (this.disposed) return
    this.memory.session.catchUp()
    this.disposed = true
    if (--this.memory.owners === 0) addon.release(this.memory.native)
  }
}

/** Throws DisposedError if the matrix can't be used any more. */
export function assertUsable(view: ResidentView, name: Name): void {
  if (view.disposed || view.memory.session.closing !== undefined) refuseUnusable(view, name)
}

function refuseUnusable({ disposed, memory }: ResidentView, name: Name): never {
  if (disposed) throw new DisposedError(`${name} has been disposed: use a matrix before you dispose it`)
  throw new DisposedError(
    `${name} was on ${memory.session}, which has been closed: close a device after the last use of its matrices`,
  )
}

/** Base class of DeviceMatrix, which holds the internal state. */
export abstract class Resident {
  readonly #view: ResidentView

  constructor(view: ResidentView) {
    this.#view = view
  }

  /**
   * Returns the internal state of a matrix on a device; undefined for other values.
   *
   * @internal
   */
  static viewOf(value: object): ResidentView | undefined {
    return #view in value ? value.#view : undefined
  }
}
