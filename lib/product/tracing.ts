/** The tracing channel of products. Without subscribers it costs one check per product. */
import type { StoredType } from '../element-types.js'
import { isInteger, storedTypeName, typeNameOf } from '../elements.js'
import { type Elements, shapeOf } from '../layout.js'
import { addon } from '../native.js'
import { UNSET } from '../options.js'
import { tracingChannel } from '../platform.js'
import type { Lanes } from '../user-semiring.js'
import type { DataType, Semiring } from '../variant-names.js'
import { type Overflow, THROW } from './options.js'
import type { Product } from './product.js'
import type { ProductStructure } from './structure.js'

/** A matrix of a traced product. */
export interface TracedMatrix {
  /** [rows, cols], or [batch, rows, cols] of a batch. */
  shape: readonly number[]
  /** Element type; 'int16' for an operand in an Int16Array; the types of the lanes if elements have lanes. */
  dtype: StoredType | Lanes
  /** Bytes of the elements, in all lanes. */
  bytes: number
  /** Whether the matrix is on a device, so that it isn't copied. */
  resident: boolean
}

/** A product of a traced call. */
export interface TracedProduct {
  /** Semiring of the product: a built-in semiring, or the name of a custom semiring. */
  semiring: Semiring | (string & {})
  /** Element type of the result; the types of the lanes if elements have lanes. */
  dtype: DataType | Lanes
  /**
   * Overflow policy; null for floating-point elements and for custom semirings, which have no such option.
   */
  overflow: Overflow | null
  /** The number of products, 1 unless the matrices are batches. */
  batch: number
  /** Rows of A and C. */
  m: number
  /** Columns of B and C. */
  n: number
  /** Columns of A and rows of B. */
  k: number
  /** Elements of the matrices that belong to the product; null if the option wasn't given. */
  structure: Readonly<Required<ProductStructure>> | null
  /** The left operand. */
  a: TracedMatrix
  /** The right operand. */
  b: TracedMatrix
  /** C0; null if nothing is accumulated. */
  accumulate: TracedMatrix | null
  /** The result. */
  c: TracedMatrix
}

/**
 * Message of the channels `tracing:mpmml:product:start`, `end`, `asyncStart`, `asyncEnd` and `error`: all
 * events of a call share one object.
 */
export interface ProductTrace {
  /** The function that was called. */
  call: 'mpmm' | 'mpmmSync' | 'mpmmGrouped' | 'plan'
  /**
   * The product, or the products of a group. Empty before the arguments have been checked, and if they are
   * invalid.
   */
  products: readonly TracedProduct[]
  /** Result of the call, of a group an array of results; undefined before its end, and after an error. */
  result?: unknown
  /** Error of the call. */
  error?: unknown
  /** Index of the product that failed, for groups. */
  failed?: number
}

const channel = tracingChannel<'mpmml:product', ProductTrace>('mpmml:product')
const { start, end, asyncStart, asyncEnd, error } = channel

/** Returns whether a subscriber exists. The channel's own property is newer than Node.js 20. */
const isTraced = () =>
  asyncEnd.hasSubscribers ||
  error.hasSubscribers ||
  start.hasSubscribers ||
  end.hasSubscribers ||
  asyncStart.hasSubscribers

/** Message of a call that has a subscriber. */
export class CallTrace implements ProductTrace {
  products: readonly TracedProduct[] = []
  failed?: number

  constructor(readonly call: ProductTrace['call']) {}

  /** Describes products whose arguments are right. */
  checked(products: readonly Product[]): void {
    this.products = products.map(describeProduct)
  }
}

/** Runs a call that computes before it returns. Without a subscriber it has no trace. */
export function traceSync<Result>(
  call: ProductTrace['call'],
  work: (trace: CallTrace | null) => Result,
): Result {
  if (!isTraced()) return work(null)
  const trace = new CallTrace(call)
  return channel.traceSync(() => work(trace), trace)
}

/** Starts a call. Without a subscriber it has no trace. */
export function tracePromise<Result>(
  call: ProductTrace['call'],
  work: (trace: CallTrace | null) => Promise<Result>,
): Promise<Result> {
  if (!isTraced()) return work(null)
  const trace = new CallTrace(call)
  return channel.tracePromise(() => work(trace), trace)
}

function describeProduct(product: Product): TracedProduct {
  const { call, type, a, b, c0, out, session, otherLanes, batch, m, n, k, structure } = product
  const { algebra, options } = call
  const policy = options.overflow === UNSET ? THROW : options.overflow
  const dtype = algebra.lanes && (algebra.isList ? algebra.lanes : algebra.lanes[0]!)
  const describe = (elements: Elements, resident: boolean): TracedMatrix => ({
    shape: shapeOf(elements),
    dtype: dtype ?? storedTypeName(elements),
    bytes: (1 + otherLanes.length) * elements.batch * elements.rows * elements.cols * elements.bytes,
    resident,
  })
  return {
    semiring: algebra.name,
    dtype: dtype ?? typeNameOf(type),
    overflow: !dtype && isInteger(type) ? addon.overflowPolicies[policy]! : null,
    ...{ batch, m, n, k, structure: structure?.shown ?? null },
    a: describe(a, a.memory !== null),
    b: describe(b, b.memory !== null),
    accumulate: c0 && describe(c0, c0.memory !== null),
    c: describe(out ?? product.newElements(), session !== null),
  }
}
