/** Many products in one call. */
import { notCancelled, signal, throwIfAborted } from '../abort.js'
import { whereSet } from '../backend.js'
import { semiring } from '../built-in.js'
import { typeName } from '../describe.js'
import type { DeviceMatrix } from '../device/device.js'
import { typeNameOf } from '../elements.js'
import { AbortedError, DeviceError, DTypeError, fromNative, OutOfMemoryError } from '../errors.js'
import { memberAt as at, MEMBER_FIELDS, REPORT_FIELDS, REQUEST_FIELDS } from '../fields.js'
import { turn } from '../host.js'
import type { MatrixLike } from '../matrix.js'
import { addon, type Made } from '../native.js'
import { Options, type OptionsOf, requireNames } from '../options.js'
import { requireApart } from '../overlap.js'
import { placeOfProducts } from '../placement.js'
import { runNative } from '../run-native.js'
import type { OperandArray } from '../storage.js'
import { type Lanes, userWorkOf } from '../user-semiring.js'
import type { View } from '../view.js'
import { type ObservedCall, watch } from './diagnostics.js'
import { NamesInGroup } from './names.js'
import {
  type AnyAccumulate,
  type AnyOperand,
  type AnyResult,
  type AnyWitness,
  asProduct,
  furtherSet,
  type MpmmOptions,
  overflow,
} from './options.js'
import {
  allocateResult,
  checkProduct,
  type Located,
  locate,
  readProduct,
  requireNoContradiction,
  requireOneDevice,
  requireOperation,
  sessionOf,
} from './prepare.js'
import {
  Call,
  FURTHER_BYTES,
  furtherKinds,
  type Product,
  type Result,
  writeCall,
  writeSizes,
} from './request.js'
import {
  type Fitting,
  type MpmmResult,
  madeMemories,
  type ResultOf,
  releaseMade,
  resultOf,
  type WitnessedResult,
} from './result.js'
import { type ProductStructure, readStructure, structure } from './structure.js'
import type {
  UserGroupedOptions,
  UserGroupedProduct,
  UserResultOf,
  UserWitnessedResult,
} from './user-product.js'

/** A product of {@link mpmmGrouped}: the arguments of {@link mpmm}, and its options that are about one product. */
export interface GroupedProduct<
  A extends AnyOperand = AnyOperand,
  B extends AnyOperand = AnyOperand,
  Out extends AnyResult | undefined = AnyResult,
  C0 extends AnyAccumulate = Out | boolean,
> {
  /** The left operand, [rows, k] or [batch, rows, k]. */
  a: A
  /** The right operand, [k, cols] or [batch, k, cols]. */
  b: B
  /** As the option of {@link mpmm}; it may not overlap any matrix of another product of the group either. */
  out?: Out | undefined
  /** As the option of {@link mpmm}. */
  accumulate?: C0 | undefined
  /** In place of the option of the group. */
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

/** A product with the members that it must have, as far as types tell. */
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
  semiring,
  overflow,
  ...whereSet,
  ...furtherSet,
  structure,
  signal,
} satisfies OptionsOf<GroupedOptions>)

// Matrices, which are read one product after the other.
const productNames: readonly (keyof GroupedProduct)[] = ['a', 'b', 'out', 'accumulate', 'structure']

/**
 * On several GPUs as one device, results of so many bytes or more have memory of their own, which is spread. Smaller ones share
 * memory, which is on the first GPU.
 */
const ALONE_BYTES = 2 ** 20

/** On a device, results of a group begin at multiples of so many bytes of its memory. */
const ALIGNMENT = 256

/**
 * A device computes a large group in parts of so many products. It is asked for the first before the others are read, and then for one
 * per turn of the event loop, so that the group doesn't keep the rest of the program waiting.
 */
const PART = 1024

/**
 * Many products in one call, of any shapes: for small products, which would take less time than to ask for each.
 *
 * If any matrix of the group is a {@link DeviceMatrix}, its device computes all products, and all results stay there. They
 * share memory, about a thousand of them at a time, which is given back when the last of them has been disposed.
 *
 * @returns A result for each product, in order.
 * @throws Rejects, and never throws, with what {@link mpmm} rejects with. The message names the product. If one fails or is
 *   refused, the promise is rejected; what the `out` of the others hold is unspecified then.
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
): Promise<WitnessedResult<GroupedResultOf<P>, Witness>[]>
/**
 * Many products over a semiring of your own in one call; all else is as in the other form.
 *
 * @throws What the other form throws.
 */
export function mpmmGrouped<
  L extends Lanes,
  P extends UserGroupedProduct<L>,
  Witness extends AnyWitness = undefined,
