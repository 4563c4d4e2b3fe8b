/**
 * What closures must be: the textbook's loops over pivots, in float64, with each sum rounded as the type does. Shares no code with
 * the library.
 */
import type { DataType, OperandArray, Semiring } from '../../lib/index.js'
import { Random } from './generators.js'

export type ClosureSemiring = Exclude<Semiring, 'plus-times'>

export interface ClosureAlgebra {
  semiring: ClosureSemiring
  type: DataType
}

export const closureAlgebras: ClosureAlgebra[] = (
  [
    ['max-plus', ['int32', 'float32', 'float64']],
    ['min-plus', ['int32', 'float32', 'float64']],
    ['max-min', ['int32', 'float32', 'float64']],
    ['min-max', ['int32', 'float32', 'float64']],
    ['max-times', ['float32', 'float64']],
    ['or-and', ['uint8']],
  ] as [ClosureSemiring, DataType[]][]
).flatMap(([semiring, types]) => types.map((type) => ({ semiring, type })))

export const arrayOf = {
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
  uint8: Uint8Array,
} as const

interface Rules {
  zero: number
  one: number
  times: (x: number, y: number) => number
  better: (x: number, y: number) => boolean
}

const END = 2 ** 31

export function rulesOf({ semiring, type }: ClosureAlgebra): Rules {
  const maximizes = semiring.startsWith('max') || semiring === 'or-and'
  const low = type === 'int32' ? -END : Number.NEGATIVE_INFINITY
  const high = type === 'int32' ? END - 1 : Number.POSITIVE_INFINITY
  const better = maximizes ? (x: number, y: number) => x > y : (x: number, y: number) => x < y
  const round = type === 'float32' ? Math.fround : (x: number) => x
  const worst = maximizes ? low : high
  switch (semiring) {
    case 'max-plus':
    case 'min-plus':
      return { zero: worst, one: 0, times: (x, y) => round(x + y), better }
    case 'max-min':
      return { zero: worst, one: high, times: Math.min, better }
    case 'min-max':
      return { zero: worst, one: low, times: Math.max, better }
    case 'max-times':
      return { zero: 0, one: 1, times: (x, y) => round(x * y), better }
    case 'or-and':
      return { zero: 0, one: 1, times: Math.min, better }
  }
}

export interface Expected {
  /** Not rounded to int32: what leaves it is seen. */
  values: Float64Array
  next: Int32Array
  /** The first pivot with which a cycle gains; −1 if there is none, and then the others are valid. */
  gain: number
}

/** The closure of n × n elements. */
export function closureOf(
  algebra: ClosureAlgebra,
  n: number,
  elements: ArrayLike<number>,
  reflexive: boolean,
): Expected {
  const { zero, one, times, better } = rulesOf(algebra)
  const values = Float64Array.from(elements, (x) => (algebra.semiring === 'or-and' && x !== 0 ? 1 : x))
  const next = Int32Array.from(values, (x, index) => (x === zero ? -1 : index % n))
  for (let k = 0; k < n; k++) {
    if (better(values[k * n + k]!, one)) return { values, next, gain: k }
    for (let i = 0; i < n; i++) {
      const first = values[i * n + k]!
      if (first === zero) continue
      for (let j = 0; j < n; j++) {
        const second = values[k * n + j]!
        if (second === zero) continue
        const way = times(first, second)
        const last = values[i * n + j]!
        if (last !== zero && !better(way, last)) continue
        values[i * n + j] = way
        next[i * n + j] = next[i * n + k]!
      }
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
  const { zero, one, times } = rulesOf(algebra)
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
        sum = times(sum, truth ? 1 : edge)
        node = to
      }
      if (sum !== distance) return `${place}: the path has ${sum}, and the distance is ${distance}`
    }
  }
  return undefined
}
