/** Parts of groups over semirings of the library: members as native code reads them, and where their results are. */
import { OutOfMemoryError } from '../errors.js'
import { memberAt as at, MEMBER_FIELDS, REPORT_FIELDS, REQUEST_FIELDS } from '../fields.js'
import { addon } from '../native.js'
import type { OperandArray } from '../storage.js'
import type { View } from '../view.js'
import type { AnyResult } from './options.js'
import {
  type Call,
  FURTHER_BYTES,
  furtherKinds,
  type PartResults,
  type Product,
  type Result,
  writeCall,
  writeSizes,
} from './request.js'
import { madeMemories, releaseMade, resultOf } from './result.js'

/** Alignment of the results of a group in memory of a device, in bytes. */
const ALIGNMENT = 256

/**
 * Number of products in a part of a large group on a device. The device gets the first part before the others are read, and then one part
 * per turn of the event loop, so that the group doesn't keep the rest of the program waiting.
 */
export const PART = 1024

/** Starts products over the semiring with this index. */
export async function multiplyPart(
  semiring: number,
  products: readonly Product[],
  call: Call,
  cancel: Int32Array,
): Promise<PartResults> {
  const { session, asked } = call
  const { length } = products
  const buffer = takeBuffer(length)
  const members = new Float64Array(buffer, 0, length * MEMBER_FIELDS)
  const reports = new Float64Array(buffer, members.byteLength, length * REPORT_FIELDS)
  const arrays = writeMembers(members, products, call)
  writeCall(request, call, semiring, products[0]!.type)
  const native = session ? session.native : null
  const made = await addon.multiplyGroup(arrays, request, members, reports, cancel, native)
  const take = () => {
    const memories = madeMemories(made, call)
    const offsets = new Offsets()
    const furtherOffsets = new Offsets()
    const results = products.map((product, index) => {
      const offset = product.out || product.c ? 0 : offsets.next(product, product.bytes)
      const furtherOffset = session && asked.length > 0 ? furtherOffsets.next(product, FURTHER_BYTES) : 0
      return resultOf<AnyResult>(product, memories, reports, index * REPORT_FIELDS, offset, furtherOffset)
    })
    giveBack(buffer)
    return results
  }
  return { take, release: () => releaseMade(made) }
}

/**
 * Writes the members of a part, and gives the arrays that they number. Results that have no place yet follow each other in
 * memory.
 */
function writeMembers(
  members: Float64Array,
  products: readonly Product[],
  { session, asked }: Call,
): OperandArray[] {
  const arrays: OperandArray[] = []
  const offsets = new Offsets()
  const furtherOffsets = new Offsets()
  let start = 0
  for (const product of products) {
    const { a, b, c, out, c0, further, bytes } = product
    writeSizes(members, product, start)
    writeMatrix(members, start + at.aMemory, a, arrays)
    writeMatrix(members, start + at.bMemory, b, arrays)
    if (out ?? c) writeMatrix(members, start + at.cMemory, out ?? c!, arrays)
    else writePlace(members, start + at.cMemory, offsets.next(product, bytes))
    if (c0) writeMatrix(members, start + at.c0Memory, c0, arrays)
    else members[start + at.c0Memory] = 0
    for (const { memory } of furtherKinds) members[start + memory] = 0
    if (asked.length > 0) {
      // They are of one type, so that all of a product have the same place in their memories.
      const offset = session ? furtherOffsets.next(product, FURTHER_BYTES) : 0
      asked.forEach(({ memory }, index) => {
        if (session) writePlace(members, start + memory, offset)
        else writeMatrix(members, start + memory, further[index]!, arrays)
      })
    }
    start += MEMBER_FIELDS
  }
  if (Math.max(offsets.bytes, furtherOffsets.bytes) > Number.MAX_SAFE_INTEGER) {
    throw new OutOfMemoryError(`the results of the group don't fit on ${session}: compute it in parts`)
  }
  return arrays
}

/** Writes where a matrix is into its five fields, of which `start` is the first. */
function writeMatrix(
  members: Float64Array,
  start: number,
  matrix: View | Result,
  arrays: OperandArray[],
): void {
  const { memory, data } = matrix as View
  members[start] = memory ? memory.number : -arrays.push(data as OperandArray)
  members[start + 1] = matrix.offset
  members[start + 2] = matrix.rowStride
  members[start + 3] = matrix.colStride
  members[start + 4] = matrix.batchStride
}

/** Writes the place of a result whose memory native code makes. */
function writePlace(members: Float64Array, start: number, offset: number): void {
  members[start] = 0
  members[start + 1] = offset
}

// Native code reads the request before the call returns, and no user code runs in between: one serves all calls.
const request = new Float64Array(REQUEST_FIELDS)

/** Memory for the members and reports of parts, which native code uses while these run: to make new takes as long as to write it. */
const spareBuffers: ArrayBuffer[] = []
const BYTES_OF_PRODUCT = (MEMBER_FIELDS + REPORT_FIELDS) * Float64Array.BYTES_PER_ELEMENT
const BYTES_OF_PART = PART * BYTES_OF_PRODUCT
const MOST_SPARE = 16

function takeBuffer(count: number): ArrayBuffer {
  if (count > PART) return new ArrayBuffer(count * BYTES_OF_PRODUCT)
  return spareBuffers.pop() ?? new ArrayBuffer(BYTES_OF_PART)
}

function giveBack(buffer: ArrayBuffer): void {
  if (buffer.byteLength === BYTES_OF_PART && spareBuffers.length < MOST_SPARE) spareBuffers.push(buffer)
}

/** Places of results of products, or of auxiliary outputs, in the memory that is made for them. */
class Offsets {
  bytes = 0

  /** Returns the offset of the matrix of the next product, in elements of `bytes` bytes. */
  next({ batch, m, n }: Product, bytes: number): number {
    const offset = this.bytes / bytes
    this.bytes += Math.ceil((batch * m * n * bytes) / ALIGNMENT) * ALIGNMENT
    return offset
  }
}
