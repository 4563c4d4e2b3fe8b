/** A checked product, and how native code is asked for it. */

import type { Borrowed } from '../borrowed.js'
import type { Session } from '../device/resident.js'
import { bytesOf, INT32 } from '../elements.js'
import { requestAt as at, furtherResults, writeLayout } from '../fields.js'
import { type Elements, rowMajorElements } from '../layout.js'
import type { FurtherMatrices, FurtherName, NativeMemory } from '../native.js'
import { LEFT_OUT } from '../options.js'
import type { Place } from '../placement.js'
import type { NativeWork } from '../run-native.js'
import type { ElementArray } from '../storage.js'
import { requireStillThere, requireThere, type View } from '../view.js'
import { type Names, plainNames } from './names.js'
import { type ReadOptions, THROW } from './options.js'
import { type ReadStructure, writeStructure } from './structure.js'

/** Where a result goes: into an array, or memory of a device; null if that isn't made yet. */
export interface Result extends Elements {
  data: ElementArray | NativeMemory | null
}

/** Of an element of a further result. */
export const FURTHER_BYTES = bytesOf(INT32)

/** A kind of further results, and the fields that are its own. */
export interface Further {
  readonly name: FurtherName
  /** Whether it is asked for. */
  readonly asks: number
  /** Where its memory is, in groups. */
  readonly memory: number
  readonly layout: typeof at.c
}

/** The field that says whether a further result is asked for. */
export const asksField = (name: FurtherName): `asks${Capitalize<FurtherName>}` =>
  `asks${`${name[0]!.toUpperCase()}${name.slice(1)}` as Capitalize<FurtherName>}`

/** All that there are, in the order of native code. */
export const furtherKinds: readonly Further[] = furtherResults.map((name) => ({
  name,
  asks: at[asksField(name)],
  memory: at[`${name}Memory`],
  layout: at[name],
}))

/** What the products of a call have in common. */
export class Call {
  /** The device that the matrices are on; null if all are in arrays. */
  session: Session | null = null
  /** Of products of arrays; matrices of a device decide for themselves. */
  place: Place
  /** The further results that are asked for. */
  readonly asked: readonly Further[]

  constructor(readonly options: ReadOptions) {
    this.asked = furtherKinds.filter(({ name }) => options[name])
    this.place = { backend: options.backend, deviceMemory: 0, atOnce: false, mayUseCuda: false }
  }
}

/** A product: its matrices, and the sizes that it has if they fit, which checkProduct() finds. */
export class Product implements Borrowed {
  /** Where the result goes, which allocateResult() says; null in groups on a device, whose results share memory. */
  c: Result | null = null
  /** The same for each further result that is asked for. */
  further: readonly Result[] = []
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

  /** Checks again what user code may have taken away since checkProduct(). */
  requireThere(names: Names = plainNames): void {
    requireThere(this.a, names.a)
    requireThere(this.b, names.b)
    if (this.c0) requireThere(this.c0, names.accumulate)
    if (this.out) requireThere(this.out, names.out)
  }

  requireStillThere(names: Names = plainNames): void {
    requireStillThere(this.a, names.a)
    requireStillThere(this.b, names.b)
    if (this.c0) requireStillThere(this.c0, names.accumulate)
    if (this.out) requireStillThere(this.out, names.out)
  }

  /** The elements of the result from `offset` on, if it is made for the product. */
  newElements(offset = 0): Elements {
    const { type, bytes, batched, batch, m, n } = this
    return rowMajorElements(type, bytes, batched, batch, m, n, offset)
  }

  /** The elements of a further result from `offset` on. */
  newFurther(offset = 0): Elements {
    const { batched, batch, m, n } = this
    return rowMajorElements(INT32, FURTHER_BYTES, batched, batch, m, n, offset)
  }
}

/** The further results of a product as native code takes them. */
export function furtherOf({ call, further }: Pick<Product, 'call' | 'further'>): FurtherMatrices {
  if (further.length === 0) return null
  return furtherKinds.map((kind) => {
    const result = further[call.asked.indexOf(kind)]
    return result ? (result.data as Int32Array | NativeMemory | null) : null
  })
}

/** Writes where the results of a product are into `request`. */
export function writeResults(request: Float64Array, { call, c, further }: Product): void {
  writeLayout(request, 0, at.c, c!)
  further.forEach((result, index) => {
    writeLayout(request, 0, call.asked[index]!.layout, result)
  })
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
  for (const { name, asks } of furtherKinds) request[asks] = options[name] ? 1 : 0
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

/** A product as work of native code. `borrowed` are its matrices, if they aren't only those of `product`. */
export function workOf(
  product: Product,
  what: string,
  report: Float64Array,
  borrowed: Borrowed = product,
): NativeWork {
  const { options, batch, m, n, k } = product
  const { signal, onProgress } = options
  return { what, signal, onProgress, report, steps: batch * m * n * k, borrowed }
}
