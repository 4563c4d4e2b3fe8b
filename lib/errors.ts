/**
 * The errors of the library. Each error has a stable `code`, and a message with the expected value, the
 * actual value and a remedy. {@link errorClasses} is the registry of all codes.
 *
 * Eight classes are public. The other classes are subclasses that set a code, for use inside lib: users see
 * the name of the public class.
 */

/**
 * Base class of all errors of the library.
 *
 * @example
 * await mpmm(matrix(2, 3), matrix(2, 3)).catch((error) => {
 *   console.log(error instanceof MpmmlError, error.code) // true ERR_MPMML_SHAPE
 * })
 */
export abstract class MpmmlError extends Error {
  /** Identifies the kind of error. Codes are stable across versions. */
  abstract readonly code: string

  /** The name of the public class, which minifiers don't change. */
  override get name(): string {
    return 'MpmmlError'
  }
}

/**
 * An argument, an option or an environment variable is invalid, or contradicts another one: `code` says in
 * which way.
 *
 * @example
 * await mpmm(matrix(2, 3), matrix(2, 3)).catch(({ name, message }) => console.log(`${name}: ${message}`))
 * // ArgumentError: a [2, 3] has 3 columns and b [2, 3] has 2 rows: the inner dimensions of a product must be equal
 */
export class ArgumentError extends MpmmlError {
  readonly code: string = 'ERR_MPMML_OPTION'

  override get name(): string {
    return 'ArgumentError'
  }
}

/** An option or an environment variable that is wrong: its name, or its value. */
export class OptionError extends ArgumentError {}

/** Shapes don't fit, data is shorter than shape and strides require, or operands overlap the result. */
export class ShapeError extends ArgumentError {
  override readonly code = 'ERR_MPMML_SHAPE'
}

/** Data has a type, or is in a kind of buffer, that the library doesn't accept. */
export class DTypeError extends ArgumentError {
  override readonly code = 'ERR_MPMML_DTYPE'
}

/** An element that the semiring doesn't have, such as a negative one with max-times. */
export class ValueError extends ArgumentError {
  override readonly code = 'ERR_MPMML_VALUE'
}

/** A kernel variant that doesn't exist, isn't in this build or can't run this product. */
export class VariantError extends ArgumentError {
  override readonly code = 'ERR_MPMML_VARIANT'
}

/** A matrix of a device that has been disposed, or whose device has been closed. */
export class DisposedError extends ArgumentError {
  override readonly code = 'ERR_MPMML_DISPOSED'
}

/** Matrices of several devices in one product, or a result on the host of operands that stay on a device. */
export class DeviceError extends ArgumentError {
  override readonly code = 'ERR_MPMML_DEVICE'
}

/**
 * Memory, a GPU, the native addon, an optional package or a queue is missing or has failed: `code` says
 * which.
 *
 * @example
 * try {
 *   matrix(2 ** 25, 2 ** 25)
 * } catch (error) {
 *   console.log(error instanceof ResourceError, error.code) // true ERR_MPMML_OUT_OF_MEMORY
 * }
 */
export class ResourceError extends MpmmlError {
  readonly code: string = 'ERR_MPMML_OUT_OF_MEMORY'

  override get name(): string {
    return 'ResourceError'
  }
}

/** Host or device memory doesn't suffice. */
export class OutOfMemoryError extends ResourceError {}

/** The CUDA backend was requested and can't be used. */
export class NoCudaError extends ResourceError {
  override readonly code = 'ERR_MPMML_NO_CUDA'
}

/** A CUDA call failed: the message has the call, CUDA's name of the error and the source location. */
export class CudaError extends ResourceError {
  override readonly code = 'ERR_MPMML_CUDA'
}

/** WebGPU was requested and can't be used. */
export class NoWebGpuError extends ResourceError {
  override readonly code = 'ERR_MPMML_NO_WEBGPU'
}

/**
 * The GPU of WebGPU was lost, and with it the matrices on it. A new `openDevice()` or product searches for a
 * GPU again.
 */
export class DeviceLostError extends ResourceError {
  override readonly code = 'ERR_MPMML_DEVICE_LOST'
}