>(
  products: readonly P[],
  options: UserGroupedOptions<L, Witness>,
): Promise<UserWitnessedResult<UserResultOf<L, P['a'] | P['b'], undefined>, Witness>[]>
export function mpmmGrouped(products: readonly unknown[], options?: unknown): Promise<unknown> {
  const watched = watch('mpmmGrouped')
  const promise = multiplyAll(products as readonly GroupedProduct[], options as GroupedOptions, watched)
  return watched ? watched.follow(promise) : promise
}

async function multiplyAll(
  productsValue: readonly GroupedProduct[],
  optionsValue: GroupedOptions | undefined,
  watched: ObservedCall | null,
): Promise<MpmmResult<AnyResult>[]> {
  const own = userWorkOf(optionsValue)
  if (own)
    return own.multiplyGrouped(productsValue, optionsValue, watched) as Promise<MpmmResult<AnyResult>[]>
  const options = asProduct(groupedOptions.read(optionsValue))
  const group = new Group(requireArray(productsValue), new Call(options), watched)
  const { products, call } = group
  const { signal } = options
  try {
    // The device begins while the others are read. If one of those turns out to be wrong, what it has computed is dropped.
    readProducts(group, group.partEnd)
    if (call.session && !signal && !watched) group.startPart(notCancelled)
    // For the rest everything that can run user code comes first, as for one product.
    readProducts(group, group.length)
    throwIfAborted(signal, WORK)
    if (group.length === 0) return []
    if (!call.session || signal || watched) group.check(group.length)
    if (!call.session) placeResults(group)
    watched?.checked(products)
  } catch (error) {
    group.fail(error)
    return group.end()
  }
  if (!signal) return group.run(notCancelled)
  // Each part looks for its arrays when it has ended.
  return runNative({ what: WORK, signal, borrowed: null }, ({ cancel }) => {
    eachNamed(products, (product, names) => product.requireThere(names))
    return group.run(cancel)
  })
}

/** Name of the work in messages. */
const WORK = 'the group'

function requireArray(products: unknown): readonly unknown[] {
  if (Array.isArray(products)) return products
  throw new DTypeError(
    `products must be an array of { a, b, out?, accumulate? }, but it is ${typeName(products)}`,
  )
}

/** A group, some of whose products have been read, checked or started. */
class Group {
  readonly products: Product[] = []
  readonly length: number
  /** Whether any that has been read has an `out`. */
  writes = false
  #checked = 0
  /** Number of the products whose matrices are known not to overlap an `out`. */
  #apart = 0
  #started = 0
  readonly #results: WitnessedResult<AnyResult, boolean>[]
  readonly #parts: Promise<void>[] = []

  constructor(
    readonly values: readonly unknown[],
    readonly call: Call,
    readonly watched: ObservedCall | null,
  ) {
    this.length = values.length
    this.#results = new Array(this.length)
  }

