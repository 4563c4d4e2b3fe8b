/** A checked product, and how native code is asked for it. */
import type { Session } from '../device/resident.js'
import { requestAt as at, writeLayout } from '../fields.js'
import type { Elements } from '../layout.js'
import type { NativeMemory } from '../native.js'
import type { ElementArray } from '../storage.js'
import type { View } from '../view.js'
import { LEFT_OUT, type ReadOptions, THROW } from './options.js'

/** Where a result goes: into an array, or memory of a device; null if that isn't made yet. */
export interface Result extends Elements {
  data: ElementArray | NativeMemory | null
}

/** The place of a result in memory that is made for it. */
export interface NewResult extends Result {
  offset: number
  reach: number
}

/** A product: its matrices, and what follows from them, which checkProduct() finds. */
export class Product {
  /** The device that its matrices are on; null if all are in arrays. */
  session: Session | null = null
  /** An index into the addon's list of choices. */
  backend: number
  device: number
  /** The most bytes of device memory that it may take; 0: no limit. */
  deviceMemory = 0
  /** Whether JavaScript's thread computes it sooner than it hears of another thread's result. */
  atOnce = false
  /** The element type, by its number. */
  type = 0
  batch = 0
  m = 0
  n = 0
  k = 0
  /** The view of `out`, or of what is made in its place. */
  c!: Result
  /** The place of the witness; null if it isn't asked for. */
  witness: NewResult | null = null

  constructor(
    readonly options: ReadOptions,
    readonly a: View,
    readonly b: View,
    /** The view of `out`; null if it wasn't given. */
    readonly out: View<ElementArray> | null,
    /** `out` as it was given. */
    readonly outValue: unknown,
    readonly c0: View<ElementArray> | null,
  ) {
    this.backend = options.backend
    this.device = options.device === LEFT_OUT ? 0 : options.device
  }
}

/** Writes `product` into `request`, from the field `start` on. */
export function writeRequest(request: Float64Array, product: Product, start = 0): void {
  const { options } = product
  request[start + at.batch] = product.batch
  request[start + at.m] = product.m
  request[start + at.n] = product.n
  request[start + at.k] = product.k
  request[start + at.semiring] = options.semiring
  request[start + at.dtype] = product.type
  request[start + at.overflow] = options.overflow === LEFT_OUT ? THROW : options.overflow
  request[start + at.backend] = product.backend
  request[start + at.device] = product.device
  request[start + at.variant] = options.variant
  request[start + at.planOnly] = 0
  request[start + at.keepsC] = product.out ? 1 : 0
  request[start + at.deviceMemory] = product.deviceMemory
  request[start + at.mayWait] = 0
  writeLayout(request, start, at.a, product.a)
  writeLayout(request, start, at.b, product.b)
  writeLayout(request, start, at.c, product.c)
  request[start + at.asksWitness] = product.witness ? 1 : 0
  if (product.witness) writeLayout(request, start, at.witness, product.witness)
  if (product.c0) writeLayout(request, start, at.c0, product.c0)
}
