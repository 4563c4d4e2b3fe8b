/** Products over semirings that users write: their arguments, read and checked, and how native code is asked for them. */

import { isUint32Array } from '../array-types.js'
import type { Borrowed } from '../borrowed.js'
import { showList, typeName } from '../describe.js'
import type { Session } from '../device/resident.js'
import { elementType, INT32 } from '../elements.js'
import { DeviceError, DTypeError, OptionError, ShapeError } from '../errors.js'
import { writeLayout } from '../fields.js'
import { shapeOf } from '../layout.js'
import type { DenseMatrix } from '../matrix.js'
import { addon, type FurtherMatrices, indexIn, type LaneMatrix } from '../native.js'
import { userRequestAt as at, userRequestFields } from '../native-interface.js'
import { requireApart } from '../overlap.js'
import type { Names } from '../product/names.js'
import {
  allocateResult,
  checkProduct,
  type Located,
  locate,
  ofLanes,
  readProduct,
  requireOneDevice,
  sessionOf,
} from '../product/prepare.js'
import { asksField, type Call, furtherOf, type Product } from '../product/request.js'
import { type ReadStructure, writeStructure } from '../product/structure.js'
import type { LaneType } from '../user-semiring.js'
import { showShape, type View } from '../view.js'
import { lanesOf, type WrittenSemiring } from './semiring.js'

/** A product: each lane is a product by itself, of which native code gets the matrices of all. */
export interface UserProduct extends Borrowed {
  readonly semiring: WrittenSemiring
  readonly lanes: readonly Product[]
  readonly call: Call
  /** `out` as it was given. */
  readonly outValue: unknown
  readonly nameOfLane: (lane: number) => Names
}

export const USER_REQUEST_FIELDS = userRequestFields.length

const FLOAT32 = indexIn(addon.dataTypes, 'float32')

/** What messages call the matrices of a lane. */
const namesOf = ({ a, b, out, accumulate }: Names, lane: number): Names => ({
  a: `${a}[${lane}]`,
  b: `${b}[${lane}]`,
  out: `${out}[${lane}]`,
  accumulate: `${accumulate}[${lane}]`,
})

/** Reads the matrices of a product, which may run user code. */
export function readUserProduct(
  semiring: WrittenSemiring,
  call: Call,
  given: { a: unknown; b: unknown; out: unknown; accumulate: unknown },
  names: Names,
  structure: ReadStructure | null,
): UserProduct {
  const isList = Array.isArray(semiring.dtype)
  const types = lanesOf(semiring)
  const lanesIn = (value: unknown, name: Names[keyof Names]): unknown[] =>
    isList ? readList(value, types, `${name}`) : [requireMatrix(value, types[0]!, `${name}`)]
  const a = lanesIn(given.a, names.a)
  const b = lanesIn(given.b, names.b)
  const out = given.out === undefined ? null : lanesIn(given.out, names.out)
  const { accumulate } = given
  const isFlag = accumulate === undefined || typeof accumulate === 'boolean'
  const c0 = isFlag || accumulate === given.out ? null : lanesIn(accumulate, names.accumulate)
  const nameOfLane = (lane: number) => (isList ? namesOf(names, lane) : names)
  const products = types.map((type, lane) => {
    const ofLane = nameOfLane(lane)
    const product = readProduct(
      call,
      a[lane],
      b[lane],
      out?.[lane],
      c0 ? c0[lane] : isFlag ? accumulate : true,
      ofLane,
      structure,
      ofLanes,
    )
    requireLane(product.a, type, ofLane.a)
    requireLane(product.b, type, ofLane.b)
    if (product.out) requireLane(product.out, type, ofLane.out)
    if (product.c0) requireLane(product.c0, type, ofLane.accumulate)
    return product
  })
  const requireStillThere = () => eachLane(made, (lane, names) => lane.requireStillThere(names))
  const made = { semiring, lanes: products, call, outValue: given.out, nameOfLane, requireStillThere }
  return made
}

