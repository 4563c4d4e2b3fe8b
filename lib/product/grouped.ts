/** Many products in one call. */
import { aborted, cancelOnAbort, notCancelled } from '../abort.js'
import { typeName } from '../describe.js'
import type { DeviceMatrix } from '../device/device.js'
import type { Session } from '../device/resident.js'
import { typeNameOf } from '../elements.js'
import { AbortedError, DeviceError, DTypeError, fromNative, OutOfMemoryError } from '../errors.js'
import { requestAt as at, REPORT_FIELDS, REQUEST_FIELDS } from '../fields.js'
import type { DenseMatrix, MatrixLike } from '../matrix.js'
import { addon, type Made } from '../native.js'
import { requireNames } from '../options.js'
import { requireApart } from '../overlap.js'
import type { ElementArray, OperandArray } from '../storage.js'
import type { View } from '../view.js'
import { type Watched, watch } from './diagnostics.js'
import { NamesInGroup } from './names.js'
import {
  type AnyOperand,
  type AnyResult,
  type AnyWitness,
  type ElementsOf,
  type Mixable,
  type MpmmOptions,
  type ReadOptions,
  readOptions,
} from './options.js'
import {
  allocateResult,
  checkProduct,
  locate,
  placeOf,
  readProduct,
  refuseDevices,
  requireAllStillThere,
  requireAllThere,
  requireNoContradiction,
} from './prepare.js'
import { type NewResult, type Product, writeRequest } from './request.js'
import { type MpmmResult, madeMemories, resultOf, type WitnessedResult } from './result.js'

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
export type GroupedOptions<Witness extends AnyWitness = AnyWitness> = Pick<
  MpmmOptions<MatrixLike, Witness>,
  'semiring' | 'overflow' | 'backend' | 'device' | 'witness' | 'signal'
>

const optionNames: readonly (keyof GroupedOptions)[] = [
  'semiring',
  'overflow',
  'backend',
  'device',
  'witness',
  'signal',
]
const productNames: readonly (keyof GroupedProduct)[] = ['a', 'b', 'out', 'accumulate']

/** On a device, results of a group begin at multiples of so many bytes of its memory. */
const ALIGNMENT = 256

/** A device computes a large group in parts of so many products: it begins while JavaScript prepares the others. */
const PART = 1024

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
export function mpmmGrouped<Data extends OperandArray, Witness extends AnyWitness = undefined>(
  products: readonly GroupedProduct<
    DeviceMatrix<Data>,
    AnyOperand<Mixable<Data>>,
    DeviceMatrix<ElementsOf<Data>>
  >[],
  options?: GroupedOptions<Witness>,
): Promise<WitnessedResult<DeviceMatrix<ElementsOf<Data>>, Witness>[]>
export function mpmmGrouped<Data extends OperandArray, Witness extends AnyWitness = undefined>(
  products: readonly GroupedProduct<
    MatrixLike<Mixable<Data>>,
    DeviceMatrix<Data>,
    DeviceMatrix<ElementsOf<Data>>
  >[],
  options?: GroupedOptions<Witness>,
): Promise<WitnessedResult<DeviceMatrix<ElementsOf<Data>>, Witness>[]>
export function mpmmGrouped<Out extends MatrixLike = DenseMatrix, Witness extends AnyWitness = undefined>(
  products: readonly GroupedProduct<
    MatrixLike<Int32Array | Int16Array>,
    MatrixLike<Int32Array | Int16Array>,
    Out
  >[],
  options?: GroupedOptions<Witness>,
): Promise<WitnessedResult<Out, Witness>[]>
export function mpmmGrouped<
  Data extends ElementArray,
  Out extends MatrixLike<Data> = DenseMatrix<Data>,
  Witness extends AnyWitness = undefined,
>(
  products: readonly GroupedProduct<MatrixLike<Data>, MatrixLike<Data>, Out>[],
  options?: GroupedOptions<Witness>,
): Promise<WitnessedResult<Out, Witness>[]>
export function mpmmGrouped<
  Out extends AnyResult = DenseMatrix<ElementArray> | DeviceMatrix<ElementArray>,
  Witness extends AnyWitness = undefined,
>(
  products: readonly GroupedProduct<AnyOperand, AnyOperand, Out>[],
  options?: GroupedOptions<Witness>,
): Promise<WitnessedResult<Out, Witness>[]>
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
  const products = readProducts(productsValue, options)
  const { signal } = options
  if (signal?.aborted) throw aborted(signal, 'the group')
  if (products.length === 0) return []
  const writes = checkProducts(products)
  const session = sessionOf(products)
  if (session) {
    requireNoContradiction(options, session)
  } else {
    const { backend, deviceMemory } = placeOf(options, false)
    const names = new NamesInGroup()
    for (const product of products) {
      product.backend = backend
      product.deviceMemory = deviceMemory
      allocateResult(product, { toString: () => `the result of ${names}` })
      names.index++
    }
  }
  if (writes) requireApart(products, (index, view) => nameOf(products[index]!, index, view))
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

