/** The arguments of a product: read, then checked. */

import { throwIfAborted } from '../abort.js'
import { ALL_DEVICES, AUTO, devicesIn, firstDevice } from '../backend.js'
import { requireDecided, requireSemiringType } from '../built-in.js'
import { type Name, show, showList } from '../describe.js'
import { pinnedResult } from '../device/pinned.js'
import type { Session, SharedMemory } from '../device/resident.js'
import { newUnwrittenArray, typeNameOf } from '../elements.js'
import {
  DeviceError,
  DTypeError,
  OptionError,
  OutOfMemoryError,
  ShapeError,
  VariantError,
} from '../errors.js'
import type { Elements } from '../layout.js'
import { allocate } from '../matrix.js'
import { addon } from '../native.js'
import { LEFT_OUT } from '../options.js'
import { requireIntegers } from '../overflow.js'
import { overlap, requireRoom, sameLayout } from '../overlap.js'
import { type PlaceRequest, placeOfProducts } from '../placement.js'
import type { ElementArray } from '../storage.js'
import { type Role, readView, requireShape, requireThere, showShape, type View } from '../view.js'
import { type Names, plainNames } from './names.js'
import { readOptions } from './options.js'
import { Call, Product, type Result } from './request.js'
import type { ReadStructure } from './structure.js'

const { backendChoices, variants } = addon

/** What the matrices of products are. Of lanes only the bits of uint32 count, which are taken for int32. */
export interface Roles {
  readonly operand: Role
  readonly result: Role
}

const ofLibrary: Roles = { operand: 'operand', result: 'result' }
export const ofLanes: Roles = { operand: 'lane', result: 'lane' }

/** Reads the matrices of a product, which may run user code. */
export function readProduct(
  call: Call,
  a: unknown,
  b: unknown,
  outValue: unknown,
  accumulate: unknown,
  names: Names,
  structure: ReadStructure | null,
  roles: Roles = ofLibrary,
): Product {
  const left = readView(a, names.a, roles.operand) as View
  const right = readView(b, names.b, roles.operand) as View
  const out =
    outValue === undefined ? null : (readView(outValue, names.out, roles.result) as View<ElementArray>)
  const c0 = readAccumulate(accumulate, outValue, out, names.accumulate, roles.result)
  return new Product(call, left, right, out, outValue, c0, structure)
}

function readAccumulate(
  value: unknown,
  outValue: unknown,
  out: View<ElementArray> | null,
  name: Name,
  role: Role,
): View<ElementArray> | null {
  if (value === undefined || value === false) return null
  if (value === true) {
    if (out) return out
    throw new OptionError(`${name}: true needs the option out: what out holds is the matrix to accumulate to`)
  }
  if (typeof value !== 'object') {
    throw new OptionError(`option ${name} must be a matrix or a boolean, but it is ${show(value)}`)
  }
  return out && value === outValue ? out : (readView(value, name, role) as View<ElementArray>)
}

/** Reads and checks the arguments of one product. Throws what {@link mpmm} rejects with. */
export function prepare(a: unknown, b: unknown, optionsValue: unknown): Product {
  // Everything that can run user code comes first: after this the arguments can't change under the checks.
  const options = readOptions(optionsValue)
  const call = new Call(options)
  const product = readProduct(call, a, b, options.out, options.accumulate, plainNames, options.structure)
  throwIfAborted(options.signal, 'the product')
  requireOperation(call, product.type)
  checkProduct(product, plainNames)
  call.session = sessionOf(product)
  requireOneDevice(product, plainNames, () => locate(product, plainNames)!)
  if (call.session) requireNoContradiction(options, call.session)
  else {
    const { batch, m, n, k } = product
    call.place = placeOfProducts(options, batch * (m * n * k + m * k + k * n + m * n))
  }
  return product
}

/** Throws unless there is such an operation on elements of this type. */
export function requireOperation({ options, asked }: Call, type: number): void {
  const { semiring, overflow } = options
  requireSemiringType(semiring, type)
  if (asked.length > 0) requireDecided(semiring, asked[0]!.name)
  if (overflow !== LEFT_OUT) requireIntegers(type, 'the operands are')
}