const arrayOf: Readonly<Record<LaneType, string>> = {
  int32: 'Int32Array',
  uint32: 'Uint32Array',
  float32: 'Float32Array',
}

function readList(value: unknown, types: readonly LaneType[], name: string): unknown[] {
  if (Array.isArray(value) && value.length === types.length) return Array.from(value as unknown[])
  const expected = `an array of ${types.length} matrices, one for each lane (${types.join(', ')})`
  const came = Array.isArray(value) ? `one of ${value.length}` : typeName(value)
  throw new DTypeError(`${name} must be ${expected}, but it is ${came}`)
}

function requireMatrix(value: unknown, type: LaneType, name: string): unknown {
  if (!Array.isArray(value)) return value
  throw new DTypeError(
    `${name} must be a matrix { data: ${arrayOf[type]}, shape: [rows, cols] }, but it is an array: only elements whose dtype is an array have lanes`,
  )
}

/** Throws DTypeError unless a matrix is of the type of its lane. */
function requireLane(view: View, type: LaneType, name: Names[keyof Names]): void {
  const isFloat = view.type === FLOAT32
  if (view.memory) {
    if (isFloat === (type === 'float32') && (isFloat || view.type === INT32)) return
    const bits = type === 'uint32' ? ', whose 32 bits uint32 has on a device' : ''
    throw new DTypeError(
      `${name} must be of ${type === 'float32' ? 'float32' : 'int32'}${bits}, but it is of ${addon.dataTypes[view.type]}`,
    )
  }
  const came = isUint32Array(view.data)
    ? 'uint32'
    : elementType(view.data) === INT32
      ? 'int32'
      : isFloat
        ? 'float32'
        : ''
  if (came === type) return
  throw new DTypeError(
    `${name}.data must be ${type === 'int32' ? 'an' : 'a'} ${arrayOf[type]}, as the semiring's ${type} is, but it is ${typeName(view.data)}`,
  )
}

/** Checks that the matrices of a product fit. Runs no user code, and expects the session of the call to be known. */
export function checkUserProduct(product: UserProduct, first: () => Located): void {
  const { lanes, nameOfLane, call } = product
  lanes.forEach((lane, index) => {
    const names = nameOfLane(index)
    checkProduct(lane, names)
    requireOneDevice(lane, names, first)
    if (call.session && lane.out && !lane.out.memory) {
      const { name, memory } = first()
      throw new DeviceError(
        `${names.out} is in an array, but ${name} is on ${memory.session}, and so is the result: leave out \`out\` and download c`,
      )
    }
    if (index === 0) return
    const [head, headNames] = [lanes[0]!, nameOfLane(0)]
    for (const which of ['a', 'b', 'out', 'c0'] as const) {
      const [one, other] = [head[which], lane[which]]
      if (!one || !other || showList(shapeOf(one)) === showList(shapeOf(other))) continue
      const name = which === 'c0' ? 'accumulate' : which
      throw new ShapeError(
        `${showShape(other, names[name])} must have the shape of ${showShape(one, headNames[name])}: each has a lane of the same elements`,
      )
    }
  })
  if (lanes.length === 1) return
  requireApart(
    lanes,
    (index, view) => nameOfView(product, index, view),
    'the lanes of a product are computed together: write into other matrices',
  )
}

/** What messages call a matrix of a lane. */
export function nameOfView({ lanes, nameOfLane }: UserProduct, lane: number, view: View): string {
  const { a, b, out } = lanes[lane]!
  const names = nameOfLane(lane)
  return `${view === out ? names.out : view === a ? names.a : view === b ? names.b : names.accumulate}`
}

/** The first matrix of a product that is on a device; null if all are in arrays. */
export function locateUser({ lanes, nameOfLane }: UserProduct): Located | null {
  for (const [index, lane] of lanes.entries()) {
    const located = locate(lane, nameOfLane(index))
    if (located) return located
  }
  return null
}

/** The device that the first of the matrices that is on one is on. */
export function sessionOfUser({ lanes }: UserProduct): Session | null {
  for (const lane of lanes) {
    const session = sessionOf(lane)
    if (session) return session
  }
  return null
}

