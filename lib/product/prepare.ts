/** Reads, then checks the arguments of a product. */

import { throwIfAborted } from '../abort.js'
import { ALL_DEVICES, AUTO, assertDevicesOnly, devicesIn, firstDevice } from '../backend.js'
import { type PlacementRequest, placeProduct } from '../backend-selection.js'
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
import { type Elements, shapeOf } from '../layout.js'
import { allocate } from '../matrix.js'
import { assertCapacity, assertSeparate, overlap, sameLayout } from '../memory-overlap.js'
import { addon } from '../native.js'
import { Options, UNSET } from '../options.js'
import type { ElementArray } from '../storage.js'
import type { LaneType } from '../user-semiring.js'
import { assertAttached, assertShape, type Role, readView, showShape, type View } from '../view.js'
import { algebra } from './algebra.js'
import { readLanes, requireLaneType } from './lanes.js'
import { type Names, namesOfLane, plainNames } from './names.js'
import { productSet } from './options.js'
import { Call, Product, type Result } from './product.js'
import type { ReadStructure } from './structure.js'
import type { CallTrace } from './tracing.js'
import { assertWebGpuKind } from './webgpu.js'

const { backendChoices, variants } = addon

const productOptions = new Options({ ...productSet, semiring: algebra })

/** Reads and checks the arguments of one product. Throws what {@link mpmm} rejects with. */
export function prepare(a: unknown, b: unknown, optionsValue: unknown, trace: CallTrace | null): Product {
  // All steps that can run user code come first, so that arguments can't change after the checks.
  const options = productOptions.read(optionsValue)
  const call = new Call(options.semiring, options)
  const product = readProduct(call, a, b, options.out, options.accumulate, plainNames, options.structure)
  throwIfAborted(options.signal, 'the product')
  checkCall(call, product)
  checkProduct(product, plainNames, () => locate(product, plainNames)!)
  if (!call.session) {
    const { batch, m, n, k, otherLanes } = product
    const work = (1 + otherLanes.length) * batch * (m * n * k + m * k + k * n + m * n)
    call.place = placeProduct(options, work)
  }
  assertWebGpuKind(product)
  trace?.checked([product])
  return product
}

/** Reads the matrices of a product, which may run user code, and finds the device of the call. */
export function readProduct(
  call: Call,
  a: unknown,
  b: unknown,
  out: unknown,
  accumulate: unknown,
  names: Names,
  structure: ReadStructure | null,
): Product {
  const product =
    call.algebra.lanes === null
      ? readLane(call, a, b, out, accumulate, names, structure, null)
      : readAllLanes(call, [a, b, out, accumulate], names, structure)
  call.session ??= sessionOf(product)
  return product
}

function readAllLanes(
  call: Call,
  [a, b, out, accumulate]: [unknown, unknown, unknown, unknown],
  names: Names,
  structure: ReadStructure | null,
): Product {
  const { algebra } = call
  const [left, right] = [readLanes(a, algebra, names.a), readLanes(b, algebra, names.b)]
  const outs = out === undefined ? [] : readLanes(out, algebra, names.out)
  const isMatrix = accumulate !== undefined && typeof accumulate !== 'boolean'
  const c0 = isMatrix && accumulate !== out ? readLanes(accumulate, algebra, names.accumulate) : null
  const flag = isMatrix || accumulate
  const [head, ...others] = algebra.lanes!.map((type, lane) => {
    const its = algebra.isList ? namesOfLane(names, lane) : names
    return readLane(call, left[lane], right[lane], outs[lane], c0 ? c0[lane] : flag, its, structure, type)
  }) as [Product, ...Product[]]
  head.outValue = out
  head.otherLanes = others
  for (const lane of others) call.session ??= sessionOf(lane)
  return head
}

