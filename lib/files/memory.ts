/** Allocates memory for the contents of untrusted files, with limits. */
import { show } from '../describe.js'
import { bytesOf, newArray } from '../elements.js'
import { LimitError, OptionError } from '../errors.js'
import { allocate } from '../matrix.js'
import { addon } from '../native.js'
import { option } from '../options.js'
import type { ElementArray } from '../storage.js'
import type { DataType } from '../variant-names.js'

/** Memory options of readers of matrices. */
export interface MemoryOptions {
  /**
   * Limit in bytes of the elements or entries that are read. It protects against untrusted input, because a
   * few bytes of a sparse or compressed file can encode many elements. Default: the available memory.
   */
  maxBytes?: number | undefined
}

/** Option `maxBytes`; no limit by default. */
export const maxBytes = option(Number.POSITIVE_INFINITY, (value, name) => {
  if (typeof value === 'number' && value >= 0) return value
  throw new OptionError(`option ${name} must be a number of bytes, 0 or more, but it is ${show(value)}`)
})

export function assertWithinLimit(bytes: number, maxBytes: number, name: string): void {
  if (bytes <= maxBytes) return
  throw new LimitError(
    `${name}: its elements take ${bytes} bytes, but the option maxBytes allows ${maxBytes}: raise it, or refuse the file`,
  )
}

const advice =
  'readEntries reads a sparse file as its entries, and multiplyArrays of mpmml/arrays multiplies .npy files block by block'

/** Allocates the elements of a matrix that a file holds. */
export function newMatrixData(count: number, name: string, dtype: DataType, maxBytes: number): ElementArray {
  const type = addon.dataTypes.indexOf(dtype)
  assertWithinLimit(count * bytesOf(type), maxBytes, name)
  const data = allocate(count, name, type, newArray, advice)
  // Reading 1 GB into small pages took three times as long.
  addon.preferHugePages(data)
  return data
}
