/** Semirings that are ready to use, each written as a user would write it. */
import { show, showChoices } from '../describe.js'
import { OptionError } from '../errors.js'
import { MAX_INT32, MIN_INT32 } from '../integers.js'
import type { UserSemiring } from '../user-semiring.js'
// The tests check the laws of these semirings. Checking them here would take most of the loading time of this
// module.
import { write as semiring } from './semiring.js'
import type { Operations, Value } from './value.js'

/**
 * Log semiring, sums of numbers in logarithmic representation: x ⊕ y = log(eˣ + eʸ) and x ⊗ y = x + y, of
 * float32. So products of probabilities neither underflow nor overflow.
 *
 * @example
 * const half = matrix(2, 2, new Float32Array(4).fill(Math.log(0.5)))
 * const { c } = await mpmm(half, half, { semiring: logSumExp })
 * console.log(Math.exp(c.data[0]).toFixed(6)) // 0.500000
 */
export const logSumExp: UserSemiring<'float32'> = semiring({
  name: 'log-sum-exp',
  dtype: 'float32',
  zero: Number.NEGATIVE_INFINITY,
  one: 0,
  // max skips the NaN of ∞ − ∞.
  plus: (x, y, { max, log1p, exp }) =>
    max(x, y).add(log1p(exp(max(x.sub(y).abs().neg(), Number.NEGATIVE_INFINITY)))),
  times: (x, y) => x.add(y),
  logarithms: true,
})

/**
 * Manhattan (L1) distance over float32: C[i, j] is the sum of absolute differences of row i of A and column j
 * of B. The operations aren't a semiring, because ⊗ isn't associative: use them for single products only.
 *
 * @example
 * const table = matrix(2, 2, Float32Array.of(0, 0, 3, 4))
 * const columns = { ...table, strides: [1, 2] }
 * const { c } = await mpmm(table, columns, { semiring: l1Distance })
 * console.log(c.data.join()) // 0,7,7,0
 */
export const l1Distance: UserSemiring<'float32'> = semiring({
  name: 'L1 distance',
  dtype: 'float32',
  zero: 0,
  plus: (x, y) => x.add(y),
  times: (x, y) => x.sub(y).abs(),
  absorbs: false,
})

/**
 * Chebyshev (L∞) distance over float32: C[i, j] is the greatest absolute difference of row i of A and column
 * j of B. The limits of {@link l1Distance} apply.
 *
 * @example
 * const table = matrix(2, 2, Float32Array.of(0, 0, 3, 4))
 * const { c } = await mpmm(table, { ...table, strides: [1, 2] }, { semiring: lInfinityDistance })
 * console.log(c.data.join()) // 0,4,4,0
 */
export const lInfinityDistance: UserSemiring<'float32'> = semiring({
  name: 'L∞ distance',
  dtype: 'float32',
  zero: 0,
  plus: (x, y) => x.max(y),
  times: (x, y) => x.sub(y).abs(),
  absorbs: false,
  selective: true,
  // The operands of ⊕ are distances, so they aren't negative.
  check: { min: 0 },
})

/**
 * Hamming distance over uint32 with 32 bits per element: C[i, j] is the number of different bits of row i of
 * A and column j of B. The limits of {@link l1Distance} apply.
 *
 * @example
 * const bits = { data: Uint32Array.of(0b1100, 0b1010), shape: [2, 1] }
 * const { c } = await mpmm(bits, { ...bits, shape: [1, 2] }, { semiring: hamming })
 * console.log(c.data.join()) // 0,2,2,0
 */
export const hamming: UserSemiring<'uint32'> = semiring({
  name: 'Hamming distance',
  dtype: 'uint32',
  zero: 0,
  plus: (x, y) => x.add(y),
  times: (x, y) => x.xor(y).popcount(),
  absorbs: false,
})

/** ⊕ and ⊗ of numbers, from which other semirings are built; over int32 equal to the built-in semirings. */
interface Ordered {
  readonly better: 'min' | 'max'
  readonly worse: 'min' | 'max'
  readonly zero: number
  readonly one: number
  readonly times: (x: Value<'int32'>, y: Value<'int32'>, operations: Operations) => Value<'int32'>
}

