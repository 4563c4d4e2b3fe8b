/** The arguments of a product: read, then checked. */
import { aborted } from '../abort.js'
import { AUTO, automaticBackend, builtWithCuda, CPU } from '../backend.js'
import { show, showList } from '../describe.js'
import type { Session } from '../device/resident.js'
import { bytesOf, isInteger, newUnwrittenArray, typeNameOf } from '../elements.js'
import { configureCpu, deviceMemoryLimit } from '../environment.js'
import {
  DeviceError,
  DTypeError,
  OptionError,
  OutOfMemoryError,
  ShapeError,
  VariantError,
} from '../errors.js'
import { allocate } from '../matrix.js'
import { addon } from '../native.js'
import { overlap, overlapsItself, sameLayout } from '../overlap.js'
import { requireSemiringType } from '../semirings.js'
import type { ElementArray } from '../storage.js'
import { loadTuning } from '../tuning.js'
import { readView, requireStillThere, requireThere, showShape, type View } from '../view.js'
import { LEFT_OUT, type ReadOptions, readOptions } from './options.js'
import type { Product, Result } from './request.js'

const { backendChoices, variants } = addon

/**
 * The most work of a product that JavaScript's thread computes itself: steps and elements, which take it some
 * microseconds. To wake another thread and to hear of its result takes about 25 µs. `auto` leaves these to the CPU.
 */
const MOST_AT_ONCE = 65_536

/** The matrices of a product. */
export interface Arguments {
  a: View
  b: View
  out: View<ElementArray> | null
  outValue: unknown
  c0: View<ElementArray> | null
}

/** Reads the matrices of a product, which may run user code; `prefix` is what the names in messages start with. */
export function readArguments(
  a: unknown,
  b: unknown,
  outValue: unknown,
  accumulate: unknown,
  prefix = '',
): Arguments {
  const left = readView(a, `${prefix}a`, 'operand')
  const right = readView(b, `${prefix}b`, 'operand')
  const out = outValue === undefined ? null : readView(outValue, `${prefix}out`, 'result')
  return { a: left, b: right, out, outValue, c0: readAccumulate(accumulate, outValue, out, prefix) }
}

function readAccumulate(
  value: unknown,
  outValue: unknown,
  out: View<ElementArray> | null,
  prefix: string,
): View<ElementArray> | null {
  if (value === undefined || value === false) return null
  if (value === true) {
    if (out) return out
    throw new OptionError(
      `${prefix}accumulate: true needs the option out: what out holds is the matrix to accumulate to`,
    )
  }
  if (typeof value !== 'object') {
    throw new OptionError(
      `option ${prefix}accumulate must be a matrix or a boolean, but it is ${show(value)}`,
    )
  }
  return out && value === outValue ? out : readView(value, `${prefix}accumulate`, 'result')
}

/** Reads and checks the arguments of one product. Throws what {@link mpmm} rejects with. */
export function prepare(a: unknown, b: unknown, optionsValue: unknown): Product {
  // Everything that can run user code comes first: after this the arguments can't change under the checks.
  const options = readOptions(optionsValue)
  const matrices = readArguments(a, b, options.out, options.accumulate)
  if (options.signal?.aborted) throw aborted(options.signal)
  const product = checkProduct(options, matrices)
  if (product.session) requireNoContradiction(options, product.session)
  else choosePlace(product)
  return product
}

/**
 * Checks the matrices of a product. Runs no user code, and allocates nothing for the result: see {@link allocateResult}.
 * What computes it is decided by {@link requireNoContradiction} or {@link choosePlace}.
 */
