/** Many products in one call. */
import { aborted, cancelOnAbort, notCancelled } from '../abort.js'
import { typeName } from '../describe.js'
import type { DeviceMatrix } from '../device/device.js'
import { SharedMemory } from '../device/resident.js'
import { typeNameOf } from '../elements.js'
import { AbortedError, DeviceError, DTypeError, fromNative, OutOfMemoryError } from '../errors.js'
import { requestAt as at, REPORT_FIELDS, REQUEST_FIELDS, writeLayout } from '../fields.js'
import type { DenseMatrix, MatrixLike } from '../matrix.js'
import { addon, type NativeMemory } from '../native.js'
import { requireNames } from '../options.js'
import { requireApart } from '../overlap.js'
import type { ElementArray, OperandArray } from '../storage.js'
import type { View } from '../view.js'
import { type Watched, watch } from './diagnostics.js'
import { NamesInGroup } from './names.js'
import {
  type AnyOperand,
  type AnyResult,
  type ElementsOf,
  type Mixable,
  type MpmmOptions,
  readOptions,
} from './options.js'
import {
  allocateResult,
  checkProduct,
  type Located,
  locate,
  placeOf,
  readProduct,
  requireAllStillThere,
  requireAllThere,
  requireNoContradiction,
  requireOneDevice,
  requireOperation,
  sessionOf,
} from './prepare.js'
import { Call, type Product, writeRequest } from './request.js'
import { type MpmmResult, resultOf } from './result.js'

/** A product of {@link mpmmGrouped}: the arguments of {@link mpmm}, and its options that are about one product. */
export interface GroupedProduct<
  A extends AnyOperand = AnyOperand,
  B extends AnyOperand = AnyOperand,
  Out extends AnyResult = AnyResult,
> {
  a: A
  b: B
  /** As the option of {@link mpmm}; it may not overlap any matrix of another product of the group either. */
  out?: Out | undefined
  accumulate?: Out | boolean | undefined
}

/** The options of {@link mpmmGrouped}, which hold for all its products. */
export type GroupedOptions = Pick<MpmmOptions, 'semiring' | 'overflow' | 'backend' | 'device' | 'signal'>

const optionNames: readonly (keyof GroupedOptions)[] = ['semiring', 'overflow', 'backend', 'device', 'signal']
const productNames: readonly (keyof GroupedProduct)[] = ['a', 'b', 'out', 'accumulate']

/** On a device, results of a group begin at multiples of so many bytes of its memory. */
const ALIGNMENT = 256

/**
 * A device computes a large group in parts: it begins while JavaScript prepares the others. The first part has so many
 * products, each further one twice as many as the one before, up to a limit.
 */
const FIRST_PART = 256
const MOST_IN_PART = 1024

/**
 * Many products in one call, of any shapes: for small products, which would take less time than to ask for each.
 *
 * If any matrix of the group is a {@link DeviceMatrix}, its device computes all products, and all results stay there. They
 * share memory, some thousand of them at a time, which is given back when the last of them has been disposed.
 *
 * @returns A result for each product, in order.
 * @throws Rejects, and never throws, with what {@link mpmm} rejects with. The message names the product. If one fails, the
 *   promise is rejected; what the `out` of the others hold is unspecified then.
 * @example
 * const results = await mpmmGrouped([{ a, b }, { a: d, b: e, out: f, accumulate: true }], { semiring: 'min-plus' })
 */
export function mpmmGrouped<Data extends OperandArray>(
  products: readonly GroupedProduct<
    DeviceMatrix<Data>,
    AnyOperand<Mixable<Data>>,
    DeviceMatrix<ElementsOf<Data>>
  >[],
  options?: GroupedOptions,
): Promise<MpmmResult<DeviceMatrix<ElementsOf<Data>>>[]>
export function mpmmGrouped<Data extends OperandArray>(
  products: readonly GroupedProduct<
    MatrixLike<Mixable<Data>>,
    DeviceMatrix<Data>,
    DeviceMatrix<ElementsOf<Data>>
  >[],
  options?: GroupedOptions,
): Promise<MpmmResult<DeviceMatrix<ElementsOf<Data>>>[]>
export function mpmmGrouped<Out extends MatrixLike = DenseMatrix>(
  products: readonly GroupedProduct<
    MatrixLike<Int32Array | Int16Array>,
    MatrixLike<Int32Array | Int16Array>,
    Out
  >[],
  options?: GroupedOptions,
): Promise<MpmmResult<Out>[]>
export function mpmmGrouped<Data extends ElementArray, Out extends MatrixLike<Data> = DenseMatrix<Data>>(
  products: readonly GroupedProduct<MatrixLike<Data>, MatrixLike<Data>, Out>[],
  options?: GroupedOptions,
): Promise<MpmmResult<Out>[]>
export function mpmmGrouped<Out extends AnyResult = DenseMatrix<ElementArray> | DeviceMatrix<ElementArray>>(
  products: readonly GroupedProduct<AnyOperand, AnyOperand, Out>[],
  options?: GroupedOptions,
): Promise<MpmmResult<Out>[]>
export function mpmmGrouped(
  products: readonly GroupedProduct[],
  options?: GroupedOptions,
): Promise<MpmmResult<AnyResult>[]> {
  const watched = watch('mpmmGrouped')
  const promise = multiplyAll(products, options, watched)
  return watched ? watched.follow(promise) : promise
}

