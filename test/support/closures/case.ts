/** Cases of closures with their expected results, by the definition of the fuzzer, which shares no code with the library. */
import type { OperandArray, Overflow } from '../../../lib/index.js'
import { arrays } from '../../../native/tools/fuzz/algebra.mjs'
import {
  closureOf,
  everyEdgeWorsens,
  fillWeights,
  isBetter,
  nextByDistances,
  reflexiveOf,
  storedAs,
} from '../../../native/tools/fuzz/closure-oracle.mjs'
import { Random } from '../generators.js'
import {
  type Algebra,
  type AnyMatrix,
  type Elements,
  elements,
  idempotent,
  nameOf,
} from '../products/case.js'

/** Algebras that have closures. */
export const closureAlgebras = idempotent

/** Algebras whose cycles can improve paths. */
export const gaining = closureAlgebras.filter(({ kind }) => kind === 'sum' || kind === 'product')

export interface ClosureCase {
  algebra: Algebra
  a: Elements
  /** Whether the closure is the star, not the plus. */
  reflexive: boolean
  overflow?: Overflow | undefined
  /** Layouts of the elements, by name; row-major if left out. */
  layouts?: { a?: string; out?: string } | undefined
  /** The weights as an argument, in place of a layout. */
  given?: AnyMatrix | undefined
  /** Whether all matrices of the batch are the same. */
  areSame?: boolean
  what: string
}

/** Values aren't rounded to int32. `gain`: first pivot of an improving cycle; −1 if there is none. */
export interface Expected {
  values: Float64Array
  next: Int32Array
  gain: number
}

const known = new WeakMap<Elements, { plus: Expected[]; star: Expected[] }>()

/** Expected result of each matrix of a batch, computed once for the weights. */
export function expectedOf({ algebra, a, reflexive, areSame }: ClosureCase): Expected[] {
  const n = a.rows
  let found = known.get(a)
  if (!found) {
    const plus = Array.from({ length: areSame ? 1 : a.batch }, (_, item) =>
      closureOf(algebra, n, itemOf(a, item), false),
    )
    const loses = everyEdgeWorsens(algebra, n, a.data)
    const star = plus.map((one, item) => {
      const all = reflexiveOf(algebra, n, one)
      return loses ? nextByDistances(algebra, n, itemOf(a, item), all) : all
    })
    found = { plus, star }
    known.set(a, found)
  }
  const expected = reflexive ? found.star : found.plus
  return areSame ? Array.from({ length: a.batch }, () => expected[0]!) : expected
}

/** Elements of one matrix of a batch. */
export const itemOf = ({ data, rows, cols }: Elements, item: number): OperandArray =>
  data.subarray(item * rows * cols, (item + 1) * rows * cols)

/** Value of a closure, as stored under the policy for overflow. */
export function storedValue({ algebra, overflow }: ClosureCase, value: number): number {
  const { isInteger, none, least, most } = algebra
  if (!isInteger || value === none) return storedAs(algebra, value)
  return overflow === 'wrap' ? value | 0 : Math.min(Math.max(value, least), most)
}

/** Returns whether a value can't be stored. */
export const leaves = ({ algebra: { isInteger, none, least, most } }: ClosureCase, value: number) =>
  isInteger && value !== none && (value < least || value > most)

type Weight = (from: number, to: number, item: number) => number

/** Square matrices of generated weights; NaN is no edge. */
export function weightsBy(algebra: Algebra, n: number, weight: Weight, batch?: number): Elements {
  const data = new arrays[algebra.dtype]((batch ?? 1) * n * n) as OperandArray
  for (let at = 0; at < data.length; at++) {
    const value = weight(Math.floor(at / n) % n, at % n, Math.floor(at / n / n))
    data[at] = Number.isNaN(value) ? algebra.zero : value
  }
  return elements(data, n, n, batch)
}

/** Weights without an improving cycle, whose sums are exact. */
export function weightsOf(
  algebra: Algebra,
  n: number,
  density: number,
  seed: number,
  batch?: number,
): Elements {
  const created = elements(new arrays[algebra.dtype]((batch ?? 1) * n * n) as OperandArray, n, n, batch)
  fillWeights(new Random(seed), algebra, created, density)
  return created
}

/** Weights that aren't whole numbers, so that each sum is rounded. No cycle is improving. */
export function roundedWeights(algebra: Algebra, n: number, density: number, seed: number): Elements {
  const random = new Random(seed)
  const sign = algebra.kind === 'sum' && algebra.greatest ? -1 : 1
  const weight = () => (random.chance(density) ? (sign * (random.bits() + 1)) / 2 ** 34 : Number.NaN)
  return weightsBy(algebra, n, weight)
}

/** Smallest weight that is an improving cycle by itself. */
export const gain = (algebra: Algebra) =>
  algebra.kind === 'product' ? 1 + 2 ** -20 : isBetter(algebra, 1, 0) ? 1 : -1

/** Changes the weights of edges so that the given nodes form an improving cycle. */
export function plantCycle(
  algebra: Algebra,
  { data, cols: n }: Elements,
  nodes: readonly number[],
  item = 0,
): void {
  for (const [index, from] of nodes.entries()) {
    const to = nodes[(index + 1) % nodes.length]!
    data[(item * n + from) * n + to] = index === 0 ? gain(algebra) : algebra.one
  }
}

/** Case that computes the star of the weights. */
export const starOf = (algebra: Algebra, a: Elements, more: Partial<ClosureCase> = {}): ClosureCase => ({
  algebra,
  a,
  reflexive: true,
  what: `${nameOf(algebra)}, ${a.batched ? `${a.batch} of ` : ''}${a.rows} nodes`,
  ...more,
})
