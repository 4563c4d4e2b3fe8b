/** Many products in one call. */
import { NEVER_CANCELLED, signal, throwIfAborted } from '../abort.js'
import { WEBGPU, whereSet } from '../backend.js'
import { placeProduct } from '../backend-selection.js'
import { typeName } from '../describe.js'
import type { DeviceMatrix } from '../device/device.js'
import { typeNameOf } from '../elements.js'
import { AbortedError, DTypeError, fromNative } from '../errors.js'
import type { MatrixLike } from '../matrix.js'
import { assertSeparate } from '../memory-overlap.js'
import { assertNames, Options, type OptionsOf } from '../options.js'
import { turn } from '../platform.js'
import { runNative } from '../run-native.js'
import type { ElementArray, OperandArray } from '../storage.js'
import type { Lanes } from '../user-semiring.js'
import { assertGpu } from '../webgpu/look.js'
import { algebra } from './algebra.js'
import { NamesInGroup, namesOfLane } from './names.js'
import {
  type AnyAccumulate,
  type AnyOperand,
  type AnyResult,
  type AnyWitness,
  asProduct,
  auxiliarySet,
  type MpmmOptions,
  overflow,
} from './options.js'
import {
  allocateResult,
  checkCall,
  checkProduct,
  locate,
  type NamedDeviceMatrix,
  nameOf,
  readProduct,
} from './prepare.js'
import { Call, type PartResults, type Product } from './product.js'
import type { Fitting, MpmmResult, ResultOf, WitnessedResult } from './result.js'
import { type ProductStructure, readStructure, structure } from './structure.js'
import { type CallTrace, tracePromise } from './tracing.js'
import type {
  UserGroupedOptions,
  UserGroupedProduct,
  UserProductResult,
  UserResultOf,
} from './user-product.js'
import { assertWebGpuKind } from './webgpu.js'

/**
 * A product of {@link mpmmGrouped}: the arguments of {@link mpmm}, and its options that concern a single
 * product.
 */
export interface GroupedProduct<
  A extends AnyOperand = MatrixLike<OperandArray> | DeviceMatrix<OperandArray>,
  B extends AnyOperand = MatrixLike<OperandArray> | DeviceMatrix<OperandArray>,
  Out extends AnyResult | undefined = MatrixLike<ElementArray> | DeviceMatrix<ElementArray>,
  C0 extends AnyAccumulate = Out | boolean,
> {
  /** The left operand, [rows, k] or [batch, rows, k]. */
  a: A
  /** The right operand, [k, cols] or [batch, k, cols]. */
  b: B
  /**
   * Matrix to write into, see {@link MpmmOptions.out}. It must not overlap a matrix of another product of the
   * group.
   */
  out?: Out | undefined
  /** Matrix to accumulate to, see {@link MpmmOptions.accumulate}. */
  accumulate?: C0 | undefined
  /** Structure of the matrices; replaces the option of the group. */
  structure?: ProductStructure | undefined
}

type HostOf<Operand> = Operand extends MatrixLike<infer Data> ? Data : never
type ThereOf<Operand> = Operand extends DeviceMatrix<infer Data> ? Data : never

/** The type of the c of any of these products: any matrix of a group decides where new results are. */
type GroupedResultOf<P extends GroupedProduct, Any extends GroupedProduct = P> = P extends unknown
  ? ResultOf<
      HostOf<Any['a']>,
      HostOf<Any['b']>,
      ThereOf<Any['a']>,
      ThereOf<Any['b']>,
      Any extends { accumulate?: infer C0 extends AnyAccumulate } ? C0 : undefined,
      P extends { out?: infer Out extends AnyResult | undefined } ? Out : undefined
    >
  : never

/** A product with the members that its types require. */
type FittingProduct<P extends GroupedProduct> = P extends unknown
  ? P &
      Fitting<
        HostOf<P['a']> | ThereOf<P['a']>,
        HostOf<P['b']> | ThereOf<P['b']>,
        P extends { accumulate?: infer C0 extends AnyAccumulate } ? C0 : undefined,
        P extends { out?: infer Out extends AnyResult | undefined } ? Out : undefined
      >
  : never