async function multiplyAll(
  productsValue: readonly GroupedProduct[],
  optionsValue: GroupedOptions | undefined,
  watched: Watched | null,
): Promise<MpmmResult<AnyResult>[]> {
  // Everything that can run user code comes first, as for one product.
  const options = readOptions(optionsValue, optionNames)
  const call = new Call(options)
  const products = readProducts(productsValue, call)
  const { signal } = options
  if (signal?.aborted) throw aborted(signal, 'the group')
  if (products.length === 0) return []
  requireOperation(options, products[0]!.type)
  const { session } = call
  const group = { products, call, watched }
  // Without results that are the user's nobody sees that a part has run before the next one is found to be wrong.
  if (session && !watched && !signal && products.every(({ out }) => out === null)) {
    requireNoContradiction(options, session)
    return run(group, notCancelled, checkPart)
  }
  checkPart(products, 0, products.length)
  requireApart(products, (index, view) => nameOf(products[index]!, index, view))
  if (session) {
    requireNoContradiction(options, session)
  } else {
    const { backend, deviceMemory } = placeOf(options, false)
    call.backend = backend
    call.deviceMemory = deviceMemory
    eachNamed(products, (product, names) =>
      allocateResult(product, { toString: () => `the result of ${names}` }),
    )
  }
  watched?.checked(products)
  if (!signal) return run(group, notCancelled)
  const cancel = new Int32Array(1)
  const forget = cancelOnAbort(signal, cancel)
  try {
    eachNamed(products, requireAllThere)
    return await run(group, cancel)
  } catch (error) {
    throw error instanceof AbortedError && signal.aborted ? aborted(signal, 'the group') : error
  } finally {
    forget()
  }
}

function readProducts(products: unknown, call: Call): Product[] {
  if (!Array.isArray(products)) {
    throw new DTypeError(
      `products must be an array of { a, b, out?, accumulate? }, but it is ${typeName(products)}`,
    )
  }
  const all: Product[] = []
  const names = new NamesInGroup()
  const { length } = products
  for (; names.index < length; names.index++) {
    const product: unknown = products[names.index]
    if (typeof product !== 'object' || product === null) {
      throw new DTypeError(`${names} must be { a, b, out?, accumulate? }, but it is ${typeName(product)}`)
    }
    requireNames(product, productNames, names)
    const { a, b, out, accumulate } = product as GroupedProduct
    const read = readProduct(call, a, b, out, accumulate, names)
    call.session ??= sessionOf(read)
    all.push(read)
  }
  return all
}

/** Checks the products from the one with the index `first` to that before `end`, and that they fit to the first of all. */
function checkPart(products: readonly Product[], first: number, end: number): void {
  const { type } = products[0]!
  const place = () => firstLocated(products)
  for (const names = new NamesInGroup(first); names.index < end; names.index++) {
    const product = products[names.index]!
    if (product.type !== type) {
      throw new DTypeError(
        `${names.a} is of ${typeNameOf(product.type)} and ${new NamesInGroup(0).a} of ${typeNameOf(type)}: the products of ` +
          'a group must all be of one element type; compute a group of each type',
      )
    }
    checkProduct(product, names)
    requireOneDevice(product, names, place)
    if (product.out && product.session && !product.out.memory) {
      const { name, memory } = place()
      throw new DeviceError(
        `${names.out} is in an array, but ${name} is on ${memory.session}, and so are all results of the group: leave out ` +
          '`out` and download c',
      )
    }
  }
}

function eachNamed(
  products: readonly Product[],
  look: (product: Product, names: NamesInGroup) => void,
  first = 0,
): void {
  const names = new NamesInGroup(first)
  for (const product of products) {
    look(product, names)
    names.index++
  }
}

/** What messages call a matrix of a product. */
function nameOf({ a, b, out }: Product, index: number, view: View): string {
  const names = new NamesInGroup(index)
  return String(view === out ? names.out : view === a ? names.a : view === b ? names.b : names.accumulate)
}

/** The first matrix that is on a device. */
function firstLocated(products: readonly Product[]): Located {
  for (let index = 0; ; index++) {
    const located = locate(products[index]!, new NamesInGroup(index))
    if (located) return located
  }
}

