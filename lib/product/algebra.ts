/** Algebra of the built-in semirings: calls native code for products and parts of groups. */
import { assertSelective, assertSemiringType, readSemiring } from '../built-in-semirings.js'
import { OutOfMemoryError } from '../errors.js'
import { MEMBER_FIELDS, memberAt, REPORT_FIELDS, REQUEST_FIELDS, requestAt, writeLayout } from '../fields.js'
import { type AuxiliaryMatrices, addon, type NativeMemory, type NativeResult } from '../native.js'
import { option, UNSET } from '../options.js'
import { assertIntegers } from '../overflow.js'
import type { OperandArray } from '../storage.js'
import { userAlgebraOf } from '../user-semiring.js'
import type { View } from '../view.js'
import { type AnyResult, THROW } from './options.js'
import {
  type Algebra,
  AUXILIARY_BYTES,
  auxiliaryKinds,
  type Call,
  type PartResults,
  type Product,
  type Result,
} from './product.js'
import { allocatedMemories, type Plan, planOf, releaseAllocated, resultOf } from './result.js'
import { type StructureFields, writeStructure } from './structure.js'

/** Alignment of the results of a group in memory of a device, in bytes. */
const ALIGNMENT = 256

/**
 * Number of products in a part of a large group on a device. The device receives the first part before the
 * other parts are read, and then one part per turn of the event loop, so that the group doesn't block the
 * program.
 */
const PART = 1024

// One array serves all calls, because native code reads a request before the call returns, and no user code
// runs in between.
const request = new Float64Array(REQUEST_FIELDS)

/**
 * Whether a device has received a product since JavaScript last returned to the event loop. Native code may
 * wait briefly for the first product, because programs that await each product are faster then. Later
 * products don't wait, so programs that start several aren't blocked.
 */
let isBusy = false
const notBusy = () => {
  isBusy = false
}

class BuiltInAlgebra implements Algebra {
  readonly lanes = null
  readonly isList = false
  readonly partOfGroup = PART

  constructor(
    readonly name: string,
    /** Index in the addon's list. */
    readonly index: number,
  ) {}

  assertOperation({ options, requestedOutputs }: Call, type: number): void {
    assertSemiringType(this.index, type)
    if (requestedOutputs.length > 0) assertSelective(this.index, requestedOutputs[0]!.name)
    if (options.overflow !== UNSET) assertIntegers(type, 'the operands are')
  }

  multiply(product: Product, report: Float64Array, cancel: Int32Array): Promise<NativeResult> {
    const { a, b, c, c0, call } = product
    const { native } = call
    this.#write(product)
    if (native && !isBusy) {
      isBusy = true
      queueMicrotask(notBusy)
      request[requestAt.mayWait] = 1
    }
    const [left, right, auxiliary] = [a.data, b.data, auxiliaryOf(product)]
    return addon.multiply(
      left,
      right,
      c!.data,
      c0 ? c0.data : null,
      request,
      report,
      cancel,
      native,
      auxiliary,
    )
  }

  multiplySync(product: Product, report: Float64Array): NativeResult {
    const { a, b, c, c0, call } = product
    const { native } = call
    this.#write(product)
    const auxiliary = auxiliaryOf(product)
    return addon.multiplySync(
      a.data,
      b.data,
      c!.data,
      c0 ? c0.data : null,
      request,
      report,
      native,
      auxiliary,
    )
  }

  multiplyPart(products: readonly Product[], call: Call, cancel: Int32Array): Promise<PartResults> {
    return multiplyPart(this.index, products, call, cancel)
  }

  async plan(product: Product, report: Float64Array, cancel: Int32Array): Promise<Plan> {
    const { a, b, c0, call, structure } = product
    const { native } = call
    writeRequest(request, product, this.index)
    writeLayout(request, 0, requestAt.c, product.newElements())
    request[requestAt.planOnly] = 1
    await addon.multiply(a.data, b.data, null, c0 ? c0.data : null, request, report, cancel, native)
    return planOf(report, structure)
  }