  /** The end of the next part on a device. */
  get partEnd(): number {
    return Math.min(this.#started + PART, this.length)
  }

  /** Checks the products up to that before `end`, which have been read. Runs no user code. */
  check(end: number): void {
    if (this.#checked < end) checkProducts(this, this.#checked, end)
    this.#checked = end
    if (this.writes) this.#requireApart(end)
  }

  /** Throws ShapeError if one of these writes what another one uses. */
  #requireApart(end: number): void {
    const { products } = this
    // All that have been read are compared, so that it is done at most twice.
    if (end <= this.#apart) return
    requireApart(products, (index, view) => nameOf(products[index]!, index, view))
    this.#apart = products.length
  }

  /** Starts the next part. */
  startPart(cancel: Int32Array): void {
    // The host's threads compute a group as a whole.
    const end = this.call.session ? this.partEnd : this.length
    this.check(end)
    while (this.#started < end) {
      const first = this.#started
      this.#started = this.#endTogether(end)
      const products = this.products.slice(first, this.#started)
      this.#add(runPart(products, first, this.call, cancel, this.watched, this.#results))
    }
  }

  /** The same. If that fails, no further part is started, and end() throws the error. */
  #startNext(cancel: Int32Array): void {
    try {
      this.startPart(cancel)
    } catch (error) {
      this.#started = this.length
      this.fail(error)
    }
  }

  /** Starts the parts that are left, and gives the results. */
  async run(cancel: Int32Array): Promise<MpmmResult<AnyResult>[]> {
    const { session } = this.call
    const rest = () => {
      while (this.#started < this.length) this.#startNext(cancel)
    }
    while (this.#started < this.length) {
      if (session && this.#started > 0) {
        session.rest = rest
        await turn()
        // If the device was asked for something else meanwhile, the rest has come before that.
        if (session.rest !== rest) break
        session.rest = null
      }
      this.#startNext(cancel)
    }
    return this.end()
  }

  /** The end of the next products whose results share memory. */
  #endTogether(end: number): number {
    const { products, call } = this
    if (!call.session?.devices) return end
    let next = this.#started
    while (next < end && !isAlone(products[next]!)) next++
    return Math.max(next, this.#started + 1)
  }

  /** Marks it as one that starts no more. */
  fail(error: unknown): void {
    this.#add(Promise.reject(error))
  }

  #add(part: Promise<void>): void {
    // end() says what has failed, when the others have ended.
    part.catch(() => {})
    this.#parts.push(part)
  }

  /** The results, when nothing of the group runs any more. Rejects with the first error. */
  async end(): Promise<MpmmResult<AnyResult>[]> {
    const failed = (await Promise.allSettled(this.#parts)).find((part) => part.status === 'rejected')
    if (!failed) return this.#results
    // What the others have made is dropped.
    this.#results.forEach((result, index) => {
      const { session, out } = this.products[index]!
      if (!session) return
      if (!out) (result.c as DeviceMatrix).dispose()
      for (const { name } of this.call.asked) (result[name] as DeviceMatrix).dispose()
    })
    throw failed.reason
  }
}

/** Whether a result is made, and has memory of its own on several devices. */
const isAlone = ({ out, batch, m, n, bytes }: Product) => !out && batch * m * n * bytes >= ALONE_BYTES

/** Reads the products up to that before `end`, which may run user code. */
function readProducts(group: Group, end: number): void {
  const { values, products, call } = group
  for (const names = new NamesInGroup(products.length); names.index < end; names.index++) {
    const value = values[names.index]
    if (typeof value !== 'object' || value === null) {
      throw new DTypeError(`${names} must be { a, b, out?, accumulate? }, but it is ${typeName(value)}`)
    }
    requireNames(value, productNames, names)
    const { a, b, out, accumulate, structure: its } = value as GroupedProduct
    const own = its === undefined ? call.options.structure : readStructure(its, names.structure)
    const product = readProduct(call, a, b, out, accumulate, names, own)
    call.session ??= sessionOf(product)
    group.writes ||= product.out !== null
    // Not by push(), which takes longer: V8 doesn't inline it here.
    products[names.index] = product
  }
}

/** Chooses where the host computes, and makes the results there. */
function placeResults({ products, call }: Group): void {
  call.place = placeOfProducts(call.options)
  eachNamed(products, (product, names) =>
    allocateResult(product, { toString: () => `the result of ${names}` }),
  )
}

/** Checks the products from `first` to that before `end`. */
function checkProducts({ products, call }: Group, first: number, end: number): void {
  const { type } = products[0]!
  if (first === 0) {
    requireOperation(call, type)
    if (call.session) requireNoContradiction(call.options, call.session)
  }
  const place = () => firstLocated(products)
  for (const names = new NamesInGroup(first); names.index < end; names.index++) {
    const product = products[names.index]!
    if (product.type !== type) refuseTypes(product, names, products[0]!)
    checkProduct(product, names)
    requireOneDevice(product, names, place)
    if (product.out && call.session && !product.out.memory) refuseArray(names, place())
  }
}

function refuseTypes({ type }: Product, { a }: NamesInGroup, first: Product): never {
  throw new DTypeError(
    `${a} is of ${typeNameOf(type)} and ${new NamesInGroup(0).a} of ${typeNameOf(first.type)}: the products of ` +
      'a group must all be of one element type; compute a group of each type',
  )
}

function refuseArray({ out }: NamesInGroup, { name, memory }: Located): never {
  throw new DeviceError(
    `${out} is in an array, but ${name} is on ${memory.session}, and so are all results of the group: leave out ` +
      '`out` and download c',
  )
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

/** Runs a part of a group, whose first product has the index `first` there. */
async function runPart(
  products: readonly Product[],
  first: number,
  call: Call,
  cancel: Int32Array,
  watched: ObservedCall | null,
  results: WitnessedResult<AnyResult, boolean>[],
): Promise<void> {
  const { session, asked } = call
  const { length } = products
  const buffer = takeBuffer(length)
  const members = new Float64Array(buffer, 0, length * MEMBER_FIELDS)
  const reports = new Float64Array(buffer, members.byteLength, length * REPORT_FIELDS)
  const arrays = writeMembers(members, products, call)
  const requireArrays = () => {
    if (arrays.length > 0) eachNamed(products, (product, names) => product.requireStillThere(names), first)
  }
  // The event loop has turned since the arrays of later parts were checked.
  if (first > 0) requireArrays()
  let made: Made
  try {
    writeCall(request, call, products[0]!.type)
    const native = session ? session.native : null
    made = await addon.multiplyGroup(arrays, request, members, reports, cancel, native)
  } catch (error) {
    throw namingProduct(fromNative(error), first, length, watched)
  }
  try {
    requireArrays()
  } catch (error) {
    releaseMade(made)
    throw error
  }
  const memories = madeMemories(made, call)
  const offsets = new Offsets()
  const furtherOffsets = new Offsets()
  products.forEach((product, index) => {
    const offset = product.out || product.c ? 0 : offsets.next(product, product.bytes)
    const furtherOffset = session && asked.length > 0 ? furtherOffsets.next(product, FURTHER_BYTES) : 0
    results[first + index] = resultOf(
      product,
      memories,
      reports,
      index * REPORT_FIELDS,
      offset,
      furtherOffset,
    )
  })
  giveBack(buffer)
}

/**
 * Writes the members of a part, and gives the arrays that they number. Results that have no place yet follow each other in
 * memory.
 */
function writeMembers(
  members: Float64Array,
  products: readonly Product[],
  { session, asked }: Call,
): OperandArray[] {
  const arrays: OperandArray[] = []
  const offsets = new Offsets()
  const furtherOffsets = new Offsets()
  let start = 0
  for (const product of products) {
    const { a, b, c, out, c0, further, bytes } = product
    writeSizes(members, product, start)
    writeMatrix(members, start + at.aMemory, a, arrays)
    writeMatrix(members, start + at.bMemory, b, arrays)
    if (out ?? c) writeMatrix(members, start + at.cMemory, out ?? c!, arrays)
    else writePlace(members, start + at.cMemory, offsets.next(product, bytes))
    if (c0) writeMatrix(members, start + at.c0Memory, c0, arrays)
    else members[start + at.c0Memory] = 0
    for (const { memory } of furtherKinds) members[start + memory] = 0
    if (asked.length > 0) {
      // They are of one type, so that all of a product have the same place in their memories.
      const offset = session ? furtherOffsets.next(product, FURTHER_BYTES) : 0
      asked.forEach(({ memory }, index) => {
        if (session) writePlace(members, start + memory, offset)
        else writeMatrix(members, start + memory, further[index]!, arrays)
      })
    }
    start += MEMBER_FIELDS
  }
  if (Math.max(offsets.bytes, furtherOffsets.bytes) > Number.MAX_SAFE_INTEGER) {
    throw new OutOfMemoryError(`the results of the group don't fit on ${session}: compute it in parts`)
  }
  return arrays
}

/** Writes where a matrix is into its five fields, of which `start` is the first. */
function writeMatrix(
  members: Float64Array,
  start: number,
  matrix: View | Result,
  arrays: OperandArray[],
): void {
  const { memory, data } = matrix as View
  members[start] = memory ? memory.number : -arrays.push(data as OperandArray)
  members[start + 1] = matrix.offset
  members[start + 2] = matrix.rowStride
  members[start + 3] = matrix.colStride
  members[start + 4] = matrix.batchStride
}

/** The same for a result whose memory isn't there yet. */
function writePlace(members: Float64Array, start: number, offset: number): void {
  members[start] = 0
  members[start + 1] = offset
}

// Native code reads the request before the call returns, and no user code runs in between: one serves all calls.
const request = new Float64Array(REQUEST_FIELDS)

/** Memory for the members and reports of parts, which native code uses while these run: to make new takes as long as to write it. */
const spareBuffers: ArrayBuffer[] = []
const BYTES_OF_PRODUCT = (MEMBER_FIELDS + REPORT_FIELDS) * Float64Array.BYTES_PER_ELEMENT
const BYTES_OF_PART = PART * BYTES_OF_PRODUCT
const MOST_SPARE = 16

function takeBuffer(count: number): ArrayBuffer {
  if (count > PART) return new ArrayBuffer(count * BYTES_OF_PRODUCT)
  return spareBuffers.pop() ?? new ArrayBuffer(BYTES_OF_PART)
}

function giveBack(buffer: ArrayBuffer): void {
  if (buffer.byteLength === BYTES_OF_PART && spareBuffers.length < MOST_SPARE) spareBuffers.push(buffer)
}

/** Where the results of products, or further ones of them, are in the memory that is made for them. */
class Offsets {
  bytes = 0

  /** Of the matrix of the next product, in elements, each of which takes so many bytes. */
  next({ batch, m, n }: Product, bytes: number): number {
    const offset = this.bytes / bytes
    this.bytes += Math.ceil((batch * m * n * bytes) / ALIGNMENT) * ALIGNMENT
    return offset
  }
}

/** An error of native code, with the product called what users call it; native code counts from `first` on, if there are several. */
function namingProduct(error: unknown, first: number, count: number, watched: ObservedCall | null): unknown {
  if (!(error instanceof Error) || error instanceof AbortedError) return error
  const [prefix = '', place] = /^product (\d+): /.exec(error.message) ?? []
  if (place === undefined && count > 1) return error
  const index = first + Number(place ?? 0)
  watched?.failing(index)
  error.message = `products[${index}]: ${error.message.slice(prefix.length)}`
  return error
}
