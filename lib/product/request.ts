/** A checked product, and how native code is asked for it. */

import type { Session } from '../device/resident.js'
import { bytesOf, INT32 } from '../elements.js'
import { requestAt as at, writeLayout } from '../fields.js'
import { type Elements, rowMajorElements } from '../layout.js'
import type { FurtherMatrices, NativeMemory } from '../native.js'
import { LEFT_OUT } from '../options.js'
import type { Place } from '../placement.js'
import type { ElementArray } from '../storage.js'
import type { View } from '../view.js'
import { type ReadOptions, THROW } from './options.js'
import { type ReadStructure, writeStructure } from './structure.js'

/** Where a result goes: into an array, or memory of a device; null if that isn't made yet. */
export interface Result extends Elements {
  data: ElementArray | NativeMemory | null
}

/** Of an element of a witness. */
export const WITNESS_BYTES = bytesOf(INT32)

/** What the products of a call have in common. */
export class Call {
  /** The device that the matrices are on; null if all are in arrays. */
  session: Session | null = null
  /** Of products of arrays; matrices of a device decide for themselves. */
  place: Place

  constructor(readonly options: ReadOptions) {
    this.place = { backend: options.backend, deviceMemory: 0, atOnce: false, mayUseCuda: false }
  }
}

/** A product: its matrices, and the sizes that it has if they fit, which checkProduct() finds. */
export class Product {
  /** Where the result goes, which allocateResult() says; null in groups on a device, whose results share memory. */
  c: Result | null = null
  /** The same for the witness; null if none is asked for. */
  witness: Result | null = null
  // Not looked up in the matrices again: those of some thousand products aren't in a processor's caches any more when the
  // products have been computed.
  /** The element type, by its number. */
  readonly type: number
  readonly batched: boolean
  readonly batch: number
  readonly m: number
  readonly n: number
  readonly k: number

  constructor(
    readonly call: Call,
    readonly a: View,
    readonly b: View,
    /** The view of `out`; null if it wasn't given. */
    readonly out: View<ElementArray> | null,
    /** `out` as it was given. */
    readonly outValue: unknown,
    readonly c0: View<ElementArray> | null,
    /** Null: all elements belong to the product. */
    readonly structure: ReadStructure | null,
  ) {
    this.type = a.type
    this.batched = a.batched || b.batched
    this.batch = a.batch === 1 ? b.batch : a.batch
    this.m = a.rows
    this.n = b.cols
    this.k = a.cols
  }

  get options(): ReadOptions {
    return this.call.options
  }
  get session(): Session | null {
    return this.call.session
  }
  /** Of an element of the result. */
  get bytes(): number {
    return bytesOf(this.type)
  }

  /** The elements of the result from `offset` on, if it is made for the product. */
  newElements(offset = 0): Elements {
    const { type, bytes, batched, batch, m, n } = this
    return rowMajorElements(type, bytes, batched, batch, m, n, offset)
  }

  /** The elements of the witness from `offset` on. */
  newWitness(offset = 0): Elements {
    const { batched, batch, m, n } = this
    return rowMajorElements(INT32, WITNESS_BYTES, batched, batch, m, n, offset)
  }
}

/** The further results of a product as native code takes them. */
export const furtherOf = ({ witness }: { readonly witness: Result | null }): FurtherMatrices =>
  witness && [witness.data as Int32Array | NativeMemory | null]

/** Writes where the results of a product are into `request`. */
export function writeResults(request: Float64Array, { c, witness }: Product): void {
  writeLayout(request, 0, at.c, c!)
  if (witness) writeLayout(request, 0, at.witness, witness)
}

/** Writes `product` into `request`; not where its results are. */
export function writeRequest(request: Float64Array, product: Product): void {
  const { a, b, c0 } = product
  writeCall(request, product.call, product.type)
  writeSizes(request, product, 0)
  writeLayout(request, 0, at.a, a)
  writeLayout(request, 0, at.b, b)
  if (c0) writeLayout(request, 0, at.c0, c0)
}

/** Writes what products of this element type have in common. */
export function writeCall(request: Float64Array, { options, place }: Call, type: number): void {
  request[at.semiring] = options.semiring
  request[at.dtype] = type
  request[at.overflow] = options.overflow === LEFT_OUT ? THROW : options.overflow
  request[at.backend] = place.backend
  request[at.device] = options.device === LEFT_OUT ? 0 : options.device
  request[at.devices] = options.devices
  request[at.variant] = options.variant
  request[at.planOnly] = 0
  request[at.deviceMemory] = place.deviceMemory
  request[at.mayWait] = 0
  request[at.asksWitness] = options.witness ? 1 : 0
}

/** Writes what `product` has of its own, but for its matrices, from the field `start` on. */
export function writeSizes(member: Float64Array, product: Product, start: number): void {
  member[start + at.batch] = product.batch
  member[start + at.m] = product.m
  member[start + at.n] = product.n
  member[start + at.k] = product.k
  member[start + at.keepsC] = product.out ? 1 : 0
  writeStructure(member, product.structure, start)
}