  #write(product: Product): void {
    writeRequest(request, product, this.index)
    writeResults(request, product)
  }
}

const builtIn = addon.semirings.map(({ name }, index) => new BuiltInAlgebra(name, index))

/** The option `semiring` of products. */
export const algebra = option(
  builtIn[readSemiring('max-plus')] as Algebra,
  (value, name): Algebra => (userAlgebraOf(value) as Algebra | null) ?? builtIn[readSemiring(value, name)]!,
)

/** Optional results of a product, in native code's form. */
export function auxiliaryOf({ call, auxiliary }: Pick<Product, 'call' | 'auxiliary'>): AuxiliaryMatrices {
  if (auxiliary.length === 0) return null
  return auxiliaryKinds.map((kind) => {
    const result = auxiliary[call.requestedOutputs.indexOf(kind)]
    return result ? (result.data as Int32Array | NativeMemory | null) : null
  })
}

/** Writes the layouts of a product's results into `request`. */
export function writeResults(request: Float64Array, { call, c, auxiliary }: Product): void {
  writeLayout(request, 0, requestAt.c, c!)
  auxiliary.forEach((result, index) => {
    writeLayout(request, 0, call.requestedOutputs[index]!.layout, result)
  })
}

/** Writes a product over the semiring with this index into `request`, without the layouts of its results. */
export function writeRequest(request: Float64Array, product: Product, semiring: number): void {
  const { a, b, c0 } = product
  writeCall(request, product.call, semiring, product.type)
  writeSizes(request, product, 0)
  writeLayout(request, 0, requestAt.a, a)
  writeLayout(request, 0, requestAt.b, b)
  if (c0) writeLayout(request, 0, requestAt.c0, c0)
}

/** Writes the fields that are common to products of an element type. */
export function writeCall(
  request: Float64Array,
  { options, place }: Call,
  semiring: number,
  type: number,
): void {
  request[requestAt.semiring] = semiring
  request[requestAt.dtype] = type
  request[requestAt.overflow] = options.overflow === UNSET ? THROW : options.overflow
  request[requestAt.backend] = place.backend
  request[requestAt.device] = options.device === UNSET ? 0 : options.device
  request[requestAt.devices] = options.devices
  request[requestAt.variant] = options.variant
  request[requestAt.planOnly] = 0
  request[requestAt.deviceMemory] = place.deviceMemory
  request[requestAt.mayWait] = 0
  for (const { name, asks } of auxiliaryKinds) request[asks] = options[name] ? 1 : 0
}

/** Writes the sizes and the structure of a product from the field `start` on. */
export function writeSizes(
  request: Float64Array,
  product: Product,
  start: number,
  fields: SizeFields = requestAt,
): void {
  request[start + fields.batch] = product.batch
  request[start + fields.m] = product.m
  request[start + fields.n] = product.n
  request[start + fields.k] = product.k
  request[start + fields.keepsC] = product.out ? 1 : 0
  writeStructure(request, product.structure, start, fields)
}

type SizeFields = StructureFields & Readonly<Record<'batch' | 'm' | 'n' | 'k' | 'keepsC', number>>

/** Starts products over the semiring with this index. */
async function multiplyPart(
  semiring: number,
  products: readonly Product[],
  call: Call,
  cancel: Int32Array,
): Promise<PartResults> {
  const { session, requestedOutputs, native } = call
  const { length } = products
  const buffer = takeBuffer(length)
  const members = new Float64Array(buffer, 0, length * MEMBER_FIELDS)
  const reports = new Float64Array(buffer, members.byteLength, length * REPORT_FIELDS)
  const arrays = writeMembers(members, products, call)
  writeCall(request, call, semiring, products[0]!.type)
  const nativeResult = await addon.multiplyGroup(arrays, request, members, reports, cancel, native)
  const take = () => {
    const memories = allocatedMemories(nativeResult, call)
    const offsets = new Offsets()
    const auxiliaryOffsets = new Offsets()
    const results = products.map((product, index) => {
      const offset = product.out || product.c ? 0 : offsets.next(product, product.bytes)
      const auxiliaryOffset =
        session && requestedOutputs.length > 0 ? auxiliaryOffsets.next(product, AUXILIARY_BYTES) : 0
      return resultOf<AnyResult>(product, memories, reports, index * REPORT_FIELDS, offset, auxiliaryOffset)
    })
    giveBack(buffer)
    return results
  }
  return { take, release: () => releaseAllocated(nativeResult) }
}