/** The options of {@link mpmmGrouped}, which hold for all its products. */
export type GroupedOptions<Witness extends AnyWitness = AnyWitness> = Omit<
  MpmmOptions<MatrixLike, Witness>,
  'out' | 'accumulate' | 'variant' | 'onProgress'
>

const groupedOptions = new Options({
  semiring: algebra,
  overflow,
  ...whereSet,
  ...auxiliarySet,
  structure,
  signal,
} satisfies OptionsOf<GroupedOptions>)

// Matrices and structures of products, in the order in which they are read.
const productNames: readonly (keyof GroupedProduct)[] = ['a', 'b', 'out', 'accumulate', 'structure']

/**
 * Size from which a result on several GPUs has separate sharded memory. Smaller results share memory on the
 * first GPU.
 */
const ALONE_BYTES = 2 ** 20

/**
 * Computes many products of any shapes in one call, which saves the overhead of separate calls for small
 * products.
 *
 * If any matrix of the group is a {@link DeviceMatrix}, its device computes all products and owns all
 * results. About a thousand results share one block of memory, which is released when all of them have been
 * disposed.
 *
 * @returns A result for each product, in order.
 * @throws Rejects, and never throws, with the errors of {@link mpmm}. The message names the product. If one
 * product fails or is invalid, the promise is rejected, and the content of the other products' `out` is
 * unspecified.
 * @example
 * const products = [
 *   { a: matrix(1, 2, [1, 5]), b: matrix(2, 1, [4, 2]) },
 *   { a: matrix(2, 2, [1, 2, 3, 4]), b: matrix(2, 1, [10, 20]) },
 * ]
 * for (const { c } of await mpmmGrouped(products)) console.log(c.data.join())
 * // 7
 * // 22,24
 */
export function mpmmGrouped<P extends GroupedProduct, Witness extends AnyWitness = undefined>(
  products: readonly P[] & readonly FittingProduct<P>[],
  options?: GroupedOptions<Witness>,
): Promise<WitnessedResult<MpmmResult<GroupedResultOf<P>>, Witness>[]>
/**
 * Computes many products over a custom semiring in one call; otherwise like the other overload.
 *
 * @throws The errors of the other overload.
 */
export function mpmmGrouped<
  L extends Lanes,
  P extends UserGroupedProduct<L>,
  Witness extends AnyWitness = undefined,
>(
  products: readonly P[],
  options: UserGroupedOptions<L, Witness>,
): Promise<WitnessedResult<UserProductResult<UserResultOf<L, P['a'] | P['b'], undefined>>, Witness>[]>
export function mpmmGrouped(products: readonly unknown[], options?: unknown): Promise<unknown> {
  return tracePromise('mpmmGrouped', (trace) => multiplyAll(products, options, trace))
}

async function multiplyAll(
  productsValue: unknown,
  optionsValue: unknown,
  trace: CallTrace | null,
): Promise<MpmmResult<AnyResult>[]> {
  const { semiring, ...options } = groupedOptions.read(optionsValue)
  const { signal } = options
  const call = new Call(semiring, asProduct(options))
  const group = new Group(assertArray(productsValue), call, trace)
  const startsAtOnce = () => call.session && !signal && !trace
  try {
    // The device begins while other products are read. If one of these is invalid, the computed results are
    // dropped.
    group.read(group.partEnd)
    if (startsAtOnce()) group.startPart(NEVER_CANCELLED)
    // All steps that can run user code precede the checks of the remaining products, so that arguments can't
    // change after their checks.
    group.read(group.length)
    throwIfAborted(signal, WORK)
    if (group.length === 0) return []
    if (!startsAtOnce()) group.check(group.length)
    if (!call.session) group.place()
    trace?.checked(group.products)
    if (!call.session && call.place.backend === WEBGPU) {
      await assertGpu()
      group.each((product, names) => product.requireThere(names))
    }
  } catch (error) {
    group.fail(error)
    return group.end()
  }
  if (!signal) return group.run(NEVER_CANCELLED)
  // Each part checks its arrays when it has ended.
  return runNative({ what: WORK, signal, borrowed: null }, ({ cancel }) => {
    group.each((product, names) => product.requireThere(names))
    return group.run(cancel)
  })
}

/** Name of the work in messages. */
const WORK = 'the group'

