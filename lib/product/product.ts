/** Data of products and of their calls, and the interface of the algebras that compute them. */

import type { Placement } from '../backend-selection.js'
import type { Borrowed } from '../borrowed.js'
import type { Session } from '../device/resident.js'
import { bytesOf, INT32 } from '../elements.js'
import { requestAt as at, auxiliaryResults } from '../fields.js'
import { type Elements, rowMajorElements } from '../layout.js'
import type { AuxiliaryName, NativeDevice, NativeMemory, NativeResult } from '../native.js'
import type { NativeWork } from '../run-native.js'
import type { ElementArray } from '../storage.js'
import type { LaneType } from '../user-semiring.js'
import { assertAttached, assertStillAttached, type View } from '../view.js'
import { type Names, namesOfLane, plainNames } from './names.js'
import type { CallOptions } from './options.js'
import type { ReadStructure } from './structure.js'

/** Destination of a result: an array, or memory of a device; null until it is allocated. */
export interface Result extends Elements {
  data: ElementArray | NativeMemory | null
}

/** Bytes of an element of an auxiliary output. */
export const AUXILIARY_BYTES = bytesOf(INT32)

/** A kind of auxiliary outputs, with its fields in a request. */
export interface Auxiliary {
  readonly name: AuxiliaryName
  /** Field of a request that requests the output. */
  readonly asks: number
  /** Field with the memory of the output, in groups. */
  readonly memory: number
  readonly layout: typeof at.c
}

/** Returns the name of the field that requests an auxiliary output. */
export const asksField = (name: AuxiliaryName): `asks${Capitalize<AuxiliaryName>}` =>
  `asks${`${name[0]!.toUpperCase()}${name.slice(1)}` as Capitalize<AuxiliaryName>}`

/** All kinds of auxiliary outputs, in the order of native code. */
export const auxiliaryKinds: readonly Auxiliary[] = auxiliaryResults.map((name) => ({
  name,
  asks: at[asksField(name)],
  memory: at[`${name}Memory`],
  layout: at[name],
}))

/** Products of a group that have been computed. */
export interface PartResults {
  /** Returns the results. Must be called only once. */
  take(): unknown[]
  /** Releases the results, if take() isn't called. */
  release(): void
}

/** Part of a product that depends on its algebra; the rest is common to built-in and custom semirings. */
export interface Algebra {
  readonly name: string
  /** Types of the lanes of an element; null if the arrays of the operands decide the type of elements, which have one lane. */
  readonly lanes: readonly LaneType[] | null
  /** Whether each operand is a list with one matrix per lane. */
  readonly isList: boolean
  /** Number of the products of a group on a device that are computed in one native call. */
  readonly partOfGroup: number
  /** Throws unless the algebra supports the options of a call on elements of this type. */
  assertOperation(call: Call, type: number): void
  /**
   * Starts a product. Returns the memories that native code allocates for results, with those of auxiliary
   * outputs last.
   */
  multiply(product: Product, report: Float64Array, cancel: Int32Array): Promise<NativeResult>
  /** Computes a product. */
  multiplySync(product: Product, report: Float64Array): NativeResult
  /** Starts products of a group. */
  multiplyPart(products: readonly Product[], call: Call, cancel: Int32Array): Promise<PartResults>
  /** Plans a product. */
  plan(product: Product, report: Float64Array, cancel: Int32Array): Promise<unknown>
}

/** Algebra, options and device that all products of a call share. */
export class Call {
  /** The device that the matrices are on; null if all are in arrays. */
  session: Session | null = null
  /** Backend of products of arrays; device matrices are multiplied on their device. */
  place: Placement
  /** Requested auxiliary outputs. */
  readonly requestedOutputs: readonly Auxiliary[]

  constructor(
    readonly algebra: Algebra,
    readonly options: CallOptions,
  ) {
    this.requestedOutputs = auxiliaryKinds.filter(({ name }) => options[name])
    this.place = { backend: options.backend, deviceMemory: 0, atOnce: false, mayUseCuda: false }
  }