function readProducts(products: unknown, options: ReadOptions): Product[] {
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
    read.push(readProduct(options, a, b, out, accumulate, names))
  }
  return read
}

/** Checks each product by itself, and that all have one element type. Says whether any has an `out`. */
function checkProducts(products: readonly Product[]): boolean {
  const names = new NamesInGroup()
  const { type } = products[0]!.a
  let writes = false
  for (const product of products) {
    if (product.a.type !== type) {
      throw new DTypeError(
        `${names.a} is of ${typeNameOf(product.a.type)} and ${new NamesInGroup(0).a} of ${typeNameOf(type)}: the products of ` +
          'a group must all be of one element type; compute a group of each type',
      )
    }
    checkProduct(product, names)
    writes ||= product.out !== null
    names.index++
  }
  return writes
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

/** The device that computes the group; null if all its matrices are in arrays. */
function sessionOf(products: readonly Product[]): Session | null {
  const first = products.findIndex((product) => product.session)
  if (first < 0) return null
  const { session } = products[first]!
  const place = () => locate(products[first]!, new NamesInGroup(first))!
  for (let index = 0; index < products.length; index++) {
    const product = products[index]!
    if (product.session && product.session !== session) {
      refuseDevices(place(), locate(product, new NamesInGroup(index))!.name, product.session)
    }
    if (product.out && !product.out.memory) {
      throw new DeviceError(
        `${new NamesInGroup(index).out} is in an array, but ${place().name} is on ${session}, and so are all results of ` +
          'the group: leave out `out` and download c',
      )
    }
    product.session = session
  }
  return session
}

/** Decides where the results that have no place yet, and the witnesses, are in the memories that are made for them. */
function layOut(products: readonly Product[], session: Session): void {
  let bytes = 0
  let witnessBytes = 0
  for (const { c, out, witness } of products) {
    if (!out) bytes += putAt(bytes, c as NewResult)
    if (witness) witnessBytes += putAt(witnessBytes, witness)
  }
  if (Math.max(bytes, witnessBytes) <= Number.MAX_SAFE_INTEGER) return
  throw new OutOfMemoryError(`the results of the group don't fit on ${session}: compute it in parts`)
}

/** Puts a result at a byte of the memory; returns how many bytes it takes there. */
function putAt(byte: number, made: NewResult): number {
  const size = made.reach * made.bytes
  made.offset = byte / made.bytes
  made.reach += made.offset
  return Math.ceil(size / ALIGNMENT) * ALIGNMENT
}

/** Rejects with the error of the first product that fails, when nothing of the group runs any more. */
async function run(
  products: readonly Product[],
  session: Session | null,
  cancel: Int32Array,
  watched: Watched | null,
): Promise<WitnessedResult<AnyResult, boolean>[]> {
  if (!session || products.length <= PART) return runPart(products, 0, session, cancel, watched)
  const parts: Promise<WitnessedResult<AnyResult, boolean>[]>[] = []
  for (let first = 0; first < products.length; first += PART) {
    parts.push(runPart(products.slice(first, first + PART), first, session, cancel, watched))
  }
  const settled = await Promise.allSettled(parts)
  const failed = settled.find((part) => part.status === 'rejected')
  const results = settled.flatMap((part) => (part.status === 'fulfilled' ? part.value : []))
  if (!failed) return results
  // Nobody gets them.
  const given = new Set(products.map(({ outValue }) => outValue))
  for (const { c, witness } of results) {
    if (!given.has(c)) (c as DeviceMatrix).dispose()
    ;(witness as DeviceMatrix | undefined)?.dispose()
  }
  throw failed.reason
}

/** `first`: the index in the group of the first of the products. */
async function runPart(
  products: readonly Product[],
  first: number,
  session: Session | null,
  cancel: Int32Array,
  watched: Watched | null,
): Promise<WitnessedResult<AnyResult, boolean>[]> {
  if (session) layOut(products, session)
  const arrays: OperandArray[] = []
  const requests = new Float64Array(products.length * REQUEST_FIELDS)
  const reports = new Float64Array(products.length * REPORT_FIELDS)
  let start = 0
  for (const product of products) {
    const { a, b, c, out, c0, witness } = product
    writeRequest(requests, product, start)
    requests[start + at.aMemory] = whereIs(a, arrays)
    requests[start + at.bMemory] = whereIs(b, arrays)
    requests[start + at.cMemory] = out
      ? whereIs(out, arrays)
      : c.data
        ? -arrays.push(c.data as OperandArray)
        : 0
    if (c0) requests[start + at.c0Memory] = whereIs(c0, arrays)
    if (witness?.data) requests[start + at.witnessMemory] = -arrays.push(witness.data as Int32Array)
    start += REQUEST_FIELDS
  }
  let made: Made
  try {
    made = await addon.multiplyGroup(arrays, requests, reports, cancel, session ? session.native : null)
  } catch (error) {
    throw namingProduct(fromNative(error), first, watched)
  }
  eachNamed(products, requireAllStillThere, first)
  const memories = madeMemories(made, session, products[0]!.witness !== null)
  return products.map((product, index) => resultOf(product, memories, reports, index * REPORT_FIELDS))
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