export function checkProduct(options: ReadOptions, { a, b, out, outValue, c0 }: Arguments): Product {
  requireOneType(a, b)
  if (out) requireOneType(a, out)
  if (c0) requireOneType(a, c0)
  const { type } = a
  requireSemiringType(options.semiring, type)
  if (options.overflow !== LEFT_OUT && !isInteger(type)) {
    throw new OptionError(
      `option overflow is for integers, but the operands are of ${typeNameOf(type)}, which has infinities for what is too ` +
        'large: leave it out',
    )
  }
  requireThere(a)
  requireThere(b)
  if (a.cols !== b.rows) {
    throw new ShapeError(
      `${showShape(a)} has ${a.cols} columns and ${showShape(b)} has ${b.rows} rows: the inner dimensions of a product must be equal`,
    )
  }
  if (a.batch !== b.batch && a.batch !== 1 && b.batch !== 1) {
    throw new ShapeError(
      `${showShape(a)} is a batch of ${a.batch} and ${showShape(b)} one of ${b.batch}: batches must be of equal size, ` +
        'unless one operand is a single matrix',
    )
  }
  const batch = a.batch === 1 ? b.batch : a.batch
  const m = a.rows
  const n = b.cols
  const k = a.cols
  const batched = a.batched || b.batched
  const c: Result = out ?? newResult(type, batched, batch, m, n)
  if (out) requireOut(out, a, b, c0, batched, batch, m, n)
  if (c0 && c0 !== out) requireAccumulate(c0, out, batch, m, n)
  return {
    options,
    session: sessionOf(a, b, out, c0),
    backend: options.backend,
    device: options.device === LEFT_OUT ? 0 : options.device,
    deviceMemory: 0,
    atOnce: false,
    type,
    batch,
    m,
    n,
    k,
    a,
    b,
    c,
    c0,
    out,
    outValue,
  }
}

function newResult(type: number, batched: boolean, batch: number, rows: number, cols: number): Result {
  return {
    offset: 0,
    batchStride: batch === 1 ? 0 : rows * cols,
    rowStride: cols,
    colStride: 1,
    type,
    bytes: bytesOf(type),
    batched,
    batch,
    rows,
    cols,
    reach: batch * rows * cols,
    data: null,
  }
}

/** Makes the array of a result that isn't to be on a device; `name` is what messages call it. */
export function allocateResult({ session, out, c }: Product, name = 'the result'): void {
  if (out) return
  // Nobody sees the array before the product has written it: after an error it is dropped.
  if (!session) c.data = allocate(c.reach, name, c.type, newUnwrittenArray)
  else if (c.reach * c.bytes > Number.MAX_SAFE_INTEGER) {
    throw new OutOfMemoryError(
      `${name} of ${c.reach} elements doesn't fit on ${session}: compute it in parts, by rows of A or columns of B`,
    )
  }
}

function requireOneType(a: View, other: View): void {
  if (a.type === other.type) return
  throw new DTypeError(
    `${other.name} is of ${typeNameOf(other.type)} and ${a.name} of ${typeNameOf(a.type)}: the matrices of a product must ` +
      'all be of one element type; convert one with its array type, as in Float32Array.from(data)',
  )
}

function requireOut(
  out: View,
  a: View,
  b: View,
  c0: View | null,
  batched: boolean,
  batch: number,
  m: number,
  n: number,
): void {
  requireThere(out)
  if (!out.holding) {
    const resident = a.holding ? a : b.holding ? b : c0?.holding ? c0 : null
    if (resident) {
      throw new DeviceError(
        `${out.name} is in an array, but ${resident.name} is on ${resident.holding!.memory.session}, and so is the result: ` +
          'leave out `out` and download c',
      )
    }
  }
  if (out.batched !== batched || out.batch !== batch || out.rows !== m || out.cols !== n) {
    throw new ShapeError(
      `${showShape(out)} must have the shape of the result, ${showList(batched ? [batch, m, n] : [m, n])}`,
    )
  }
  if (overlapsItself(out)) {
    throw new ShapeError(
      `elements of ${out.name} overlap each other, so the result has no room in it: give ${out.name} strides that put each element in a place of its own`,
    )
  }
  for (const operand of [a, b]) {
    if (overlap(out, operand)) {
      throw new ShapeError(
        `${out.name} overlaps ${operand.name} in memory, so the product would overwrite ${operand.name} while it reads it: write into another matrix, or copy ${operand.name}`,
      )
    }
  }
}