/** The native addon is missing or can't be loaded. */
export class AddonError extends ResourceError {
  override readonly code = 'ERR_MPMML_ADDON'
}

/** A package that an optional feature needs isn't installed, or can't be loaded. The message has the command that installs it. */
export class PackageError extends ResourceError {
  override readonly code = 'ERR_MPMML_PACKAGE'
}

/**
 * A queue can't be reached, rejects a request, or was lost, or another producer already executes the same plan.
 */
export class QueueError extends ResourceError {
  override readonly code = 'ERR_MPMML_QUEUE'
}

/**
 * A result is decided by a finite sum outside the finite range, under `overflow: 'throw'`.
 *
 * @example
 * const a = matrix(1, 1, [2 ** 30])
 * await mpmm(a, a).catch(({ code }) => console.log(code)) // ERR_MPMML_OVERFLOW
 * console.log((await mpmm(a, a, { overflow: 'saturate' })).c.data[0]) // 2147483647
 */
export class OverflowError extends MpmmlError {
  readonly code = 'ERR_MPMML_OVERFLOW'

  override get name(): string {
    return 'OverflowError'
  }
}

/**
 * The work was aborted by its AbortSignal; `cause` is the signal's reason.
 *
 * @example
 * const signal = AbortSignal.abort('not needed')
 * await mpmm(matrix(1, 1), matrix(1, 1), { signal }).catch(({ code, cause }) => console.log(code, cause)) // ERR_MPMML_ABORTED not needed
 */
export class AbortedError extends MpmmlError {
  readonly code = 'ERR_MPMML_ABORTED'

  override get name(): string {
    return 'AbortedError'
  }
}

/**
 * A search found nothing within the limit of an option, or input exceeds the limit of an option.
 *
 * @example
 * await writeMatrix('a.npy', matrix(10, 10))
 * await readMatrix('a.npy', { maxBytes: 100 }).catch(({ code }) => console.log(code)) // ERR_MPMML_LIMIT
 */
export class LimitError extends MpmmlError {
  readonly code = 'ERR_MPMML_LIMIT'

  override get name(): string {
    return 'LimitError'
  }
}

/** Cycle that a {@link CycleError} reports. */
export interface FoundCycle {
  readonly cycle?: readonly number[] | undefined
  readonly weight?: number | undefined
  readonly batch?: number | undefined
  readonly keys?: readonly unknown[] | undefined
}

/**
 * A cycle gains: each further round improves a result, so no best result exists. In min-plus a cycle of
 * negative weight gains. Also thrown for cycles where none is allowed: in a topological order, or of edges
 * without tokens.
 *
 * @example
 * const graph = { nodes: 2, from: [0, 1], to: [1, 0], weight: [1, -2] }
 * await shortestPaths(graph).catch(({ code, cycle, weight }) => console.log(code, cycle.join(), weight)) // ERR_MPMML_CYCLE 0,1 -1
 */
export class CycleError extends MpmmlError {
  readonly code = 'ERR_MPMML_CYCLE'
  /** Nodes of the cycle, in order from the least node on; an edge leads from the last node to the first. */
  readonly cycle: readonly number[]
  /**
   * Weight of the cycle, the ⊗ of the weights of its edges: exact for int32, rounded for floats. NaN if
   * weights don't matter.
   */
  readonly weight: number
  /** The index of the matrix, if it is one of a batch. */
  readonly batch: number | undefined
  /** The names of the nodes of {@link cycle}, if the graph has names. */
  readonly keys: readonly unknown[] | undefined

  constructor(
    message?: string,
    { cause, cycle = [], weight = Number.NaN, batch, keys }: ErrorOptions & FoundCycle = {},
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.cycle = cycle
    this.weight = weight
    this.batch = batch
    this.keys = keys
  }

  override get name(): string {
    return 'CycleError'
  }
}

/**
 * A file, or an array in files, can't be read or written, or is invalid: `code` says in which way.
 *
 * @example
 * await readMatrix('missing.npy').catch(({ code }) => console.log(code)) // ERR_MPMML_FILE
 */