/** Returns ⊗ as a sum that is zero if one operand is zero. */
const sumOf =
  (zero: number) =>
  (x: Value<'int32'>, y: Value<'int32'>, { equal, select }: Operations) =>
    select(equal(x, zero).or(equal(y, zero)), zero, x.add(y))

const sums = {
  'max-plus': { better: 'max', worse: 'min', zero: MIN_INT32, one: 0, times: sumOf(MIN_INT32) },
  'min-plus': { better: 'min', worse: 'max', zero: MAX_INT32, one: 0, times: sumOf(MAX_INT32) },
} as const satisfies Record<string, Ordered>

const ordered = {
  ...sums,
  'max-min': { better: 'max', worse: 'min', zero: MIN_INT32, one: MAX_INT32, times: (x, y) => x.min(y) },
  'min-max': { better: 'min', worse: 'max', zero: MAX_INT32, one: MIN_INT32, times: (x, y) => x.max(y) },
} as const satisfies Record<string, Ordered>

/** Names of semirings whose ⊗ is a sum. */
export type SumName = 'max-plus' | 'min-plus'

/** Names of semirings whose ⊕ selects the better of two numbers. */
export type OrderedName = SumName | 'max-min' | 'min-max'

function find<Name extends string>(
  all: Readonly<Record<Name, Ordered>>,
  name: unknown,
  what: string,
): Ordered {
  if (typeof name === 'string' && Object.hasOwn(all, name)) return all[name as Name]
  throw new OptionError(`${what} takes ${showChoices(Object.keys(all))}, but it got ${show(name)}`)
}

/** Bound of numbers whose sums of three stay within int32. */
const SMALL = 2 ** 28

/**
 * Counting semiring: the best value, and the number of paths that attain it. Elements are pairs [value,
 * count] of int32 and uint32. No path is [zero, 0], and a single path of weight w is [w, 1]. Sums and counts
 * are modulo 2^32.
 *
 * @param name - semiring of the values: 'max-plus' or 'min-plus'. Counts over max-min or min-max wouldn't be
 * distributive.
 * @throws ArgumentError (ERR_MPMML_OPTION).
 * @example
 * const values = matrix(1, 3, [5, 5, 1])
 * const counts = { data: Uint32Array.of(1, 2, 1), shape: [1, 3] }
 * const ones = [matrix(3, 1), { data: new Uint32Array(3).fill(1), shape: [3, 1] }]
 * const { c: [value, count] } = await mpmm([values, counts], ones, { semiring: counting('max-plus') })
 * console.log(value.data[0], count.data[0]) // 5 3
 */
export function counting(name: SumName): UserSemiring<readonly ['int32', 'uint32']> {
  const { better, zero, one, times } = find(sums, name, 'counting')
  return semiring({
    name: `counting ${name}`,
    dtype: ['int32', 'uint32'],
    zero: [zero, 0],
    one: [one, 1],
    // Most steps of a product have a worse candidate. The expression then selects x unchanged, so that
    // kernels can skip the step.
    plus: ([x, n], [y, m], { less, equal, select }) => {
      const isWorse = better === 'max' ? less(y, x) : less(x, y)
      return [select(isWorse, x, y), select(isWorse, n, select(equal(x, y), n.add(m), m))]
    },
    times: ([x, n], [y, m], operations) => [times(x, y, operations), n.mul(m)],
    check: { min: [-SMALL, 1], max: [SMALL, 2 ** 32 - 1] },
  })
}

/**
 * k-best semiring: the k best sums of int32, best first. Elements have k lanes, padded with zeros if fewer
 * sums exist. A single path of weight w is [w, zero, …]. Equal sums of different paths are listed separately.
 * Sums are modulo 2^32.
 *
 * @param name - 'max-plus' or 'min-plus'
 * @param k - 2, 3 or 4
 * @throws ArgumentError (ERR_MPMML_OPTION).
 * @example
 * const none = new Int32Array(3).fill(zeroOf('min-plus'))
 * const a = [matrix(1, 3, [5, 1, 3]), matrix(1, 3, none)]
 * const b = [matrix(3, 1), matrix(3, 1, none)]
 * const { c: [best, second] } = await mpmm(a, b, { semiring: kBest('min-plus', 2) })
 * console.log(best.data[0], second.data[0]) // 1 3
 */