function requireAccumulate(c0: View, out: View | null, batch: number, m: number, n: number): void {
  requireThere(c0)
  if (c0.rows !== m || c0.cols !== n || (c0.batch !== batch && c0.batch !== 1)) {
    const expected = batch === 1 ? `[${m}, ${n}]` : `[${batch}, ${m}, ${n}] or [${m}, ${n}]`
    throw new ShapeError(`${showShape(c0)} must have the shape of the result, ${expected}`)
  }
  if (out && !(c0.batch === batch && sameLayout(c0, out)) && overlap(out, c0)) {
    throw new ShapeError(
      `${out.name} overlaps ${c0.name} in memory without being the same matrix: accumulate into ${out.name} itself (accumulate: true), or copy one of them`,
    )
  }
}

/** The device that the matrices of a product are on; null if all are in arrays. */
function sessionOf(a: View, b: View, out: View | null, c0: View | null): Session | null {
  let first: View | null = a.holding ? a : null
  if (b.holding) first = sameDevice(first, b)
  if (c0?.holding) first = sameDevice(first, c0)
  if (out?.holding) first = sameDevice(first, out)
  return first?.holding ? first.holding.memory.session : null
}

/** `first`, or `view` if there is none; throws DeviceError if they are on different devices. */
export function sameDevice(first: View | null, view: View): View {
  if (!first) return view
  const [one, other] = [first.holding!.memory.session, view.holding!.memory.session]
  if (one === other) return first
  const again = `${one}` === `${other}` ? ', opened by another openDevice()' : ''
  throw new DeviceError(
    `${view.name} is on ${other} and ${first.name} on ${one}${again}: the matrices of a product must be on one device; ` +
      `download ${view.name}, and pass it as it is`,
  )
}

/** Throws if options ask for something else than the device that the matrices are on. */
export function requireNoContradiction({ backend, device, variant }: ReadOptions, session: Session): void {
  const choice = backendChoices[backend]
  if (backend !== AUTO && choice !== session.backend) {
    throw new OptionError(
      `option backend is '${choice}', but the matrices are on ${session}, which computes their products: leave it out`,
    )
  }
  if (device !== LEFT_OUT && session.backend === 'cuda' && device !== session.index) {
    throw new OptionError(
      `option device is ${device}, but the matrices are on ${session}, which computes their products: leave it out`,
    )
  }
  if (variant !== LEFT_OUT && variants[variant]!.backend !== session.backend) {
    throw new VariantError(
      `variant ${variants[variant]!.name} is of the ${variants[variant]!.backend} backend, but the matrices are on ${session}: ` +
        'choose one of its backend, from variants()',
    )
  }
}

/** What computes products of arrays. */
export interface Place {
  backend: number
  mayUseCuda: boolean
  deviceMemory: number
}

/** What the options and the environment say about the place of products. `small`: whether they are too small for a GPU. */
export function placeOf({ backend, variant }: ReadOptions, small: boolean): Place {
  const automatic = backend === AUTO && variant === LEFT_OUT
  let choice = automatic ? automaticBackend() : backend
  if (automatic && choice === AUTO && small) choice = CPU
  const mayUseCuda =
    builtWithCuda && choice !== CPU && (variant === LEFT_OUT || variants[variant]!.backend === 'cuda')
  configureCpu()
  if (mayUseCuda) loadTuning()
  return { backend: choice, mayUseCuda, deviceMemory: mayUseCuda ? deviceMemoryLimit() : 0 }
}

function choosePlace(product: Product): void {
  const { batch, m, n, k } = product
  const small = batch * (m * n * k + m * k + k * n + m * n) <= MOST_AT_ONCE
  const { backend, mayUseCuda, deviceMemory } = placeOf(product.options, small)
  product.backend = backend
  product.deviceMemory = deviceMemory
  product.atOnce = small && !mayUseCuda
}

/** Checks again what user code may have taken away since {@link checkProduct}. */
export function requireAllThere({ a, b, c0, out }: Product): void {
  requireThere(a)
  requireThere(b)
  if (c0) requireThere(c0)
  if (out) requireThere(out)
}

/** Checks that no array was taken away while the product ran. */
export function requireAllStillThere({ a, b, c0, out }: Product): void {
  requireStillThere(a)
  requireStillThere(b)
  if (c0) requireStillThere(c0)
  if (out) requireStillThere(out)
}
