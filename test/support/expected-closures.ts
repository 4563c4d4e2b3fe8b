/**
 * What closures must be: the textbook's loops over pivots, in float64, with each sum rounded as the type does. Shares no code with
 * the library.
 */
import type { DataType, OperandArray } from '../../lib/index.js'
import { algebras, arrayOf } from './algebras.js'
import { Random } from './generators.js'
import { algebraOf } from './products/case.js'

export type ClosureSemiring = 'max-plus' | 'min-plus' | 'max-min' | 'min-max' | 'max-times' | 'or-and'

export interface ClosureAlgebra {
  semiring: ClosureSemiring
  type: DataType
}

export const closureAlgebras = algebras.filter(
  ({ semiring, type }) => algebraOf(semiring, type).idempotent,
) as ClosureAlgebra[]

interface Rules {
  zero: number
  one: number
  maximizes: boolean
  /** Whether sums and products are rounded to float32. */
  single: boolean
  kind: 'sum' | 'product' | 'least' | 'greatest'
}

const END = 2 ** 31

export function rulesOf({ semiring, type }: ClosureAlgebra): Rules {
  const maximizes = semiring.startsWith('max') || semiring === 'or-and'
  const low = type === 'int32' ? -END : Number.NEGATIVE_INFINITY
  const high = type === 'int32' ? END - 1 : Number.POSITIVE_INFINITY
  const worst = maximizes ? low : high
  const common = { maximizes, single: type === 'float32' }
  switch (semiring) {
    case 'max-plus':
    case 'min-plus':
      return { ...common, zero: worst, one: 0, kind: 'sum' }
    case 'max-min':
      return { ...common, zero: worst, one: high, kind: 'least' }
    case 'min-max':
      return { ...common, zero: worst, one: low, kind: 'greatest' }
    case 'max-times':
      return { ...common, zero: 0, one: 1, kind: 'product' }
    case 'or-and':
      return { ...common, zero: 0, one: 1, kind: 'least' }
  }
}

export const times = ({ kind, single }: Rules, x: number, y: number) =>
  combine(kind === 'sum', kind === 'product', kind === 'least', single, x, y)

/** x ⊗ y, as its compiled form needs it: nothing to look up, and no functions that differ. */
function combine(
  isSum: boolean,
  isProduct: boolean,
  isLeast: boolean,
  single: boolean,
  x: number,
  y: number,
): number {
  if (isSum || isProduct) {
    const exact = isSum ? x + y : x * y
    return single ? Math.fround(exact) : exact
  }
  return x < y === isLeast ? x : y
}

export const better = ({ maximizes }: Rules, x: number, y: number) => (maximizes ? x > y : x < y)

export interface Expected {
  /** Not rounded to int32: what leaves it is seen. */
  values: Float64Array
  next: Int32Array
  /** The first pivot with which a cycle gains; −1 if there is none, and then the others are valid. */
  gain: number
}

/**
 * Takes the ways over a pivot into a row of distances: `first` to the pivot, whose next node is `hop`, and `onward` from there.
 * Most of the tests' time is spent here.
 */
function improve(
  rules: Rules,
  row: Float64Array,
  next: Int32Array,
  first: number,
  hop: number,
  onward: Float64Array,
): void {
  const { zero, kind, single, maximizes } = rules
  const [isSum, isProduct, isLeast] = [kind === 'sum', kind === 'product', kind === 'least']
  for (let j = 0; j < row.length; j++) {
    const second = onward[j]!
    if (second === zero) continue
    const way = combine(isSum, isProduct, isLeast, single, first, second)
    const last = row[j]!
    if (last !== zero && !(maximizes ? way > last : way < last)) continue
    row[j] = way
    next[j] = hop
  }
}