/** Checks that the matrices of a product fit. Runs no user code. Messages are elsewhere, so that V8 inlines what has none. */
export function checkProduct(product: Product, names: Names): void {
  const { a, b, out, c0 } = product
  requireOneType(a, b, names, names.b)
  if (out) requireOneType(a, out, names, names.out)
  if (c0) requireOneType(a, c0, names, names.accumulate)
  requireThere(a, names.a)
  requireThere(b, names.b)
  if (a.cols !== b.rows) refuseInner(a, b, names)
  if (a.batch !== b.batch && a.batch !== 1 && b.batch !== 1) refuseBatches(a, b, names)
  if (out) requireOut(product, names)
  if (c0 && c0 !== out) requireAccumulate(product, c0, names)
}

function refuseInner(a: View, b: View, names: Names): never {
  throw new ShapeError(
    `${showShape(a, names.a)} has ${a.cols} columns and ${showShape(b, names.b)} has ${b.rows} rows: the inner dimensions of a product must be equal`,
  )
}

function refuseBatches(a: View, b: View, names: Names): never {
  throw new ShapeError(
    `${showShape(a, names.a)} is a batch of ${a.batch} and ${showShape(b, names.b)} one of ${b.batch}: batches must be of equal size, ` +
      'unless one operand is a single matrix',
  )
}

/**
 * Says where the result and the further ones that are asked for go, and makes their arrays unless they are to be on a device;
 * `name` is what messages call the result.
 */
export function allocateResult(
  product: Product,
  name: Name = 'the result',
  asked = product.call.asked,
): void {
  const { call, out } = product
  product.c = out ?? newResult(product.newElements(), call, name)
  if (asked.length === 0) return
  product.further = asked.map((further) =>
    newResult(product.newFurther(), call, { toString: () => `the ${further.name} of ${name}` }),
  )
}

function newResult(elements: Elements, { session, place, options }: Call, name: Name): Result {
  const { type, bytes, reach } = elements
  // The array is returned only when the product has written it: after an error it is dropped.
  const pinned = place.mayUseCuda ? pinnedResult(type, reach, firstDevice(options)) : null
  const data = session ? null : (pinned ?? allocate(reach, name, type, newUnwrittenArray))
  if (session && reach * bytes > Number.MAX_SAFE_INTEGER) {
    throw new OutOfMemoryError(
      `${name} of ${reach} elements doesn't fit on ${session}: compute it in parts, by rows of A or columns of B`,
    )
  }
  return { ...elements, data }
}

function requireOneType(a: View, other: View, names: Names, name: Name): void {
  if (a.type !== other.type) refuseType(a, other, names, name)
}

function refuseType(a: View, other: View, names: Names, name: Name): never {
  throw new DTypeError(
    `${name} is of ${typeNameOf(other.type)} and ${names.a} of ${typeNameOf(a.type)}: the matrices of a product must ` +
      'all be of one element type; convert one with its array type, as in Float32Array.from(data)',
  )
}

function requireOut({ a, b, c0, out, batched, batch, m, n }: Product, names: Names): void {
  if (!out) return
  requireThere(out, names.out)
  if (!out.memory) {
    const resident = first(a, b, c0, null, names)
    if (resident) {
      throw new DeviceError(
        `${names.out} is in an array, but ${resident.name} is on ${resident.memory.session}, and so is the result: ` +
          'leave out `out` and download c',
      )
    }
  }
  requireShape(out, names.out, 'the result', { batched, batch, rows: m, cols: n })
  requireRoom(out, names.out, 'the result')
  if (overlap(out, a)) refuseOverlap(names, names.a)
  if (overlap(out, b)) refuseOverlap(names, names.b)
}

function refuseOverlap({ out }: Names, operand: Name): never {
  throw new ShapeError(
    `${out} overlaps ${operand} in memory, so the product would overwrite ${operand} while it reads it: write into ` +
      `another matrix, or copy ${operand}`,
  )
}