/** Reads the matrices of a lane. Without a type, the arrays of the operands decide it. */
function readLane(
  call: Call,
  a: unknown,
  b: unknown,
  outValue: unknown,
  accumulate: unknown,
  names: Names,
  structure: ReadStructure | null,
  type: LaneType | null,
): Product {
  const operand: Role = type === null ? 'operand' : 'lane'
  const result: Role = type === null ? 'result' : 'lane'
  const left = readView(a, names.a, operand) as View
  const right = readView(b, names.b, operand) as View
  const out = outValue === undefined ? null : (readView(outValue, names.out, result) as View<ElementArray>)
  const c0 = readAccumulate(accumulate, outValue, out, names.accumulate, result)
  if (type !== null) {
    requireLaneType(left, type, names.a)
    requireLaneType(right, type, names.b)
    if (out) requireLaneType(out, type, names.out)
    if (c0) requireLaneType(c0, type, names.accumulate)
  }
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

/**
 * Throws unless the algebra, and the device of the matrices, support the options of a call. `product` is its
 * first.
 */
export function checkCall(call: Call, product: Product): void {
  assertDevicesOnly(call.options)
  call.algebra.assertOperation(call, product.type)
  if (call.session) assertConsistent(call.options, call.session)
}

/**
 * Checks that the matrices of a product fit, and are on the device of the call. `first` returns a matrix on
 * that device, for messages. Runs no user code.
 */
export function checkProduct(product: Product, names: Names, first: () => NamedDeviceMatrix): void {
  if (product.call.algebra.isList) checkLanes(product, names, first)
  else checkLane(product, names, first)
}

// Functions that create messages are separate, so that V8 inlines the checks.
function checkLane(product: Product, names: Names, first: () => NamedDeviceMatrix): void {
  const { a, b, out, c0, call } = product
  assertOneType(a, b, names, names.b)
  if (out) assertOneType(a, out, names, names.out)
  if (c0) assertOneType(a, c0, names, names.accumulate)
  assertAttached(a, names.a)
  assertAttached(b, names.b)
  if (a.cols !== b.rows) refuseInner(a, b, names)
  if (a.batch !== b.batch && a.batch !== 1 && b.batch !== 1) refuseBatches(a, b, names)
  if (out) assertOut(product, out, names, first)
  if (c0 && c0 !== out) assertAccumulate(product, c0, names)
  assertOnSession(call.session, a, names.a, first)
  assertOnSession(call.session, b, names.b, first)
  if (c0) assertOnSession(call.session, c0, names.accumulate, first)
  if (out) assertOnSession(call.session, out, names.out, first)
}

/** Checks the lanes of a product, which are computed together. */
function checkLanes(product: Product, names: Names, first: () => NamedDeviceMatrix): void {
  const { lanes } = product
  const [head, ...others] = lanes as [Product, ...Product[]]
  product.eachLane(names, (lane, its) => checkLane(lane, its, first))
  others.forEach((lane, index) => {
    const [its, heads] = [namesOfLane(names, index + 1), namesOfLane(names, 0)]
    for (const which of ['a', 'b', 'out', 'c0'] as const) {
      const [one, other] = [head[which], lane[which]]
      if (!one || !other || showList(shapeOf(one)) === showList(shapeOf(other))) continue
      const name = which === 'c0' ? 'accumulate' : which
      throw new ShapeError(
        `${showShape(other, its[name])} must have the shape of ${showShape(one, heads[name])}: each has a lane of the same elements`,
      )
    }
  })
  assertSeparate(
    lanes,
    (index, view) => nameOf(lanes[index]!, namesOfLane(names, index), view),
    'the lanes of a product are computed together: write into other matrices',
  )
}

/** Returns the name of a product's matrix in messages. */
export function nameOf({ a, b, out }: Product, names: Names, view: View): string {
  return `${view === out ? names.out : view === a ? names.a : view === b ? names.b : names.accumulate}`
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
 * Sets the destinations of the result and of the requested auxiliary outputs. Allocates their arrays, unless
 * the results stay on a device, or `isLater`. Messages call the result `name`.
 */
export function allocateResult(product: Product, name: Name = 'the result', isLater = false): void {
  const { call, otherLanes } = product
  const first = otherLanes.length > 0 ? `lane 0 of ${name}` : name
  product.c = product.out ?? newResult(product.newElements(), call, first, isLater)
  for (const [index, lane] of otherLanes.entries()) {
    lane.c = lane.out ?? newResult(lane.newElements(), call, `lane ${index + 1} of ${name}`, isLater)
  }
  if (call.requestedOutputs.length === 0) return
  product.auxiliary = call.requestedOutputs.map((auxiliary) =>
    newResult(product.newAuxiliary(), call, { toString: () => `the ${auxiliary.name} of ${name}` }, isLater),
  )
}

function newResult(
  elements: Elements,
  { session, place, options }: Call,
  name: Name,
  isLater: boolean,
): Result {
  const { type, bytes, reach, offset, batchStride, rowStride, colStride, batched, batch, rows, cols } =
    elements
  // The user receives the array only after the product has written it, so the unwritten content is never
  // visible.
  const pinned = place.mayUseCuda ? pinnedResult(type, reach, firstDevice(options)) : null
  const data = session || isLater ? null : (pinned ?? allocate(reach, name, type, newUnwrittenArray))
  if (session && reach * bytes > Number.MAX_SAFE_INTEGER) {
    throw new OutOfMemoryError(
      `${name} of ${reach} elements doesn't fit on ${session}: compute it in parts, by rows of A or columns of B`,
    )
  }
  // Not the spread operator: V8 copies it outside compiled code, which takes a third of the time of a product
  // of 4 × 4.
  return { type, bytes, reach, offset, batchStride, rowStride, colStride, batched, batch, rows, cols, data }
}

function assertOneType(a: View, other: View, names: Names, name: Name): void {
  if (a.type !== other.type) refuseType(a, other, names, name)
}

function refuseType(a: View, other: View, names: Names, name: Name): never {
  throw new DTypeError(
    `${name} is of ${typeNameOf(other.type)} and ${names.a} of ${typeNameOf(a.type)}: the matrices of a product must ` +
      'all be of one element type; convert one with its array type, as in Float32Array.from(data)',
  )
}

function assertOut(
  { a, b, call, batched, batch, m, n }: Product,
  out: View,
  names: Names,
  first: () => NamedDeviceMatrix,
): void {
  assertAttached(out, names.out)
  if (!out.memory && call.session) {
    const { name, memory } = first()
    throw new DeviceError(
      `${names.out} is in an array, but ${name} is on ${memory.session}, and so is the result: leave out \`out\` and download c`,
    )
  }
  assertShape(out, names.out, 'the result', { batched, batch, rows: m, cols: n })
  assertCapacity(out, names.out, 'the result')
  if (overlap(out, a)) refuseOverlap(names, names.a)
  if (overlap(out, b)) refuseOverlap(names, names.b)
}

function refuseOverlap({ out }: Names, operand: Name): never {
  throw new ShapeError(
    `${out} overlaps ${operand} in memory, so the product would overwrite ${operand} while it reads it: write into ` +
      `another matrix, or copy ${operand}`,
  )
}

function assertAccumulate({ out, batch, m, n }: Product, c0: View, names: Names): void {
  assertAttached(c0, names.accumulate)
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
export interface NamedDeviceMatrix {
  readonly name: Name
  readonly memory: SharedMemory
}

/** Returns the first matrix of a product that is on a device; null if all are in arrays. */
export function locate(product: Product, names: Names): NamedDeviceMatrix | null {
  let located: NamedDeviceMatrix | null = null
  product.eachLane(names, ({ a, b, c0, out }, its) => {
    if (located) return
    if (a.memory) located = { name: its.a, memory: a.memory }
    else if (b.memory) located = { name: its.b, memory: b.memory }
    else if (c0?.memory) located = { name: its.accumulate, memory: c0.memory }
    else if (out?.memory) located = { name: its.out, memory: out.memory }
  })
  return located
}

/** Returns the device of the first device-resident matrix of a lane; null if all are in arrays. */
function sessionOf({ a, b, c0, out }: Product): Session | null {
  const memory = a.memory ?? b.memory ?? c0?.memory ?? out?.memory
  return memory ? memory.session : null
}

function assertOnSession(
  session: Session | null,
  { memory }: View,
  name: Name,
  first: () => NamedDeviceMatrix,
): void {
  if (memory !== null && memory.session !== session) refuseDevices(first(), name, memory.session)
}

/** Throws DeviceError for matrices of different devices. */
function refuseDevices(one: NamedDeviceMatrix, name: Name, other: Session): never {
  const { session } = one.memory
  const again = `${session}` === `${other}` ? ', opened by another openDevice()' : ''
  throw new DeviceError(
    `${name} is on ${other} and ${one.name} on ${session}${again}: the matrices of a product must be on one device; ` +
      `download ${name}, and pass it as it is`,
  )
}

/** Throws if options select a device other than the device of the matrices. */
export function assertConsistent(
  { backend, device, devices, variant }: PlacementRequest,
  session: Session,
): void {
  const choice = backendChoices[backend]
  if (backend !== AUTO && choice !== session.backend) {
    throw new OptionError(
      `option backend is '${choice}', but the matrices are on ${session}, which computes their products: leave it out`,
    )
  }
  if (device !== UNSET && session.backend === 'cuda' && device !== session.index) {
    throw new OptionError(
      `option device is ${device}, but the matrices are on ${session}, which computes their products: leave it out`,
    )
  }
  if (devices !== 0 && !isOf(session, devices)) {
    const requested = devices === ALL_DEVICES ? "'all'" : showList(devicesIn(devices))
    throw new OptionError(
      `option devices is ${requested}, but the matrices are on ${session}, which computes their products: ` +
        'leave it out; openDevice({ devices }) spreads matrices among several',
    )
  }
  if (variant !== UNSET && variants[variant]!.backend !== session.backend) {
    throw new VariantError(
      `variant ${variants[variant]!.name} is of the ${variants[variant]!.backend} backend, but the matrices are on ${session}: ` +
        'choose one of its backend, from variants()',
    )
  }
}

/**
 * Returns whether the option `devices` names the devices of the session. Without a GPU 'all' counts as
 * omitted.
 */
function isOf({ backend, index, devices, isAll }: Session, requested: number): boolean {
  if (requested === ALL_DEVICES) return backend !== 'cuda' || isAll
  return requested === (devices > 0 || backend !== 'cuda' ? devices : 2 ** index)
}