/** The closure of n × n elements. */
export function closureOf(
  algebra: ClosureAlgebra,
  n: number,
  elements: ArrayLike<number>,
  reflexive: boolean,
): Expected {
  const rules = rulesOf(algebra)
  const { zero, one } = rules
  const values = Float64Array.from(elements, (x) => (algebra.semiring === 'or-and' && x !== 0 ? 1 : x))
  const next = Int32Array.from(values, (x, index) => (x === zero ? -1 : index % n))
  for (let k = 0; k < n; k++) {
    if (better(rules, values[k * n + k]!, one)) return { values, next, gain: k }
    const onward = values.slice(k * n, (k + 1) * n)
    for (let i = 0; i < n; i++) {
      const first = values[i * n + k]!
      if (first === zero) continue
      const row = values.subarray(i * n, (i + 1) * n)
      improve(rules, row, next.subarray(i * n, (i + 1) * n), first, next[i * n + k]!, onward)
    }
  }
  const expected = { values, next, gain: -1 }
  return reflexive ? reflexiveOf(algebra, n, expected) : expected
}

/** The star, by the plus. */
export function reflexiveOf(algebra: ClosureAlgebra, n: number, expected: Expected): Expected {
  const { one } = rulesOf(algebra)
  const values = expected.values.slice()
  const next = expected.next.slice()
  for (let i = 0; i < n; i++) {
    values[i * n + i] = one
    next[i * n + i] = -1
  }
  return { ...expected, values, next }
}

/** How many elements are edges. */
export const densities = [0, 0.03, 0.4, 1]

/**
 * Weights without a cycle that gains, but in max-plus and min-plus with many that neither gain nor lose, and with weights of both
 * signs: differences of potentials of the nodes, to which some are added.
 */
export function weightsOf(algebra: ClosureAlgebra, n: number, density: number, seed: number): OperandArray {
  const random = new Random(seed)
  const { zero } = rulesOf(algebra)
  const potentials = Array.from({ length: n }, () => random.integer(-40, 40))
  const data = new arrayOf[algebra.type](n * n)
  const sign = algebra.semiring === 'max-plus' ? -1 : 1
  for (let index = 0; index < data.length; index++) {
    const [i, j] = [Math.floor(index / n), index % n]
    data[index] = random.chance(density) ? weight(i, j) : zero
  }
  return data

  function weight(i: number, j: number): number {
    switch (algebra.semiring) {
      case 'max-plus':
      case 'min-plus':
        return sign * (random.pick([0, 0, 1, 5, 30]) + potentials[i]! - potentials[j]!)
      case 'max-times':
        // Products of powers of two are exact.
        return random.pick([1, 1, 0.5, 0.25])
      case 'or-and':
        return random.integer(1, 255)
      default:
        return random.integer(-9, 9)
    }
  }
}

/** Floats that aren't whole numbers, and so are rounded in each sum. No cycle gains. */
export function roundedWeights(
  algebra: ClosureAlgebra,
  n: number,
  density: number,
  seed: number,
): OperandArray {
  const random = new Random(seed)
  const { zero } = rulesOf(algebra)
  const sign = algebra.semiring === 'max-plus' ? -1 : 1
  return new arrayOf[algebra.type](n * n).map(() =>
    random.chance(density) ? (sign * (random.bits() + 1)) / 2 ** 34 : zero,
  )
}

/**
 * Fails with a message if `next` doesn't lead from each node to each other over edges whose weights make the distance. Sums must be
 * exact.
 */
export function wrongWay(
  algebra: ClosureAlgebra,
  n: number,
  weights: ArrayLike<number>,
  distances: ArrayLike<number>,
  next: ArrayLike<number>,
): string | undefined {
  const rules = rulesOf(algebra)
  const { zero, one } = rules
  const truth = algebra.semiring === 'or-and'
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      if (i === j) continue
      const distance = distances[i * n + j]!
      const place = `${i} → ${j}`
      if (distance === zero) {
        if (next[i * n + j] !== -1) return `${place}: next is ${next[i * n + j]}, but there is no path`
        continue
      }
      let sum = one
      let node = i
      for (let edges = 0; node !== j; edges++) {
        const to = next[node * n + j]!
        if (!(to >= 0 && to < n)) return `${place}: next leads to ${to} from ${node}`
        if (edges === n) return `${place}: next leads in a circle`
        const edge = weights[node * n + to]!
        if (edge === zero) return `${place}: there is no edge ${node} → ${to}`
        sum = times(rules, sum, truth ? 1 : edge)
        node = to
      }
      if (sum !== distance) return `${place}: the path has ${sum}, and the distance is ${distance}`
    }
  }
  return undefined
}
