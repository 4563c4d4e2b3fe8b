/**
 * What the library tells those who watch it, through node:diagnostics_channel. As long as there is no subscriber, a product
 * costs one look at the channels.
 */

import { isInteger, storedTypeName, typeNameOf } from '../elements.js'
import { type ErrorCode, MpmmlError } from '../errors.js'
import { channel } from '../host.js'
import { type Elements, shapeOf } from '../layout.js'
import { addon } from '../native.js'
import { LEFT_OUT } from '../options.js'
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
  /** The element type; 'int16' for an operand in an Int16Array. */
  dtype: DataType | 'int16'
  /** Of its elements. */
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
  /** The semiring of the product. */
  semiring: Semiring
  /** The element type of the result. */
  dtype: DataType
  /** Null for floating-point elements, which have no such option. */
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
  /** The kernel variant. */
  variant: VariantName
  /** Of the variant, such as the tile. */
  parameters: Readonly<Record<string, number | string>>
  /** As {@link Plan.path}. */
  path: string
}

/** On `mpmml:run`: a product that has run. */
export interface RunMessage extends ProductMessage {
  /** What computed it. */
  backend: 'cuda' | 'cpu'
  /** The name of the GPU or of the processor. */
  device: string
  /** The kernel variant. */
  variant: VariantName
  /** As {@link Plan.path}. */
  path: string
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
  variant: VariantName
  path: string
  device?: string
  timing?: Timing
  gops?: number
}

const plans = channel('mpmml:plan')
const runs = channel('mpmml:run')
const errors = channel('mpmml:error')

/** Null if there is no subscriber: then the call goes on without a message. */
export function watch(call: ProductMessage['call']): Watched | null {
  return runs.hasSubscribers || errors.hasSubscribers || plans.hasSubscribers ? new Watched(call) : null
}

/** A call that has a subscriber. */
export class Watched {
  readonly #call: ProductMessage['call']
  readonly #started = performance.now()
  #products: readonly Product[] = []
  /** The index of the product that an error is about; −1 if it is about none. */
  #failing: number

  constructor(call: ProductMessage['call']) {
    this.#call = call
    this.#failing = call === 'mpmmGrouped' ? -1 : 0
  }

  /** The arguments are right. */
  checked(products: readonly Product[]): void {
    this.#products = products
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
      const asked = this.#asked(index)
      // Messages have no words for semirings that users write.
      if (asked) this.#publish(asked, result)
    })
    return results
  }

  #publish(asked: ProductMessage, { backend, variant, path, device, timing, gops }: Ran): void {
    if (plans.hasSubscribers) {
      const { parameters } = addon.variants[variantIndex(variant)]!
      plans.publish({ ...asked, backend, variant, parameters, path } satisfies PlanMessage)
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
      const asked = this.#asked(this.#failing)
      errors.publish({ ...asked, call: this.#call, error, code, timing } satisfies ErrorMessage)
    }
    return error
  }

  /** What was asked for; undefined if the arguments were wrong. */
  #asked(index: number): ProductMessage | undefined {
    const product = this.#products[index]
    if (!product) return undefined
    const call = this.#call
    return call === 'mpmmGrouped' ? { ...ask(call, product), index } : ask(call, product)
  }
}

function ask(call: ProductMessage['call'], product: Product): ProductMessage {
  const { options, type, batch, m, n, k, a, b, c0, out, session } = product
  const policy = options.overflow === LEFT_OUT ? THROW : options.overflow
  return {
    call,
    semiring: addon.semirings[options.semiring]!.name,
    dtype: typeNameOf(type),
    overflow: isInteger(type) ? addon.overflowPolicies[policy]! : null,
    batch,
    m,
    n,
    k,
    structure: product.structure?.shown ?? null,
    a: describeView(a),
    b: describeView(b),
    accumulate: c0 && describeView(c0),
    c: describe(out ?? product.newElements(), session !== null),
  }
}

function describeView(view: View): MatrixMessage {
  return describe(view, view.memory !== null)
}

function describe(elements: Elements, resident: boolean): MatrixMessage {
  const { type, bytes, batch, rows, cols } = elements
  const dtype = storedTypeName(type, bytes)
  return { shape: shapeOf(elements), dtype, bytes: batch * rows * cols * bytes, resident }
}