export function kBest<const K extends 2 | 3 | 4>(name: SumName, k: K): UserSemiring<Repeated<K>> {
  const { better, worse, zero, one, times } = find(sums, name, 'kBest')
  if (![2, 3, 4].includes(k)) throw new OptionError(`kBest takes k = 2, 3 or 4, but it got ${show(k)}`)
  type List = readonly Value<'int32'>[]
  /**
   * Merges two lists, best first. Element i of the result is the best of x[i], y[i] and the pairwise worse
   * elements of both lists.
   */
  const merged = (count: number, x: List, y: List, operations: Operations): Value<'int32'>[] =>
    Array.from({ length: count }, (_, i) => {
      const found = [x[i], y[i]]
      for (let at = 0; at < i; at++) {
        const [left, right] = [x[at], y[i - 1 - at]]
        if (left && right) found.push(operations[worse](left, right))
      }
      return found
        .filter((value) => value !== undefined)
        .reduce((left, right) => operations[better](left, right))
    })
  const none = new Array<number>(k - 1).fill(zero)
  return semiring({
    name: `${k} best of ${name}`,
    dtype: new Array<'int32'>(k).fill('int32') as readonly 'int32'[],
    zero: [zero, ...none],
    one: [one, ...none],
    // The result is x if the best of y isn't better than the last of x, as in most steps of a product.
    plus: (x, y, operations) => {
      const { lessEqual, select } = operations
      const last = x[k - 1]!
      const best = y[0]!
      const isWorse = better === 'max' ? lessEqual(best, last) : lessEqual(last, best)
      return merged(k, x, y, operations).map((value, lane) => select(isWorse, x[lane]!, value))
    },
    // The best sum is x[0] + y[0]. At least (i + 1) · (j + 1) − 1 other sums are no worse than x[i] + y[j].
    times: (x, y, operations) => {
      const [[best, ...first], ...others] = x.map((left, i) =>
        y.slice(0, Math.floor(k / (i + 1))).map((right) => times(left, right, operations)),
      ) as [[Value<'int32'>, ...List], ...List[]]
      return [best, ...others.reduce((left, right) => merged(k - 1, left, right, operations), first)]
    },
    check: { min: [-SMALL, ...none], max: [SMALL, ...none] },
  }) as unknown as UserSemiring<Repeated<K>>
}

/** The lanes of {@link kBest}. */
export type Repeated<K extends 2 | 3 | 4> = K extends 2
  ? readonly ['int32', 'int32']
  : K extends 3
    ? readonly ['int32', 'int32', 'int32']
    : readonly ['int32', 'int32', 'int32', 'int32']

/**
 * Lexicographic semiring of pairs of int32: the first components are compared, and the second ones if the
 * first are equal. An example is the widest of the shortest paths. Zero is zero in both components. Sums are
 * modulo 2^32.
 *
 * @param first - 'max-plus' or 'min-plus': in max-min or min-max a pair that loses could win after ⊗.
 * @param second - 'max-plus', 'min-plus', 'max-min' or 'min-max'
 * @throws ArgumentError (ERR_MPMML_OPTION).
 * @example
 * const a = [matrix(1, 2, [3, 3]), matrix(1, 2, [10, 20])]
 * const b = [matrix(2, 1, [1, 1]), matrix(2, 1, [15, 15])]
 * const { c: [length, width] } = await mpmm(a, b, { semiring: lexicographic('min-plus', 'max-min') })
 * console.log(length.data[0], width.data[0]) // 4 15
 */
export function lexicographic(
  first: SumName,
  second: OrderedName,
): UserSemiring<readonly ['int32', 'int32']> {
  const left = find(sums, first, 'lexicographic')
  const right = find(ordered, second, 'lexicographic')
  return semiring({
    name: `${first}, then ${second}`,
    dtype: ['int32', 'int32'],
    zero: [left.zero, right.zero],
    one: [left.one, right.one],
    plus: ([x1, x2], [y1, y2], { equal, select, [left.better]: best, [right.better]: second }) => [
      best(x1, y1),
      select(equal(x1, y1), second(x2, y2), select(equal(best(x1, y1), x1), x2, y2)),
    ],
    times: ([x1, x2], [y1, y2], operations) => [
      left.times(x1, y1, operations),
      right.times(x2, y2, operations),
    ],
    selective: true,
    check: { min: [-SMALL, -SMALL], max: [SMALL, SMALL] },
  })
}
