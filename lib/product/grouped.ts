/** Many products in one call. */
import { aborted, cancelOnAbort, notCancelled } from '../abort.js'
import { typeName } from '../describe.js'
import type { DeviceMatrix } from '../device/device.js'
import { type Session, SharedMemory } from '../device/resident.js'
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
  refuseDevices,
  requireAllStillThere,
  requireAllThere,
  requireNoContradiction,
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
  checkProducts(products, call)
  const { session } = call
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
  if (!signal) return run(products, session, notCancelled, watched)
  const cancel = new Int32Array(1)
  const forget = cancelOnAbort(signal, cancel)
  try {
    eachNamed(products, requireAllThere)
    return await run(products, session, cancel, watched)
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
  const read: Product[] = []
  const names = new NamesInGroup()
  const { length } = products
  for (; names.index < length; names.index++) {
    const product: unknown = products[names.index]
    if (typeof product !== 'object' || product === null) {
      throw new DTypeError(`${names} must be { a, b, out?, accumulate? }, but it is ${typeName(product)}`)
    }
    requireNames(product, productNames, names)
    const { a, b, out, accumulate } = product as GroupedProduct
    read.push(readProduct(call, a, b, out, accumulate, names))
  }
  return read
}

/** Checks each product by itself, and that they fit together. Says in `call` which device computes them. */
function checkProducts(products: readonly Product[], call: Call): void {
  const { type } = products[0]!
  requireOperation(call.options, type)
  const names = new NamesInGroup()
  let writes = false
  for (const product of products) {
    if (product.type !== type) {
      throw new DTypeError(
        `${names.a} is of ${typeNameOf(product.type)} and ${new NamesInGroup(0).a} of ${typeNameOf(type)}: the products of ` +
          'a group must all be of one element type; compute a group of each type',
      )
    }
    checkProduct(product, names)
    const session = sessionOf(product, names)
    call.session ??= session
    if (session && session !== call.session) {
      refuseDevices(firstLocated(products), locate(product, names)!.name, session)
    }
    writes ||= product.out !== null
    names.index++
  }
  if (!writes) return
  if (call.session) requireOutsThere(products)
  requireApart(products, (index, view) => nameOf(products[index]!, index, view))
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

/** Throws DeviceError if an `out` is in an array, though a device computes the group. */
function requireOutsThere(products: readonly Product[]): void {
  eachNamed(products, ({ out }, names) => {
    if (!out || out.memory) return
    const place = firstLocated(products)
    throw new DeviceError(
      `${names.out} is in an array, but ${place.name} is on ${place.memory.session}, and so are all results of the group: ` +
        'leave out `out` and download c',
    )
  })
}

/** A group that runs, all whose matrices are right. */
interface Group {
  readonly products: readonly Product[]
  readonly session: Session | null
  readonly cancel: Int32Array
  readonly watched: Watched | null
  /** For each product, once it has run. */
  readonly results: MpmmResult<AnyResult>[]
}

/** Rejects with the error of the first product that fails, when nothing of the group runs any more. */
async function run(
  products: readonly Product[],
  session: Session | null,
  cancel: Int32Array,
  watched: Watched | null,
): Promise<MpmmResult<AnyResult>[]> {
  const { length } = products
  const results = new Array<MpmmResult<AnyResult>>(length)
  const group: Group = { products, session, cancel, watched, results }
  const parts: Promise<void>[] = []
  let size = session ? FIRST_PART : length
  for (let first = 0; first < length; first += size, size = Math.min(2 * size, MOST_IN_PART)) {
    parts.push(runPart(group, first, Math.min(first + size, length)))
  }
  const failed = (await Promise.allSettled(parts)).find((part) => part.status === 'rejected')
  if (!failed) return results
  // Nobody gets them. Those of the parts that have failed are missing.
  results.forEach(({ c }, index) => {
    if (session && !products[index]!.out) (c as DeviceMatrix).dispose()
  })
  throw failed.reason
}

/** Runs the products from the one with the index `first` to that before `end`. */
async function runPart(group: Group, first: number, end: number): Promise<void> {
  const { products, session, cancel, watched, results } = group
  const arrays: OperandArray[] = []
  const requests = new Float64Array((end - first) * REQUEST_FIELDS)
  const reports = new Float64Array((end - first) * REPORT_FIELDS)
  let madeBytes = 0
  for (let index = first, start = 0; index < end; index++, start += REQUEST_FIELDS) {
    const product = products[index]!
    const { a, b, c, out, c0 } = product
    writeRequest(requests, product, start)
    requests[start + at.aMemory] = whereIs(a, arrays)
    requests[start + at.bMemory] = whereIs(b, arrays)
    if (out) {
      writeLayout(requests, start, at.c, out)
      requests[start + at.cMemory] = whereIs(out, arrays)
    } else if (c) {
      writeLayout(requests, start, at.c, c)
      requests[start + at.cMemory] = -arrays.push(c.data as OperandArray)
    } else {
      const { bytes } = product
      const made = product.newElements(madeBytes / bytes)
      writeLayout(requests, start, at.c, made)
      madeBytes += Math.ceil((made.batch * made.rows * made.cols * bytes) / ALIGNMENT) * ALIGNMENT
    }
    if (c0) requests[start + at.c0Memory] = whereIs(c0, arrays)
  }
  if (madeBytes > Number.MAX_SAFE_INTEGER) {
    throw new OutOfMemoryError(`the results of the group don't fit on ${session}: compute it in parts`)
  }
  let made: NativeMemory | undefined
  try {
    made = await addon.multiplyGroup(arrays, requests, reports, cancel, session ? session.native : null)
  } catch (error) {
    throw namingProduct(fromNative(error), first, watched)
  }
  const names = new NamesInGroup(first)
  const memory = made === undefined ? null : new SharedMemory(made, session!)
  let request = 0
  let report = 0
  for (; names.index < end; names.index++, request += REQUEST_FIELDS, report += REPORT_FIELDS) {
    const product = products[names.index]!
    requireAllStillThere(product, names)
    results[names.index] = resultOf(product, memory, reports, report, requests[request + at.c.offset])
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