export class FileError extends MpmmlError {
  readonly code: string = 'ERR_MPMML_FILE'

  override get name(): string {
    return 'FileError'
  }
}

/** An output exists already, or unfinished work on it exists. */
export class ExistsError extends FileError {
  override readonly code = 'ERR_MPMML_EXISTS'
}

/**
 * Work can't be resumed, because it was begun with other inputs or options; or work can't be finished,
 * because jobs are missing.
 */
export class ResumeError extends FileError {
  override readonly code = 'ERR_MPMML_RESUME'
}

/** An input has changed since the work on it was begun. */
export class ChangedError extends FileError {
  override readonly code = 'ERR_MPMML_CHANGED'
}

/** A chunk of an array on disk is damaged: too short, or its codec or checksum refuses it. */
export class ChunkError extends FileError {
  override readonly code = 'ERR_MPMML_CHUNK'
}

/** The disk is full, or a quota or a limit of file sizes is reached. Finished blocks remain. */
export class DiskFullError extends FileError {
  override readonly code = 'ERR_MPMML_DISK_FULL'
}

/** A path is outside of the folders that work may access. */
export class RootsError extends FileError {
  override readonly code = 'ERR_MPMML_ROOTS'
}

/** Every error class by its code. */
export const errorClasses = {
  ERR_MPMML_SHAPE: ShapeError,
  ERR_MPMML_DTYPE: DTypeError,
  ERR_MPMML_VALUE: ValueError,
  ERR_MPMML_OVERFLOW: OverflowError,
  ERR_MPMML_NO_CUDA: NoCudaError,
  ERR_MPMML_OUT_OF_MEMORY: OutOfMemoryError,
  ERR_MPMML_VARIANT: VariantError,
  ERR_MPMML_OPTION: OptionError,
  ERR_MPMML_ABORTED: AbortedError,
  ERR_MPMML_DISPOSED: DisposedError,
  ERR_MPMML_DEVICE: DeviceError,
  ERR_MPMML_FILE: FileError,
  ERR_MPMML_CYCLE: CycleError,
  ERR_MPMML_LIMIT: LimitError,
  ERR_MPMML_CUDA: CudaError,
  ERR_MPMML_NO_WEBGPU: NoWebGpuError,
  ERR_MPMML_DEVICE_LOST: DeviceLostError,
  ERR_MPMML_ADDON: AddonError,
  ERR_MPMML_PACKAGE: PackageError,
  ERR_MPMML_EXISTS: ExistsError,
  ERR_MPMML_RESUME: ResumeError,
  ERR_MPMML_CHANGED: ChangedError,
  ERR_MPMML_CHUNK: ChunkError,
  ERR_MPMML_DISK_FULL: DiskFullError,
  ERR_MPMML_ROOTS: RootsError,
  ERR_MPMML_QUEUE: QueueError,
} as const

/** The code of an error of this library. */
export type ErrorCode = keyof typeof errorClasses

/** Returns an error with a code of the library; undefined for other codes. */
export function errorWithCode(code: unknown, message: string): MpmmlError | undefined {
  if (typeof code !== 'string' || !Object.hasOwn(errorClasses, code)) return undefined
  return new errorClasses[code as ErrorCode](message)
}

/** Returns an error of the addon as an instance of the class for its code, and any other value unchanged. */
export function fromNative(error: unknown): unknown {
  if (error instanceof MpmmlError) return error
  const { code, message = '' } = (error ?? {}) as { code?: unknown; message?: string }
  return errorWithCode(code, message) ?? error
}

/**
 * Calls native code and returns its result, or a promise of it. Converts its errors to the library's classes.
 */
export function natively<T>(call: () => Promise<T>): Promise<T>
export function natively<T>(call: () => T): T
export function natively<T>(call: () => T | Promise<T>): T | Promise<T> {
  const fail = (error: unknown): never => {
    throw fromNative(error)
  }
  try {
    const given = call()
    // A class check would fail, because the addon's promises may be of another context.
    return typeof (given as { then?: unknown } | null)?.then === 'function'
      ? (given as Promise<T>).catch(fail)
      : given
  } catch (error) {
    return fail(error)
  }
}
