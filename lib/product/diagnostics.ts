/**
 * What the library tells those who watch it, through node:diagnostics_channel. As long as there is no subscriber, a product
 * costs one look at the channels.
 */

import type { StoredType } from '../element-types.js'
import { isInteger, storedTypeName, typeNameOf } from '../elements.js'
import { type ErrorCode, MpmmlError } from '../errors.js'
import { channel } from '../host.js'
import { type Elements, shapeOf } from '../layout.js'
import { addon } from '../native.js'
import { LEFT_OUT } from '../options.js'
import type { Lanes } from '../user-semiring.js'
import type { DataType, Semiring, VariantName } from '../variant-names.js'
import { variantIndex } from '../variants.js'
import type { View } from '../view.js'
import { type Overflow, THROW } from './options.js'
import type { Product } from './request.js'
import type { ProductStructure } from './structure.js'

/** A matrix of a product, in a message. */
export interface MatrixMessage {
  /** [rows, cols], or [batch, rows, cols] of a batch. */
  shape: readonly number[]
  /** The element type; 'int16' for an operand in an Int16Array; those of the lanes if elements have lanes. */
  dtype: StoredType | Lanes
  /** Of its elements, in all lanes. */
  bytes: number
  /** Whether it stays on a device, so that nothing is copied. */
  resident: boolean
}

/** What was asked for: the part that all messages have. */
export interface ProductMessage {
  /** The function that was called. */
  call: 'mpmm' | 'mpmmSync' | 'mpmmGrouped' | 'plan'
  /** The index of the product in its group; only in messages of mpmmGrouped. */
  index?: number
  /** The semiring of the product: one of the library, or the name of one that a user has written. */
  semiring: Semiring | (string & {})
  /** The element type of the result; those of the lanes if elements have lanes. */
  dtype: DataType | Lanes
  /** Null for floating-point elements and for semirings that users write, which have no such option. */
  overflow: Overflow | null
  /** The number of products, 1 unless the matrices are batches. */
  batch: number
  /** Rows of A and C. */
  m: number
  /** Columns of B and C. */
  n: number
  /** Columns of A and rows of B. */
  k: number
  /** Which elements of the matrices belong to the product; null if the option wasn't given. */
  structure: Readonly<Required<ProductStructure>> | null
  /** The left operand. */
  a: MatrixMessage
  /** The right operand. */
  b: MatrixMessage
  /** C0; null if nothing is accumulated. */
  accumulate: MatrixMessage | null
  /** The result. */
  c: MatrixMessage
}

/** On `mpmml:plan`: which kernel a product takes. Published by plan(), and by each product that has run. */
export interface PlanMessage extends ProductMessage {
  /** What computes it. */
  backend: 'cuda' | 'cpu'
  /** The kernel variant; null for semirings that users write, whose kernels have no names. */
  variant: VariantName | null
  /** Of the variant, such as the tile. */
  parameters: Readonly<Record<string, number | string>>
  /** As {@link Plan.path}; null if there is no variant. */
  path: string | null
  /** What plan() says of a semiring that a user has written. */
  explanation?: string
}

/** On `mpmml:run`: a product that has run. */
export interface RunMessage extends ProductMessage {
  /** What computed it. */
  backend: 'cuda' | 'cpu'
  /** The name of the GPU or of the processor. */
  device: string
  /** The kernel variant; null for semirings that users write, whose kernels have no names. */
  variant: VariantName | null
  /** As {@link Plan.path}; null if there is no variant. */
  path: string | null
  /** Milliseconds: those of the result, and `callMs` from the call to its end, with the time in queues. */
  timing: Timing & { callMs: number }
  /** 10^9 operations per second of kernel time, two per step. */
  gops: number
}

/**
 * On `mpmml:error`: a call that failed. What was asked for is there if the arguments were right; of a group it is the
 * product that failed.
 */
export interface ErrorMessage extends Partial<ProductMessage> {
  call: ProductMessage['call']
  /** What was thrown. */
  error: unknown
  /** Null if it isn't an error of the library. */
  code: ErrorCode | null
  /** Milliseconds from the call to its end. */
  timing: { callMs: number }
}

interface Timing {
  totalMs: number
  kernelMs: number
  analysisMs: number
  h2dMs: number
  d2hMs: number
}

/** What a call gives that has succeeded: the parts of the result that messages have. */
interface Ran {
  backend: 'cuda' | 'cpu'
  variant?: VariantName
  path?: string
  explanation?: string
  device?: string
  timing?: Timing
  gops?: number
}

/** What was asked for, but for the call. */
export type ProductRequest = Omit<ProductMessage, 'call' | 'index'>

const plans = channel('mpmml:plan')
const runs = channel('mpmml:run')
const errors = channel('mpmml:error')