/**
 * Writes the products of a part, and returns the arrays to which they refer by index. Results without a
 * destination follow each other in memory.
 */
function writeMembers(
  members: Float64Array,
  products: readonly Product[],
  { session, requestedOutputs }: Call,
): OperandArray[] {
  const arrays: OperandArray[] = []
  const offsets = new Offsets()
  const auxiliaryOffsets = new Offsets()
  let start = 0
  for (const product of products) {
    const { a, b, c, out, c0, auxiliary, bytes } = product
    writeSizes(members, product, start)
    writeMatrix(members, start + memberAt.aMemory, a, arrays)
    writeMatrix(members, start + memberAt.bMemory, b, arrays)
    if (out ?? c) writeMatrix(members, start + memberAt.cMemory, out ?? c!, arrays)
    else writePlace(members, start + memberAt.cMemory, offsets.next(product, bytes))
    if (c0) writeMatrix(members, start + memberAt.c0Memory, c0, arrays)
    else members[start + memberAt.c0Memory] = 0
    for (const { memory } of auxiliaryKinds) members[start + memory] = 0
    if (requestedOutputs.length > 0) {
      // All auxiliary outputs have one element type, so those of a product have equal offsets in their
      // memories.
      const offset = session ? auxiliaryOffsets.next(product, AUXILIARY_BYTES) : 0
      requestedOutputs.forEach(({ memory }, index) => {
        if (session) writePlace(members, start + memory, offset)
        else writeMatrix(members, start + memory, auxiliary[index]!, arrays)
      })
    }
    start += MEMBER_FIELDS
  }
  if (Math.max(offsets.bytes, auxiliaryOffsets.bytes) > Number.MAX_SAFE_INTEGER) {
    throw new OutOfMemoryError(`the results of the group don't fit on ${session}: compute it in parts`)
  }
  return arrays
}

/** Writes the layout of a matrix into its five fields, of which `start` is the first. */
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

/** Writes the layout of a result whose memory native code allocates. */
function writePlace(members: Float64Array, start: number, offset: number): void {
  members[start] = 0
  members[start + 1] = offset
}

/**
 * Reusable memory for the requests and reports of parts, which native code uses while parts run. Allocating
 * it would take as long as writing it.
 */
const spareBuffers: ArrayBuffer[] = []
const BYTES_OF_PRODUCT = (MEMBER_FIELDS + REPORT_FIELDS) * Float64Array.BYTES_PER_ELEMENT
const BYTES_OF_PART = PART * BYTES_OF_PRODUCT
const MAX_SPARE = 16

function takeBuffer(count: number): ArrayBuffer {
  if (count > PART) return new ArrayBuffer(count * BYTES_OF_PRODUCT)
  return spareBuffers.pop() ?? new ArrayBuffer(BYTES_OF_PART)
}

function giveBack(buffer: ArrayBuffer): void {
  if (buffer.byteLength === BYTES_OF_PART && spareBuffers.length < MAX_SPARE) spareBuffers.push(buffer)
}

/** Positions of results of products, or of auxiliary outputs, in the memory that is allocated for them. */
class Offsets {
  bytes = 0

  /** Returns the offset of the matrix of the next product, in elements of `bytes` bytes. */
  next({ batch, m, n }: Product, bytes: number): number {
    const offset = this.bytes / bytes
    this.bytes += Math.ceil((batch * m * n * bytes) / ALIGNMENT) * ALIGNMENT
    return offset
  }
}