function requireAccumulate({ out, batch, m, n }: Product, c0: View, names: Names): void {
  requireThere(c0, names.accumulate)
  if (c0.rows !== m || c0.cols !== n || (c0.batch !== batch && c0.batch !== 1)) {
    const expected = batch === 1 ? `[${m}, ${n}]` : `[${batch}, ${m}, ${n}] or [${m}, ${n}]`
    throw new ShapeError(`${showShape(c0, names.accumulate)} must have the shape of the result, ${expected}`)
  }
  if (out && !(c0.batch === batch && sameLayout(c0, out)) && overlap(out, c0)) {
    throw new ShapeError(
      `${names.out} overlaps ${names.accumulate} in memory without being the same matrix: accumulate into ${names.out} ` +
        'itself (accumulate: true), or copy one of them',
    )
  }
}

/** A matrix on a device, and what messages call it. */
export interface Located {
  readonly name: Name
  readonly memory: SharedMemory
}

/** The first of a product's matrices that is on a device; null if all are in arrays. */
export function locate({ a, b, c0, out }: Product, names: Names): Located | null {
  return first(a, b, c0, out, names)
}

function first(a: View, b: View, c0: View | null, out: View | null, names: Names): Located | null {
  if (a.memory) return { name: names.a, memory: a.memory }
  if (b.memory) return { name: names.b, memory: b.memory }
  if (c0?.memory) return { name: names.accumulate, memory: c0.memory }
  if (out?.memory) return { name: names.out, memory: out.memory }
  return null
}

/** The device that the first of a product's matrices that is on one is on; null if all are in arrays. */
export function sessionOf({ a, b, c0, out }: Product): Session | null {
  const memory = a.memory ?? b.memory ?? c0?.memory ?? out?.memory
  return memory ? memory.session : null
}

/** Throws DeviceError unless all matrices that are on a device are on the call's; `first` says what messages call one there. */
export function requireOneDevice({ call, a, b, c0, out }: Product, names: Names, first: () => Located): void {
  const { session } = call
  requireOn(session, a, names.a, first)
  requireOn(session, b, names.b, first)
  if (c0) requireOn(session, c0, names.accumulate, first)
  if (out) requireOn(session, out, names.out, first)
}

function requireOn(session: Session | null, { memory }: View, name: Name, first: () => Located): void {
  if (memory !== null && memory.session !== session) refuseDevices(first(), name, memory.session)
}

/** Throws DeviceError for matrices of different devices. */
function refuseDevices(one: Located, name: Name, other: Session): never {
  const { session } = one.memory
  const again = `${session}` === `${other}` ? ', opened by another openDevice()' : ''
  throw new DeviceError(
    `${name} is on ${other} and ${one.name} on ${session}${again}: the matrices of a product must be on one device; ` +
      `download ${name}, and pass it as it is`,
  )
}

/** Throws if options ask for something else than the device that the matrices are on. */
export function requireNoContradiction(
  { backend, device, devices, variant }: PlaceRequest,
  session: Session,
): void {
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
  if (devices !== 0 && !isOf(session, devices)) {
    const asked = devices === ALL_DEVICES ? "'all'" : showList(devicesIn(devices))
    throw new OptionError(
      `option devices is ${asked}, but the matrices are on ${session}, which computes their products: ` +
        'leave it out; openDevice({ devices }) spreads matrices among several',
    )
  }
  if (variant !== LEFT_OUT && variants[variant]!.backend !== session.backend) {
    throw new VariantError(
      `variant ${variants[variant]!.name} is of the ${variants[variant]!.backend} backend, but the matrices are on ${session}: ` +
        'choose one of its backend, from variants()',
    )
  }
}

/** Whether the option devices names what the session consists of. Without a GPU, 'all' is as if it weren't given. */
function isOf({ backend, index, devices, isAll }: Session, asked: number): boolean {
  if (asked === ALL_DEVICES) return backend === 'cpu' || isAll
  return asked === (devices > 0 || backend === 'cpu' ? devices : 2 ** index)
}
