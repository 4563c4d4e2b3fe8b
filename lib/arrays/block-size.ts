/** Block sizes: as large as memory allows, because each block is read once for each block of the other operand. */
import { bytesOfStored } from '../elements.js'
import { OptionError } from '../errors.js'
import type { ArrayType } from './job.js'

/** Products of larger blocks are no faster, and take longer until the first begins. */
const LARGEST_BLOCK = 8192

/** Element types that determine the bytes of a block: see {@link hostBytes}. */
export interface BlockTypes {
  /** Type of the operands on disk. */
  readonly operand: ArrayType
  /** Type of the result. */
  readonly result: ArrayType
}

/** Blocks that are read ahead while others are uploaded: one is read, one is uploaded. */
export const READ_BUFFERS = 2

/** Blocks of the result in memory: one is computed or downloaded, one is written. */
export const WRITE_BUFFERS = 2

/** Operands on the device: two that are multiplied, two for the next product. */
export const MIN_CACHED = 4

/** Blocks of the result on the device: one grows, one is downloaded. */
export const RESULTS = 2

/**
 * The least memory that the work takes with square blocks of this size: buffers, and, because a plan doesn't know whether it is
 * computed on a GPU, what the CPU as a device holds. There a product packs both operands and parts of the result, in elements of 4
 * bytes or 8.
 */
export function hostBytes(size: number, { operand, result }: BlockTypes): number {
  const [a, c] = [bytesOfStored(operand), bytesOfStored(result)]
  return size ** 2 * (MIN_CACHED * a + fixedBytes(a, c))
}

/** Host bytes per element of a square block, without the operands on the device. */
export const fixedBytes = (operand: number, result: number) =>
  READ_BUFFERS * operand + (WRITE_BUFFERS + RESULTS) * result + packedBytes(result) + EXACT_BYTES

/** Bytes per element of a block that is recomputed in float64 after an overflow. */
const EXACT_BYTES = 8

/** Bytes that a product on the CPU packs per element of a square block. */
export const packedBytes = (element: number) => 4 * Math.max(4, element)

/** Bytes in a message, rounded up: that many are enough. */
export const kib = (bytes: number) => `${Math.ceil(bytes / 1024)} KiB`

/** The largest size that memory allows: a multiple of `unit`, or what covers `length`. */
export function blockSize(
  memory: number,
  length: number,
  unit: number,
  other: number,
  types: BlockTypes,
): number {
  const most = Math.max(1, Math.floor(Math.min(LARGEST_BLOCK, length) / unit)) * unit
  for (let size = Math.ceil(Math.min(most, length) / unit) * unit; size >= unit; size -= unit) {
    if (hostBytes(size, types) + other <= memory) return size
  }
  const needed = hostBytes(unit, types) + other
  throw new OptionError(
    `option memory must be at least ${kib(needed)} for blocks of ${unit} × ${unit}, which the chunks of the output need, ` +
      `but it is ${kib(memory)}: give more memory, or smaller chunks`,
  )
}
