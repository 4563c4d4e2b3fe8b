/**
 * The errors of the library. Each has a stable `code`, and a message that says what was expected, what came and what
 * to do. {@link errorClasses} is the registry: a code that isn't in it doesn't exist.
 *
 * Eight classes are public. The others are subclasses that set a code, for throwing in lib: users see the name of the public class.
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
  /** Tells errors apart, and stays the same from version to version. */
  abstract readonly code: string

  /** The name of the public class, which minifiers don't change. */
  override get name(): string {
    return 'MpmmlError'
  }
}

/**
 * An argument, an option or an environment variable that is wrong, or doesn't fit the others: `code` says in which way.
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

/** Shapes that don't fit, data shorter than shape and strides need, operands that overlap the result. */
export class ShapeError extends ArgumentError {
  override readonly code = 'ERR_MPMML_SHAPE'
}

/** Data of a type, or in a kind of buffer, that the library doesn't take. */
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
 * Memory, a GPU, the native addon, an optional package or a queue that is missing or has failed: `code` says which.
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

/** There isn't enough host or device memory. */
export class OutOfMemoryError extends ResourceError {}

/** The CUDA backend was asked for and can't be used. */
export class NoCudaError extends ResourceError {
  override readonly code = 'ERR_MPMML_NO_CUDA'
}

/** A CUDA call failed: the message has the call, CUDA's name of the error and the place. */
export class CudaError extends ResourceError {
  override readonly code = 'ERR_MPMML_CUDA'
}

/** WebGPU was requested and can't be used. */
export class NoWebGpuError extends ResourceError {
  override readonly code = 'ERR_MPMML_NO_WEBGPU'
}

/** The GPU of WebGPU was lost: its matrices are gone. A new `openDevice()` or product looks for a GPU again. */
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

/** A queue that can't be reached, refuses, or was lost; or work on it that another process is at. */
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
 * A search that found nothing within a limit that an option sets, or input beyond one.
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
 * A cycle gains: going round it once more makes a result better, so there is no best one. In min-plus that is a cycle of
 * negative weight. Or a cycle stands where none may be: in an order, or of edges without tokens.
 *
 * @example
 * const graph = { nodes: 2, from: [0, 1], to: [1, 0], weight: [1, -2] }
 * await shortestPaths(graph).catch(({ code, cycle, weight }) => console.log(code, cycle.join(), weight)) // ERR_MPMML_CYCLE 0,1 -1
 */
export class CycleError extends MpmmlError {
  readonly code = 'ERR_MPMML_CYCLE'
  /** The nodes of the cycle, in order from the least on; the edge of the last one leads back to the first. */
  readonly cycle: readonly number[]
  /**
   * Weight of the cycle, ⊗ of the weights of its edges: exact for int32, rounded for floats. NaN if weights
   * don't matter.
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
 * A file, or an array of files, that can't be read or written, or isn't what it should be: `code` says in which way.
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

/** An output that exists already, or work on it that was begun and not finished. */
export class ExistsError extends FileError {
  override readonly code = 'ERR_MPMML_EXISTS'
}

/** Work that can't be resumed, because it was begun with other inputs or options; or work to finish that isn't done. */
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

/** A full disk, or a quota or limit of file sizes that has been reached. Finished blocks are kept. */
export class DiskFullError extends FileError {
  override readonly code = 'ERR_MPMML_DISK_FULL'
}

/** A path outside of the folders that work may touch. */
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

/** Returns an error of the addon as an instance of the class for its code, and any other value unchanged. */
export function fromNative(error: unknown): unknown {
  if (error instanceof MpmmlError) return error
  const code = (error as { code?: unknown } | null)?.code
  if (typeof code !== 'string' || !(code in errorClasses)) return error
  return new errorClasses[code as ErrorCode]((error as Error).message)
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
    // Not by its class: the addon's may be another context's.
    return typeof (given as { then?: unknown } | null)?.then === 'function'
      ? (given as Promise<T>).catch(fail)
      : given
  } catch (error) {
    return fail(error)
  }
}