/** Throws OptionError if products can't have the further results that are asked for. */
export function requireSelective(semiring: WrittenSemiring, [asked]: Call['asked']): void {
  if (asked === undefined || semiring.selective) return
  throw new OptionError(
    `option ${asked.name} is true, but semiring '${semiring.name}' isn't selective, so that no k is the one that decides a result: ` +
      'leave it out, or say selective: true if x ⊕ y is always x or y',
  )
}

/** Says where the results go, and makes their arrays unless they are to be on a device. */
export function allocateUserResult(product: UserProduct, name = 'the result'): void {
  const { lanes, call } = product
  lanes.forEach((lane, index) => {
    allocateResult(lane, lanes.length > 1 ? `lane ${index} of ${name}` : name, index === 0 ? call.asked : [])
  })
}

/** What native code gets for a lane of each matrix, and for further results. */
export function matricesOf({ lanes }: UserProduct): {
  a: LaneMatrix[]
  b: LaneMatrix[]
  c: LaneMatrix[] | null
  c0: LaneMatrix[] | null
  further: FurtherMatrices
} {
  const all = (of: (lane: Product) => unknown) => lanes.map((lane) => of(lane) as LaneMatrix)
  const [head] = lanes as [Product]
  const { c, c0 } = head
  return {
    a: all((lane) => lane.a.data),
    b: all((lane) => lane.b.data),
    c: c?.data ? all((lane) => lane.c!.data) : null,
    c0: c0 ? all((lane) => lane.c0!.data) : null,
    further: furtherOf(head),
  }
}

/** Writes a product into `request`, from the field `start` on. */
export function writeUserRequest(request: Float64Array, product: UserProduct, start = 0): void {
  const { lanes, call } = product
  const [head] = lanes as [Product]
  const { backend, device, devices } = call.options
  request.fill(0, start, start + USER_REQUEST_FIELDS)
  request[start + at.batch] = head.batch
  request[start + at.m] = head.m
  request[start + at.n] = head.n
  request[start + at.k] = head.k
  request[start + at.backend] = call.session ? backend : call.place.backend
  request[start + at.device] = Math.max(device, 0)
  request[start + at.devices] = devices
  request[start + at.keepsC] = head.out ? 1 : 0
  request[start + at.deviceMemory] = call.place.deviceMemory
  lanes.forEach((lane, index) => {
    const { a, b, c, c0, out } = lane
    const fields = laneFields[index]!
    writeLayout(request, start, fields.a, a)
    writeLayout(request, start, fields.b, b)
    writeLayout(request, start, fields.c, c ?? out ?? lane.newElements())
    if (c0) writeLayout(request, start, fields.c0, c0)
  })
  call.asked.forEach(({ name }, index) => {
    request[start + at[asksField(name)]] = 1
    writeLayout(request, start, at[name], head.further[index] ?? head.newFurther())
  })
  writeStructure(request, head.structure, start, at)
}

const laneFields = ([0, 1, 2, 3] as const).map((lane) => ({
  a: at[`aLane${lane}`],
  b: at[`bLane${lane}`],
  c: at[`cLane${lane}`],
  c0: at[`c0Lane${lane}`],
}))

/** Checks again what user code may have taken away since {@link checkUserProduct}. */
export function requireUserThere(product: UserProduct): void {
  eachLane(product, (lane, names) => lane.requireThere(names))
}

function eachLane(
  { lanes, nameOfLane }: Pick<UserProduct, 'lanes' | 'nameOfLane'>,
  look: (lane: Product, names: Names) => void,
): void {
  for (const [index, lane] of lanes.entries()) look(lane, nameOfLane(index))
}

/** An array as one of the lane's type. */
export function asLane(matrix: DenseMatrix, type: LaneType): unknown {
  if (type !== 'uint32') return matrix
  const { buffer, byteOffset, length } = matrix.data
  return { ...matrix, data: new Uint32Array(buffer, byteOffset, length) }
}