interface Group {
  readonly products: readonly Product[]
  readonly call: Call
  readonly watched: Watched | null
}

/**
 * Rejects with the error of the first product that fails, when nothing of the group runs any more. `check` is called for
 * each part before it is started.
 */
async function run(
  group: Group,
  cancel: Int32Array,
  check?: (products: readonly Product[], first: number, end: number) => void,
): Promise<MpmmResult<AnyResult>[]> {
  const { products, call } = group
  const { length } = products
  const results = new Array<MpmmResult<AnyResult>>(length)
  const parts: Promise<void>[] = []
  let size = call.session ? FIRST_PART : length
  try {
    for (let first = 0; first < length; first += size, size = Math.min(2 * size, MOST_IN_PART)) {
      const end = Math.min(first + size, length)
      check?.(products, first, end)
      parts.push(runPart(group, first, end, cancel, results))
    }
  } catch (error) {
    parts.push(Promise.reject(error))
  }
  const failed = (await Promise.allSettled(parts)).find((part) => part.status === 'rejected')
  if (!failed) return results
  // Nobody gets what the others have made.
  results.forEach(({ c }, index) => {
    if (call.session && !products[index]!.out) (c as DeviceMatrix).dispose()
  })
  throw failed.reason
}

/** Runs the products from the one with the index `first` to that before `end`. */
async function runPart(
  { products, call, watched }: Group,
  first: number,
  end: number,
  cancel: Int32Array,
  results: MpmmResult<AnyResult>[],
): Promise<void> {
  const { session } = call
  const arrays: OperandArray[] = []
  const reports = new Float64Array((end - first) * REPORT_FIELDS)
  const offsets = new Offsets()
  const count = (end - first) * REQUEST_FIELDS
  const requests = count <= partRequests.length ? partRequests.subarray(0, count) : new Float64Array(count)
  for (let index = first, start = 0; index < end; index++, start += REQUEST_FIELDS) {
    const product = products[index]!
    const { a, b, c, out, c0 } = product
    writeRequest(requests, product, start)
    requests[start + at.aMemory] = whereIs(a, arrays)
    requests[start + at.bMemory] = whereIs(b, arrays)
    requests[start + at.c0Memory] = c0 ? whereIs(c0, arrays) : 0
    if (out) {
      writeLayout(requests, start, at.c, out)
      requests[start + at.cMemory] = whereIs(out, arrays)
    } else if (c) {
      writeLayout(requests, start, at.c, c)
      requests[start + at.cMemory] = -arrays.push(c.data as OperandArray)
    } else {
      writeLayout(requests, start, at.c, product.newElements(offsets.next(product)))
      requests[start + at.cMemory] = 0
    }
  }
  if (offsets.bytes > Number.MAX_SAFE_INTEGER) {
    throw new OutOfMemoryError(`the results of the group don't fit on ${session}: compute it in parts`)
  }
  let made: NativeMemory | undefined
  try {
    made = await addon.multiplyGroup(arrays, requests, reports, cancel, session ? session.native : null)
  } catch (error) {
    throw namingProduct(fromNative(error), first, watched)
  }
  if (arrays.length > 0) eachNamed(products.slice(first, end), requireAllStillThere, first)
  const memory = made === undefined ? null : new SharedMemory(made, session!)
  offsets.bytes = 0
  for (let index = first, start = 0; index < end; index++, start += REPORT_FIELDS) {
    const product = products[index]!
    const offset = product.out || product.c ? 0 : offsets.next(product)
    results[index] = resultOf(product, memory, reports, start, offset)
  }
}

// Native code reads requests before the call returns, and no user code runs in between: this serves all calls.
const partRequests = new Float64Array(MOST_IN_PART * REQUEST_FIELDS)

/** Where the results of products are in the memory that is made for them. */
class Offsets {
  bytes = 0

  /** Of the result of the next product, in elements. */
  next({ batch, m, n, bytes }: Product): number {
    const offset = this.bytes / bytes
    this.bytes += Math.ceil((batch * m * n * bytes) / ALIGNMENT) * ALIGNMENT
    return offset
  }
}

/** How a request says where a matrix is. */
function whereIs({ memory, data }: View, arrays: OperandArray[]): number {
  return memory ? memory.number : -arrays.push(data as OperandArray)
}

/** An error of native code, with the product called what users call it; native code counts from `first` on. */
function namingProduct(error: unknown, first: number, watched: Watched | null): unknown {
  if (error instanceof Error) {
    error.message = error.message.replace(/^product (\d+): /, (_, place: string) => {
      const index = first + Number(place)
      watched?.failing(index)
      return `products[${index}]: `
    })
  }
  return error
}