function assertArray(products: unknown): readonly unknown[] {
  if (Array.isArray(products)) return products
  throw new DTypeError(
    `products must be an array of { a, b, out?, accumulate? }, but it is ${typeName(products)}`,
  )
}

/** A group, some of whose products have been read, checked or started. */
class Group {
  readonly products: Product[] = []
  readonly length: number
  /** Whether any product that has been read has an `out`. */
  #writes = false
  /** Whether any product has a matrix in an array. */
  #usesArrays = false
  #checked = 0
  /** Number of products whose matrices don't overlap an `out` of another product, by the last check. */
  #apart = 0
  #started = 0
  readonly #results: WitnessedResult<MpmmResult<AnyResult>, boolean>[]
  readonly #parts: Promise<void>[] = []

  constructor(
    readonly values: readonly unknown[],
    readonly call: Call,
    readonly trace: CallTrace | null,
  ) {
    this.length = values.length
    this.#results = new Array(this.length)
  }

  /** The end of the next part on a device. */
  get partEnd(): number {
    return Math.min(this.#started + this.call.algebra.partOfGroup, this.length)
  }

  /** Reads the next products, up to index `end` (exclusive). May run user code. */
  read(end: number): void {
    const { values, products, call } = this
    for (const names = new NamesInGroup(products.length); names.index < end; names.index++) {
      const value = values[names.index]
      if (typeof value !== 'object' || value === null) {
        throw new DTypeError(`${names} must be { a, b, out?, accumulate? }, but it is ${typeName(value)}`)
      }
      assertNames(value, productNames, names)
      const { a, b, out, accumulate, structure: its } = value as GroupedProduct
      const own = its === undefined ? call.options.structure : readStructure(its, names.structure)
      const product = readProduct(call, a, b, out, accumulate, names, own)
      this.#writes ||= product.out !== null
      this.#usesArrays ||= product.usesArrays
      // Assigned by index, because V8 doesn't inline push() here.
      products[names.index] = product
    }
  }

  /** Checks the next products that have been read, up to index `end` (exclusive). Runs no user code. */
  check(end: number): void {
    const { products, call } = this
    if (this.#checked === 0 && end > 0) checkCall(call, products[0]!)
    const { type } = products[0]!
    const first = () => this.#locate()
    const isOnWebGpu = call.session?.backend === 'webgpu'
    for (const names = new NamesInGroup(this.#checked); names.index < end; names.index++) {
      const product = products[names.index]!
      if (product.type !== type) refuseTypes(product, names, products[0]!)
      checkProduct(product, names, first)
      if (isOnWebGpu) assertWebGpuKind(product)
    }
    this.#checked = Math.max(this.#checked, end)
    // Compares all products that have been read, so that the comparison runs at most twice.
    if (this.#writes && end > this.#apart) this.#requireApart()
  }

  /** Throws ShapeError if a product writes what another one uses. */
  #requireApart(): void {
    const { products, call } = this
    const { isList } = call.algebra
    const lanes = isList ? products.flatMap((product) => product.lanes) : products
    const each = isList ? call.algebra.lanes!.length : 1
    assertSeparate(lanes, (index, view) => {
      const names = new NamesInGroup(Math.floor(index / each))
      return nameOf(lanes[index]!, isList ? namesOfLane(names, index % each) : names, view)
    })
    this.#apart = products.length
  }

  /** Returns the first matrix that is on a device. */
  #locate(): NamedDeviceMatrix {
    for (let index = 0; ; index++) {
      const located = locate(this.products[index]!, new NamesInGroup(index))
      if (located) return located
    }
  }

  /** Selects the backend for products of arrays, and allocates their results. */
  place(): void {
    this.call.place = placeProduct(this.call.options)
    for (const product of this.products) assertWebGpuKind(product)
    this.each((product, names) => allocateResult(product, { toString: () => `the result of ${names}` }))
  }

  /** Calls `look` with the products from index `first` to `end` (exclusive). */
  each(look: (product: Product, names: NamesInGroup) => void, first = 0, end = this.products.length): void {
    for (const names = new NamesInGroup(first); names.index < end; names.index++)
      look(this.products[names.index]!, names)
  }

  /** Starts the next part. */
  startPart(cancel: Int32Array): void {
    // The host's threads compute a group as a whole.
    const end = this.call.session ? this.partEnd : this.length
    this.check(end)
    while (this.#started < end) {
      const first = this.#started
      this.#started = this.#endTogether(end)
      this.#add(this.#runPart(first, this.#started, cancel))
    }
  }

  async #runPart(first: number, end: number, cancel: Int32Array): Promise<void> {
    const { call, trace } = this
    const assertArrays = () => {
      if (this.#usesArrays) this.each((product, names) => product.requireStillThere(names), first, end)
    }
    // The event loop has turned since the arrays of later parts were checked.
    if (first > 0) assertArrays()
    const products = this.products.slice(first, end)
    let part: PartResults
    try {
      part = await call.algebra.multiplyPart(products, call, cancel)
    } catch (error) {
      throw namingProduct(fromNative(error), first, products.length, trace)
    }
    try {
      assertArrays()
    } catch (error) {
      part.release()
      throw error
    }
    part.take().forEach((result, index) => {
      this.#results[first + index] = result as WitnessedResult<MpmmResult<AnyResult>, boolean>
    })
  }

  /** Calls startPart(). After an error no other part is started, and end() throws the error. */
  #startNext(cancel: Int32Array): void {
    try {
      this.startPart(cancel)
    } catch (error) {
      this.#started = this.length
      this.fail(error)
    }
  }

  /** Starts the remaining parts, and returns the results. */
  async run(cancel: Int32Array): Promise<MpmmResult<AnyResult>[]> {
    const { session } = this.call
    const rest = () => {
      while (this.#started < this.length) this.#startNext(cancel)
    }
    while (this.#started < this.length) {
      if (session && this.#started > 0) {
        session.rest = rest
        await turn()
        // If other work was requested from the device meanwhile, the remaining parts were started before that
        // work.
        if (session.rest !== rest) break
        session.rest = null
      }
      this.#startNext(cancel)
    }
    return this.end()
  }

  /** Returns the end of the next products whose results share memory. */
  #endTogether(end: number): number {
    const { products, call } = this
    if (!call.session?.devices) return end
    let next = this.#started
    while (next < end && !isAlone(products[next]!)) next++
    return Math.max(next, this.#started + 1)
  }

  /** Marks the group as failed, so that no further part starts. */
  fail(error: unknown): void {
    this.#add(Promise.reject(error))
  }

  #add(part: Promise<void>): void {
    // end() throws the error when the other parts have ended.
    part.catch(() => {})
    this.#parts.push(part)
  }

  /** Returns the results after all started parts have ended. Rejects with the first error. */
  async end(): Promise<MpmmResult<AnyResult>[]> {
    const failed = (await Promise.allSettled(this.#parts)).find((part) => part.status === 'rejected')
    if (!failed) return this.#results
    // Results of the other parts are dropped.
    this.#results.forEach((result, index) => {
      const { session, out } = this.products[index]!
      if (!session) return
      if (!out) for (const lane of [result.c].flat()) (lane as DeviceMatrix).dispose()
      for (const { name } of this.call.requestedOutputs) (result[name] as DeviceMatrix).dispose()
    })
    throw failed.reason
  }
}

/** Returns whether a result is allocated by native code, with separate sharded memory on several devices. */
const isAlone = ({ out, batch, m, n, bytes }: Product) => !out && batch * m * n * bytes >= ALONE_BYTES

function refuseTypes({ type }: Product, { a }: NamesInGroup, first: Product): never {
  throw new DTypeError(
    `${a} is of ${typeNameOf(type)} and ${new NamesInGroup(0).a} of ${typeNameOf(first.type)}: the products of ` +
      'a group must all be of one element type; compute a group of each type',
  )
}

/**
 * Returns an error of native code with the user's name of the product; native code counts from `first` on, if
 * a part has several products.
 */
function namingProduct(error: unknown, first: number, count: number, trace: CallTrace | null): unknown {
  if (!(error instanceof Error) || error instanceof AbortedError) return error
  const [prefix = '', place] = /^product (\d+): /.exec(error.message) ?? []
  if (place === undefined && count > 1) return error
  const index = first + Number(place ?? 0)
  if (trace) trace.failed = index
  error.message = `products[${index}]: ${error.message.slice(prefix.length)}`
  return error
}