  /**
   * Handle of the device; null for products of arrays. Must be read before a request is written, because it may send
   * deferred requests of earlier calls, which are written into the same array.
   */
  get native(): NativeDevice | null {
    return this.session ? this.session.native : null
  }
}

const noLanes: readonly Product[] = []
const noResults: readonly Result[] = []

/**
 * A product: its matrices, and its dimensions, which are valid once checkProduct() has accepted the matrices.
 */
export class Product implements Borrowed {
  /**
   * Destination of the result, set by allocateResult(); null in groups on a device, whose results share
   * memory.
   */
  c: Result | null = null
  /** Destinations of the requested auxiliary outputs, set by allocateResult(). */
  auxiliary: readonly Result[] = noResults
  /**
   * Products of the other lanes if elements have more than one lane; this product is that of the first lane.
   */
  otherLanes: readonly Product[] = noLanes
  // The fields below are copies, because the matrices of thousands of products have left the CPU caches by
  // the time the products are done.
  /** Code of the element type. */
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
    /** `out` in the given form, with all its lanes. */
    public outValue: unknown,
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

  get options(): CallOptions {
    return this.call.options
  }
  get session(): Session | null {
    return this.call.session
  }
  /** Bytes of an element of the result. */
  get bytes(): number {
    return bytesOf(this.type)
  }

  /** True if any matrix is in an array. */
  get usesArrays(): boolean {
    const { a, b, c0, out, otherLanes } = this
    return (
      !(a.memory && b.memory && (!c0 || c0.memory) && (!out || out.memory)) || otherLanes.some(usesArrays)
    )
  }

  /** The products of all lanes. */
  get lanes(): readonly Product[] {
    return [this, ...this.otherLanes]
  }

  /** Calls `look` with each lane and the names of its matrices. */
  eachLane(names: Names, look: (lane: Product, names: Names) => void): void {
    if (!this.call.algebra.isList) look(this, names)
    else for (const [index, lane] of this.lanes.entries()) look(lane, namesOfLane(names, index))
  }

  /**
   * Checks again that arrays and memory still exist, because user code may have detached them since
   * checkProduct().
   */
  requireThere(names: Names = plainNames): void {
    this.eachLane(names, assertLaneAttached)
  }

  requireStillThere(names: Names = plainNames): void {
    this.eachLane(names, assertLaneStillAttached)
  }

  /** Returns the layout of a newly allocated result that begins at `offset`. */
  newElements(offset = 0): Elements {
    const { type, bytes, batched, batch, m: rows, n: cols } = this
    return rowMajorElements({ type, bytes, batched, batch, rows, cols }, offset)
  }

  /** Returns the layout of an auxiliary output that begins at `offset`. */
  newAuxiliary(offset = 0): Elements {
    const { batched, batch, m: rows, n: cols } = this
    return rowMajorElements({ type: INT32, bytes: AUXILIARY_BYTES, batched, batch, rows, cols }, offset)
  }
}

const usesArrays = (product: Product) => product.usesArrays

function assertLaneAttached({ a, b, c0, out }: Product, names: Names): void {
  assertAttached(a, names.a)
  assertAttached(b, names.b)
  if (c0) assertAttached(c0, names.accumulate)
  if (out) assertAttached(out, names.out)
}

function assertLaneStillAttached({ a, b, c0, out }: Product, names: Names): void {
  assertStillAttached(a, names.a)
  assertStillAttached(b, names.b)
  if (c0) assertStillAttached(c0, names.accumulate)
  if (out) assertStillAttached(out, names.out)
}

/** Returns the native work of a product. */
export function workOf(product: Product, what: string, report: Float64Array): NativeWork {
  const { options, batch, m, n, k } = product
  const { signal, onProgress } = options
  return { what, signal, onProgress, report, steps: batch * m * n * k, borrowed: product }
}
