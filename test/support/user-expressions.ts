/**
 * Semirings of one's own as native code takes them, and their oracle: expressions evaluated element by element, as
 * native/core/user/semiring.h defines them. Values are bits: whole numbers from 0 to 2³² − 1; predicates are 0 or 1.
 */
import { addon, type NativeUserSemiring } from '../../lib/native.js'
import { userRequestAt } from '../../lib/native-interface.js'
import { operations, types } from '../../native/variants/expressions.mjs'

export type LaneType = 'int32' | 'uint32' | 'float32'
export type ValueType = LaneType | 'predicate'
export type Element = readonly number[]

export interface Node {
  op: string
  type: ValueType
  /** Nodes; of an argument 0 for x or 1 for y, and the lane. */
  operands: number[]
  bits: number
}

export interface Expression {
  nodes: Node[]
  results: number[]
}

export interface Definition {
  name: string
  lanes: LaneType[]
  /** Bits. */
  zero: Element
  one?: Element
  plus: Expression
  times: Expression
  absorbs?: boolean
  idempotent?: boolean
  selective?: boolean
}

const words = new Uint32Array(1)
const floats = new Float32Array(words.buffer)
export function bitsOf(value: number, type: LaneType): number {
  if (type !== 'float32') return value >>> 0
  floats[0] = value
  return Number.isNaN(value) ? 0x7fc00000 : words[0]!
}
export function numberOf(bits: number, type: ValueType): number {
  if (type === 'int32') return bits | 0
  if (type !== 'float32') return bits
  words[0] = bits
  return floats[0]!
}

/** Writes an expression. */
export class Writer {
  readonly nodes: Node[] = []
  constructor(readonly lanes: readonly LaneType[]) {}

  write(op: string, type: ValueType, operands: number[] = [], bits = 0): number {
    return this.nodes.push({ op, type, operands, bits }) - 1
  }
  x = (lane = 0): number => this.write('argument', this.lanes[lane]!, [0, lane])
  y = (lane = 0): number => this.write('argument', this.lanes[lane]!, [1, lane])
  constant = (value: number, type: LaneType): number => this.write('constant', type, [], bitsOf(value, type))
  /** An operation whose type follows from its operands. */
  op(name: string, ...operands: number[]): number {
    const [rule] = operations.filter((operation) => operation.name === name)
    const gives = rule!.gives as ValueType[]
    const last = this.nodes[operands.at(-1)!]!.type
    return this.write(name, gives.length === 1 ? gives[0]! : last, operands)
  }
}

/** What `write` gives as the results. */
export function expression(lanes: readonly LaneType[], write: (to: Writer) => number | number[]): Expression {
  const writer = new Writer(lanes)
  const results = [write(writer)].flat()
  return { nodes: writer.nodes, results }
}

export const nodesOf = ({ nodes }: Expression): Int32Array =>
  Int32Array.from(
    nodes.flatMap(({ op, type, operands: [x = 0, y = 0, z = 0], bits }) => [
      operations.findIndex(({ name }) => name === op),
      types.indexOf(type),
      x,
      y,
      z,
      bits | 0,
    ]),
  )

export const native = (it: Definition): NativeUserSemiring =>
  addon.userSemiring({
    name: it.name,
    lanes: Int32Array.from(it.lanes, (type) => types.indexOf(type)),
    zero: Int32Array.from(it.zero, (bits) => bits | 0),
    one: it.one ? Int32Array.from(it.one, (bits) => bits | 0) : null,
    plus: nodesOf(it.plus),
    plusResults: Int32Array.from(it.plus.results),
    times: nodesOf(it.times),
    timesResults: Int32Array.from(it.times.results),
    absorbs: it.absorbs ?? true,
    idempotent: it.idempotent ?? false,
    selective: it.selective ?? false,
    logarithms: false,
  })

/** x · y + z, rounded once: as a float64 rounded to odd, which rounds to float32 as the exact sum does. */
function fma(x: number, y: number, z: number): number {
  const product = x * y
  const sum = product + z
  if (!Number.isFinite(sum)) return sum
  const part = sum - product
  const error = product - (sum - part) + (z - part)
  if (error === 0 || sum === 0) return sum
  const double = new Float64Array([sum])
  const bits = new BigInt64Array(double.buffer)
  if (bits[0]! % 2n === 0n) bits[0] = bits[0]! + (error > 0 === sum > 0 ? 1n : -1n)
  return double[0]!
}

function extreme(x: number, y: number, sign: number): number {
  if (Number.isNaN(x)) return y
  if (Number.isNaN(y)) return x
  return sign > 0 ? Math.max(x, y) : Math.min(x, y)
}

function truncated(x: number, least: number, most: number): number {
  return Number.isNaN(x) ? 0 : Math.min(Math.max(Math.trunc(x), least), most)
}

/** An operation on values of the type `from`. */
function apply(op: string, from: ValueType, operands: number[]): number {
  const [x = 0, y = 0, z = 0] = operands
  switch (op) {
    case 'add':
      return x + y
    case 'sub':
      return x - y
    case 'mul':
      return from === 'float32' ? x * y : Math.imul(x, y)
    case 'fma':
      return fma(x, y, z)
    case 'neg':
      return -x
    case 'abs':
      return Math.abs(x)
    case 'min':
      return extreme(x, y, -1)
    case 'max':
      return extreme(x, y, 1)
    case 'and':
      return x & y
    case 'or':
      return x | y
    case 'xor':
      return x ^ y
    case 'not':
      return from === 'predicate' ? 1 - x : ~x
    case 'shiftLeft':
      return x << y
    case 'shiftRight':
      return from === 'int32' ? x >> y : x >>> y
    case 'popcount':
      return (x >>> 0).toString(2).replaceAll('0', '').length
    case 'equal':
      return x === y ? 1 : 0
    case 'less':
      return x < y ? 1 : 0
    case 'lessEqual':
      return x <= y ? 1 : 0
    case 'select':
      return x === 1 ? y : z
    case 'sqrt':
      return Math.sqrt(x)
    case 'toInt32':
      return from === 'float32' ? truncated(x, -(2 ** 31), 2 ** 31 - 1) : x
    case 'toUint32':
      return from === 'float32' ? truncated(x, 0, 2 ** 32 - 1) : x
    case 'toFloat32':
      return x
    default:
      throw new Error(`the oracle has no ${op}`)
  }
}

