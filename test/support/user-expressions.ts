/**
 * Custom semirings in the form of native code, and their oracle: expressions evaluated element by element, by the definition in
 * native/core/user/semiring.h. Values are bits: integers from 0 to 2³² − 1; predicates are 0 or 1.
 */
import { addon, type NativeUserSemiring } from '../../lib/native.js'
import { type UserDefinition, userRequestAt } from '../../lib/native-interface.js'
import { operations, types } from '../../native/variants/expressions.mjs'
import type { Random } from './generators.js'

export type LaneType = 'int32' | 'uint32' | 'float32'
export type ValueType = LaneType | 'predicate'
export type Element = readonly number[]

export interface Node {
  op: string
  type: ValueType
  /** Nodes of the operands. For an argument: 0 for x or 1 for y, and the lane. */
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
  /** Bits of a constant. */
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
  /** Writes an operation whose type follows from its operands. */
  op(name: string, ...operands: number[]): number {
    const [rule] = operations.filter((operation) => operation.name === name)
    const gives = rule!.gives as ValueType[]
    const last = this.nodes[operands.at(-1)!]!.type
    return this.write(name, gives.length === 1 ? gives[0]! : last, operands)
  }
}

/** Expression whose results are those of `write`. */
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

/** Definition in the form of native code. */
export const fieldsOf = (it: Definition): UserDefinition => ({
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

export const native = (it: Definition): NativeUserSemiring => addon.userSemiring(fieldsOf(it))

/**
 * x · y + z with one rounding. The intermediate float64 is rounded to odd, so that its rounding to float32
 * equals that of the exact sum.
 */
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

const onesOf = (x: number) => (x >>> 0).toString(2).replaceAll('0', '').length

function truncated(x: number, least: number, most: number): number {
  return Number.isNaN(x) ? 0 : Math.min(Math.max(Math.trunc(x), least), most)
}

/** JavaScript formulas of the operations on `x`, `y` and `z` of the type `from`. */
const formulas: Record<string, string | ((from: ValueType) => string)> = {
  add: 'x + y',
  sub: 'x - y',
  mul: (from) => (from === 'float32' ? 'x * y' : 'Math.imul(x, y)'),
  fma: 'fma(x, y, z)',
  neg: '-x',
  abs: 'Math.abs(x)',
  min: 'extreme(x, y, -1)',
  max: 'extreme(x, y, 1)',
  and: 'x & y',
  or: 'x | y',
  xor: 'x ^ y',
  not: (from) => (from === 'predicate' ? '1 - x' : '~x'),
  shiftLeft: 'x << y',
  shiftRight: (from) => (from === 'int32' ? 'x >> y' : 'x >>> y'),
  popcount: 'onesOf(x)',
  equal: 'x === y ? 1 : 0',
  less: 'x < y ? 1 : 0',
  lessEqual: 'x <= y ? 1 : 0',
  select: 'x === 1 ? y : z',
  sqrt: 'Math.sqrt(x)',
  toInt32: (from) => (from === 'float32' ? 'truncated(x, -(2 ** 31), 2 ** 31 - 1)' : 'x'),
  toUint32: (from) => (from === 'float32' ? 'truncated(x, 0, 2 ** 32 - 1)' : 'x'),
  toFloat32: 'x',
}

/** JavaScript code that converts a value to the representation of its type. */
const storedValue: Record<ValueType, (value: string) => string> = {
  int32: (value) => `(${value}) | 0`,
  uint32: (value) => `(${value}) >>> 0`,
  float32: (value) => `Math.fround(${value})`,
  predicate: (value) => value,
}

const helpers = { fma, extreme, truncated, onesOf }

type TypedLane = Int32Array | Uint32Array | Float32Array

/** Writes x ⊕ y or x ⊗ y at `to` of `out`, where x is at `i` of `xs` and y at `j` of `ys`. */
type Evaluation = (
  xs: readonly TypedLane[],
  i: number,
  ys: readonly TypedLane[],
  j: number,
  out: readonly TypedLane[],
  to: number,
) => void

const written = new WeakMap<Expression, Evaluation>()

/**
 * Compiles an expression into a function, because interpreting its nodes for each element would take longer
 * than the checked products.
 */
function evaluationOf(it: Expression): Evaluation {
  let evaluation = written.get(it)
  if (evaluation) return evaluation
  const { nodes, results } = it
  const lines = nodes.map(({ op, type, operands, bits }, node) => {
    if (op === 'argument')
      return `const v${node} = ${operands[0] === 0 ? 'xs' : 'ys'}[${operands[1]}][${operands[0] === 0 ? 'i' : 'j'}]`
    if (op === 'constant') {
      const value = numberOf(bits, type)
      return `const v${node} = ${Object.is(value, -0) ? '-0' : value}`
    }
    const formula = formulas[op]
    if (formula === undefined) throw new Error(`the oracle has no ${op}`)
    const text = typeof formula === 'string' ? formula : formula(nodes[operands.at(-1)!]!.type)
    const names: Record<string, number | undefined> = { x: operands[0], y: operands[1], z: operands[2] }
    return `const v${node} = ${storedValue[type](text.replace(/\b[xyz]\b/g, (name) => `v${names[name]}`))}`
  })
  const stores = results.map((node, lane) => `out[${lane}][to] = v${node}`)
  const body = `return (xs, i, ys, j, out, to) => {\n${[...lines, ...stores].join('\n')}\n}`
  evaluation = new Function(...Object.keys(helpers), body)(...Object.values(helpers)) as Evaluation
  written.set(it, evaluation)
  return evaluation
}

const emptyOf = (types: readonly ValueType[], length: number): TypedLane[] =>
  types.map((type) => typedLane(new Uint32Array(length), type))

/** NaN has a single bit pattern. */
const bitsAt = (lanes: readonly TypedLane[], at: number): number[] =>
  lanes.map((lane) => bitsOf(lane[at]!, lane instanceof Float32Array ? 'float32' : 'uint32'))

/** Arrays of one element per lane. The expression's arguments determine their types. */
const lanesOf = ({ nodes }: Expression, element: Element, side: number): TypedLane[] =>
  element.map((bits, lane) => {
    const isRead = ({ op, operands }: Node) =>
      op === 'argument' && operands[0] === side && operands[1] === lane
    return typedLane(Uint32Array.of(bits), (nodes.find(isRead)?.type ?? 'uint32') as LaneType)
  })

/** Bits of x ⊕ y or x ⊗ y. */
export function evaluate(it: Expression, x: Element, y: Element): number[] {
  const types = it.results.map((node) => it.nodes[node]!.type)
  const out = emptyOf(types, 1)
  evaluationOf(it)(lanesOf(it, x, 0), 0, lanesOf(it, y, 1), 0, out, 0)
  return bitsAt(out, 0)
}

export const laneTypes: LaneType[] = ['int32', 'uint32', 'float32']

/** Values at the limits of each type. */
export const edges: Record<LaneType, number[]> = {
  int32: [0, 1, -1, 2, 31, 33, -(2 ** 31), 2 ** 31 - 1, 0x55555555, 1_000_003],
  uint32: [0, 1, 2, 31, 33, 2 ** 31, 2 ** 32 - 1, 0x55555555, 1_000_003],
  float32: [
    0,
    -0,
    1,
    -1,
    0.5,
    1.5,
    -2.5,
    3e9,
    5e9,
    -3e9,
    2 ** 31,
    -(2 ** 31),
    2 ** 32,
    1e-40,
    -1e-45,
    3.4e38,
  ].concat([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 1 + 2 ** -23, 16777217]),
}

/** Bits of a random value, often one at a limit. */
export function drawn(random: Random, type: LaneType): number {
  if (random.chance(0.5)) return bitsOf(random.pick(edges[type]), type)
  if (type === 'float32') return bitsOf(random.integer(-1000, 1000) / 8, type)
  return random.chance(0.5) ? random.integer(0, 2 ** 32 - 1) >>> 0 : random.integer(-9, 9) >>> 0
}

/** The operations that the oracle evaluates exactly. */
export const exact = operations.filter(
  ({ name, becomes }) => becomes === undefined && name !== 'argument' && name !== 'constant',
)

/** Random expression of a given number of operations. */
function anyExpression(
  random: Random,
  lanes: readonly LaneType[],
  count: number,
  among: typeof operations,
): Expression {
  const writer = new Writer(lanes)
  for (const lane of lanes.keys()) {
    writer.x(lane)
    writer.y(lane)
  }
  const oneOf = (type: ValueType): number => {
    const known = [...writer.nodes.keys()].filter((node) => writer.nodes[node]!.type === type)
    if (known.length > 0 && random.chance(0.85)) return random.pick(known)
    if (type !== 'predicate') return writer.write('constant', type, [], drawn(random, type))
    const number = random.pick(laneTypes)
    return writer.write('less', 'predicate', [oneOf(number), oneOf(number)])
  }
  for (let index = 0; index < count; ++index) {
    const { name, gives, takes } = random.pick(among)
    const type = random.pick(gives as ValueType[])
    const number = random.pick(laneTypes)
    const operands = (takes as string[]).map((kind) =>
      oneOf(kind === 'same' ? type : kind === 'predicate' ? 'predicate' : number),
    )
    writer.write(name, type, operands)
  }
  const results = lanes.map((type) => {
    const known = [...writer.nodes.keys()].filter((node) => writer.nodes[node]!.type === type)
    return random.chance(0.8) ? known.at(-1)! : random.pick(known)
  })
  return { nodes: writer.nodes, results }
}

/** Random semiring, whose ⊕ and ⊗ have from `least` to `most` operations each. */
export function anyDefinition(
  random: Random,
  [least, most]: readonly [least: number, most: number],
  among = exact,
): Definition {
  const lanes = Array.from({ length: random.integer(1, 4) }, () => random.pick(laneTypes))
  return {
    name: 'any',
    lanes,
    zero: lanes.map((type) => drawn(random, type)),
    plus: anyExpression(random, lanes, random.integer(least, most), among),
    times: anyExpression(random, lanes, random.integer(least, most), among),
    absorbs: false,
    selective: true,
  }
}

/** Row-major matrix of lanes, as arrays of bits. */
export interface Lanes {
  rows: number
  cols: number
  lanes: Uint32Array[]
}
export interface Bands {
  a: [below: number, above: number]
  b: [below: number, above: number]
  c: [below: number, above: number]
}
const isInside = ([below, above]: readonly [number, number], row: number, col: number) =>
  col - row >= -below && col - row <= above

const same = (xs: readonly TypedLane[], i: number, ys: readonly TypedLane[], j: number) =>
  xs.every((lane, index) => Object.is(lane[i], ys[index]![j]))

/** C and the witness by the definition; null where C has no result. */
export function productOf(
  it: Definition,
  a: Lanes,
  b: Lanes,
  c0?: Lanes,
  bands?: Bands,
): ({ element: number[]; witness: number } | null)[] {
  const typed = (lanes: readonly Uint32Array[]) =>
    lanes.map((lane, index) => typedLane(lane, it.lanes[index]!))
  const [left, right, zero] = [a.lanes, b.lanes, it.zero.map((bits) => Uint32Array.of(bits))].map(typed)
  const start = c0 && typed(c0.lanes)
  const [plus, times] = [evaluationOf(it.plus), evaluationOf(it.times)]
  const [element, candidates] = [emptyOf(it.lanes, 1), emptyOf(it.lanes, a.cols)]
  const results = []
  for (let row = 0; row < a.rows; ++row) {
    for (let col = 0; col < b.cols; ++col) {
      if (bands && !isInside(bands.c, row, col)) {
        results.push(null)
        continue
      }
      for (const [lane, one] of element.entries()) one[0] = zero![lane]![0]!
      const belongs = (k: number) => !bands || (isInside(bands.a, row, k) && isInside(bands.b, k, col))
      for (let k = 0; k < a.cols; ++k) {
        if (!belongs(k)) continue
        times(left!, row * a.cols + k, right!, k * b.cols + col, candidates, k)
        plus(element, 0, candidates, k, element, 0)
      }
      if (start) plus(start, row * b.cols + col, element, 0, element, 0)
      let witness = -1
      if (!same(element, 0, zero!, 0)) {
        for (let k = 0; k < a.cols && witness < 0; ++k)
          if (belongs(k) && same(element, 0, candidates, k)) witness = k
      }
      results.push({ element: bitsAt(element, 0), witness })
    }
  }
  return results
}

export const typedLane = (bits: Uint32Array, type: ValueType): TypedLane =>
  type === 'float32' ? new Float32Array(bits.buffer) : type === 'int32' ? new Int32Array(bits.buffer) : bits

export interface RequestOptions {
  bands?: Bands | undefined
  witness?: boolean
  keepsC?: boolean
}

/** Fields of a native request for a product of row-major matrices. */
export function requestOf(
  it: Definition,
  [m, n, k]: readonly [number, number, number],
  { bands, witness = false, keepsC = true }: RequestOptions = {},
): Float64Array {
  const fields = new Float64Array(addon.userRequestFields.length)
  const at = userRequestAt
  const sizes: [number, number][] = [
    [at.batch, 1],
    [at.m, m],
    [at.n, n],
    [at.k, k],
    [at.backend, addon.backendChoices.indexOf('cpu')],
    [at.keepsC, keepsC ? 1 : 0],
    [at.asksWitness, witness ? 1 : 0],
  ]
  for (const [field, value] of sizes) fields[field] = value
  const put = (place: { offset: number }, rows: number, cols: number) =>
    fields.set([0, cols, 1, rows * cols], place.offset)
  for (let lane = 0; lane < it.lanes.length; ++lane) {
    const index = lane as 0 | 1 | 2 | 3
    put(at[`aLane${index}`], m, k)
    put(at[`bLane${index}`], k, n)
    put(at[`cLane${index}`], m, n)
    put(at[`c0Lane${index}`], m, n)
  }
  put(at.witness, m, n)
  if (bands) {
    fields[at.structured] = 1
    fields.set([...bands.a, ...bands.b, ...bands.c], at.aBelow)
  }
  return fields
}