/** Null if there is no subscriber: then the call goes on without a message. */
export function watch(call: ProductMessage['call']): ObservedCall | null {
  return runs.hasSubscribers || errors.hasSubscribers || plans.hasSubscribers ? new ObservedCall(call) : null
}

/** A call that has a subscriber. */
export class ObservedCall {
  readonly #call: ProductMessage['call']
  readonly #started = performance.now()
  /** Of each product; none before the arguments are known to be right. */
  #asked: readonly (() => ProductRequest)[] = []
  /** The index of the product that an error is about; −1 if it is about none. */
  #failing: number

  constructor(call: ProductMessage['call']) {
    this.#call = call
    this.#failing = call === 'mpmmGrouped' ? -1 : 0
  }

  /** The arguments are right. */
  checked(products: readonly Product[]): void {
    this.checkedAs(products, describeProduct)
  }

  /** The same for products that `describe` describes. */
  checkedAs<Any>(products: readonly Any[], describe: (product: Any) => ProductRequest): void {
    this.#asked = products.map((product) => () => describe(product))
  }

  /** A product of a group makes the call fail. */
  failing(index: number): void {
    this.#failing = index
  }

  /** Publishes how a call ends that does its work before it returns. */
  around<Result extends Ran>(work: () => Result): Result {
    try {
      return this.#ended(work())
    } catch (error) {
      throw this.#failed(error)
    }
  }

  /** Publishes how a call ends that gives a promise. */
  async follow<Result extends Ran | readonly Ran[]>(promise: Promise<Result>): Promise<Result> {
    try {
      return this.#ended(await promise)
    } catch (error) {
      throw this.#failed(error)
    }
  }

  #callMs(): number {
    return performance.now() - this.#started
  }

  #ended<Result extends Ran | readonly Ran[]>(results: Result): Result {
    const all: readonly Ran[] = Array.isArray(results) ? results : [results]
    all.forEach((result, index) => {
      const asked = this.#message(index)
      if (asked) this.#publish(asked, result)
    })
    return results
  }

  #publish(asked: ProductMessage, result: Ran): void {
    const { backend, variant = null, path = null, explanation, device, timing, gops } = result
    if (plans.hasSubscribers) {
      const parameters = variant ? addon.variants[variantIndex(variant)]!.parameters : {}
      const planned = { ...asked, backend, variant, parameters, path } satisfies PlanMessage
      plans.publish(explanation === undefined ? planned : { ...planned, explanation })
    }
    if (device !== undefined && timing && gops !== undefined && runs.hasSubscribers) {
      const times = { ...timing, callMs: this.#callMs() }
      runs.publish({ ...asked, backend, device, variant, path, timing: times, gops } satisfies RunMessage)
    }
  }

  #failed(error: unknown): unknown {
    if (errors.hasSubscribers) {
      const code = error instanceof MpmmlError ? (error.code as ErrorCode) : null
      const timing = { callMs: this.#callMs() }
      const asked = this.#message(this.#failing)
      errors.publish({ ...asked, call: this.#call, error, code, timing } satisfies ErrorMessage)
    }
    return error
  }

  /** What was asked for; undefined if the arguments were wrong. */
  #message(index: number): ProductMessage | undefined {
    const asked = this.#asked[index]?.()
    if (!asked) return undefined
    const call = this.#call
    return call === 'mpmmGrouped' ? { call, index, ...asked } : { call, ...asked }
  }
}

function describeProduct(product: Product): ProductRequest {
  const { options, type, a, b, c0, out, session } = product
  const policy = options.overflow === LEFT_OUT ? THROW : options.overflow
  return {
    semiring: addon.semirings[options.semiring]!.name,
    dtype: typeNameOf(type),
    overflow: isInteger(type) ? addon.overflowPolicies[policy]! : null,
    ...describeSizes(product),
    a: describeView(a),
    b: describeView(b),
    accumulate: c0 && describeView(c0),
    c: describe(out ?? product.newElements(), session !== null),
  }
}

/** What a message says of the sizes of a product. */
export function describeSizes({
  batch,
  m,
  n,
  k,
  structure,
}: Product): Pick<ProductRequest, 'batch' | 'm' | 'n' | 'k' | 'structure'> {
  return { batch, m, n, k, structure: structure?.shown ?? null }
}

function describeView(view: View): MatrixMessage {
  return describe(view, view.memory !== null)
}

function describe(elements: Elements, resident: boolean): MatrixMessage {
  const { bytes, batch, rows, cols } = elements
  return {
    shape: shapeOf(elements),
    dtype: storedTypeName(elements),
    bytes: batch * rows * cols * bytes,
    resident,
  }
}