/** x ⊕ y or x ⊗ y. */
export function evaluate({ nodes, results }: Expression, x: Element, y: Element): number[] {
  const values: number[] = []
  for (const { op, type, operands, bits } of nodes) {
    let value: number
    if (op === 'argument') value = (operands[0] === 0 ? x : y)[operands[1]!]!
    else if (op === 'constant') value = bits
    else {
      const from = nodes[operands.at(-1)!]!.type
      const taken = operands.map((node) => numberOf(values[node]!, nodes[node]!.type))
      const given = apply(op, from, taken)
      value = type === 'predicate' ? given : bitsOf(given, type)
    }
    // NaN has one form.
    if (type === 'float32' && (value & 0x7fffffff) > 0x7f800000) value = 0x7fc00000
    values.push(value)
  }
  return results.map((node) => values[node]!)
}

/** A matrix of lanes, row-major: arrays of bits. */
export interface Lanes {
  rows: number
  cols: number
  lanes: Uint32Array[]
}
export const elementAt = (matrix: Lanes, row: number, col: number): number[] =>
  matrix.lanes.map((lane) => lane[row * matrix.cols + col]!)

export interface Bands {
  a: [below: number, above: number]
  b: [below: number, above: number]
  c: [below: number, above: number]
}
const isInside = ([below, above]: readonly [number, number], row: number, col: number) =>
  col - row >= -below && col - row <= above

const same = (x: Element, y: Element) => x.every((bits, lane) => bits === y[lane])

/** C and the witness by the definition; null where C has no result. */
export function productOf(
  it: Definition,
  a: Lanes,
  b: Lanes,
  c0?: Lanes,
  bands?: Bands,
): ({ element: number[]; witness: number } | null)[] {
  const results = []
  for (let row = 0; row < a.rows; ++row) {
    for (let col = 0; col < b.cols; ++col) {
      if (bands && !isInside(bands.c, row, col)) {
        results.push(null)
        continue
      }
      let element: number[] = [...it.zero]
      const candidates: [number, number[]][] = []
      for (let k = 0; k < a.cols; ++k) {
        if (bands && !(isInside(bands.a, row, k) && isInside(bands.b, k, col))) continue
        const candidate = evaluate(it.times, elementAt(a, row, k), elementAt(b, k, col))
        candidates.push([k, candidate])
        element = evaluate(it.plus, element, candidate)
      }
      if (c0) element = evaluate(it.plus, elementAt(c0, row, col), element)
      const found = candidates.find(([, candidate]) => same(candidate, element))
      results.push({ element, witness: found && !same(element, it.zero) ? found[0] : -1 })
    }
  }
  return results
}

export const typedLane = (bits: Uint32Array, type: LaneType): Int32Array | Uint32Array | Float32Array =>
  type === 'float32' ? new Float32Array(bits.buffer) : type === 'int32' ? new Int32Array(bits.buffer) : bits

type Matrix = 'a' | 'b' | 'c' | 'c0'
export interface Layout {
  offset?: number
  rowStride: number
  colStride: number
  batchStride?: number
}

/** The fields of a request. */
export function requestOf(
  it: Definition,
  [m, n, k]: readonly [number, number, number],
  layouts: Partial<Record<Matrix | 'witness', Layout>> = {},
  {
    batch = 1,
    bands,
    witness = false,
    keepsC = true,
    backend = 'cpu',
    devices = 0,
  }: {
    batch?: number
    bands?: Bands | undefined
    witness?: boolean
    keepsC?: boolean
    backend?: 'auto' | 'cpu' | 'cuda'
    devices?: number
  } = {},
): Float64Array {
  const fields = new Float64Array(addon.userRequestFields.length)
  const at = userRequestAt
  const sizes: [number, number][] = [
    [at.batch, batch],
    [at.m, m],
    [at.n, n],
    [at.k, k],
    [at.backend, addon.backendChoices.indexOf(backend)],
    [at.devices, devices],
    [at.keepsC, keepsC ? 1 : 0],
    [at.asksWitness, witness ? 1 : 0],
  ]
  for (const [field, value] of sizes) fields[field] = value
  const shapes = { a: [m, k], b: [k, n], c: [m, n], c0: [m, n], witness: [m, n] } as const
  const put = (place: { offset: number }, matrix: Matrix | 'witness') => {
    const [rows, cols] = shapes[matrix]
    const layout = layouts[matrix] ?? { rowStride: cols, colStride: 1, batchStride: rows * cols }
    fields.set(
      [layout.offset ?? 0, layout.rowStride, layout.colStride, layout.batchStride ?? 0],
      place.offset,
    )
  }
  for (let lane = 0; lane < it.lanes.length; ++lane) {
    for (const matrix of ['a', 'b', 'c', 'c0'] as const) {
      put(at[`${matrix}Lane${lane as 0 | 1 | 2 | 3}`], matrix)
    }
  }
  put(at.witness, 'witness')
  if (bands) {
    fields[at.structured] = 1
    fields.set([...bands.a, ...bands.b, ...bands.c], at.aBelow)
  }
  return fields
}
