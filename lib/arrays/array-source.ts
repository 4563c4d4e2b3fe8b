/** Interface of matrices on disk, from which blocks are read. */

import { storedArrays } from '../element-types.js'
import { bytesOfStored } from '../elements.js'
import type { ElementArray, OperandArray } from '../storage.js'
import type { ArrayType, PlannedInput } from './job.js'
import type { Stored } from './store.js'

/** Half-open interval: the second end is excluded. */
export type Range = readonly [from: number, to: number]

/** A block in memory. */
export interface ReadBlock {
  readonly strides: [number, number]
  /** Bytes read from files. */
  readonly bytesRead: number
}

export interface ArraySource {
  readonly path: string
  readonly shape: readonly [number, number]
  readonly dtype: ArrayType
  /**
   * Rows and columns of the smallest part that is read as a whole. Blocks that are multiples of it read no
   * byte twice.
   */
  readonly unit: readonly [number, number]
  /** Bytes of buffers that reading a block takes besides the block. */
  readonly extraBytes: number
  /**
   * Reads a block into memory, by rows or by columns.
   *
   * @param planned - the plan's description of the array. A file that has changed since throws ChangedError;
   * a missing file throws FileError.
   */
  read(rows: Range, cols: Range, memory: Uint8Array, planned: PlannedInput): Promise<ReadBlock>
  /** All files. */
  files(): Promise<readonly Stored[]>
}

/** Returns the first `count` elements of type `dtype` in `memory`. */
export function elementsIn(memory: Uint8Array, dtype: ArrayType, count: number): OperandArray {
  return new storedArrays[dtype](memory.buffer as ArrayBuffer, memory.byteOffset, count)
}

/** Bytes of a block. */
export const blockBytes = (dtype: ArrayType, rows: number, cols: number) => rows * cols * bytesOfStored(dtype)

/** Returns the bytes of an array. */
export const bytesIn = ({ buffer, byteOffset, byteLength }: ElementArray) =>
  new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength)
