/** Block sizes: as large as memory allows, because each block is read once for each block of the other operand. */
import { bytesOfStored } from '../elements.js'
import { OptionError } from '../errors.js'
import type { ArrayType } from './job.js'

/** Upper limit of a block's side. Larger products are no faster, and delay the first product. */
const LARGEST_BLOCK = 8192

/** Element types that determine the bytes of a block: see {@link hostBytes}. */
export interface BlockTypes {
  /** Type of the operands on disk. */
  readonly operand: ArrayType
  /** Type of the result. */
  readonly result: ArrayType
}

/** Number of host buffers for operands: one is read while another is uploaded. */
export const READ_BUFFERS = 2

/** Number of result blocks in host memory: one is computed or downloaded, one is written. */
export const WRITE_BUFFERS = 2

/** Minimum number of operands on the device: two that are multiplied, two for the next product. */
export const MIN_CACHED = 4

/** Number of result blocks on the device: one accumulates products, one is downloaded. */
export const RESULTS = 2

/**
 * Returns the minimum host bytes for square blocks of a size. A plan doesn't know its backend, so the sum
 * includes the memory of the CPU as a device. A product on the CPU packs both operands and parts of the
 * result, in elements of 4 or 8 bytes.
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

/** Formats bytes for a message, rounded up so that the stated amount suffices. */
export const kib = (bytes: number) => `${Math.ceil(bytes / 1024)} KiB`

/**
 * Returns the largest block size that memory allows: a multiple of `unit`, or the size that covers `length`.
 */
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
