/** Custom semirings, each with its definition in plain numbers, and random elements. */
import {
  counting,
  hamming,
  kBest,
  type LaneType,
  l1Distance,
  lexicographic,
  lInfinityDistance,
  logSumExp,
  semiring,
  type UserSemiring,
} from '../../lib/semirings.js'
import type { Algebra, Element } from './user-oracle.js'

export interface Written extends Algebra {
  readonly semiring: UserSemiring
  readonly types: readonly LaneType[]
  /** Random elements, zero among them; `random` returns numbers from 0 to 1. */
  draw(random: () => number): Element
  /** Relative tolerance of results; 0: bit by bit. */
  readonly tolerance?: number
}

const { fround, imul } = Math
const LEAST = -(2 ** 31)
const MOST = 2 ** 31 - 1
const integer = (random: () => number, least: number, most: number) =>
  Math.floor(least + random() * (most - least + 1))
/** Integer with random bits. */
const word = (random: () => number) => integer(random, LEAST, MOST)

/** max and min of floats that skip NaN, in which −0 < +0. */
const max = (x: number, y: number) => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.max(x, y))
const min = (x: number, y: number) => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.min(x, y))

const one = (
  created: UserSemiring,
  zero: number,
  plus: (x: number, y: number) => number,
  times: (x: number, y: number) => number,
  draw: (random: () => number) => number,
  tolerance = 0,
): Written => ({
  semiring: created,
  types: [created.dtype as LaneType],
  zero: [zero],
  plus: ([x], [y]) => [plus(x!, y!)],
  times: ([x], [y]) => [times(x!, y!)],
  draw: (random) => [draw(random)],
  tolerance,
})

const float = (random: () => number) => fround((random() - 0.5) * 200)

const bitCount = (word: number) => [...(word >>> 0).toString(2)].filter((bit) => bit === '1').length

const sum = (zero: number) => (x: number, y: number) => (x === zero || y === zero ? zero : (x + y) | 0)

function counted(name: 'max-plus' | 'min-plus'): Written {
  const [zero, better] = name === 'max-plus' ? [LEAST, Math.max] : [MOST, Math.min]
  return {
    semiring: counting(name),
    types: ['int32', 'uint32'],
    zero: [zero, 0],
    plus: ([x, n], [y, m]) => (x === y ? [x!, (n! + m!) >>> 0] : better(x!, y!) === x ? [x, n!] : [y!, m!]),
    times: ([x, n], [y, m]) => [sum(zero)(x!, y!), imul(n!, m!) >>> 0],
    draw: (random) => (random() < 0.1 ? [zero, 0] : [integer(random, -4, 4), integer(random, 1, 2 ** 31)]),
  }
}

function bests(name: 'max-plus' | 'min-plus', k: 2 | 3 | 4): Written {
  const [zero, sign] = name === 'max-plus' ? [LEAST, -1] : [MOST, 1]
  const add = sum(zero)
  /** The `k` best values of `all`, the best one first. */
  const sorted = (all: readonly number[]) => {
    const best = new Array<number>(k).fill(zero)
    for (const value of all) {
      let position = k
      for (; position > 0 && sign * (value - best[position - 1]!) < 0; position--)
        if (position < k) best[position] = best[position - 1]!
      if (position < k) best[position] = value
    }
    return best
  }
  return {
    semiring: kBest(name, k),
    types: new Array<LaneType>(k).fill('int32'),
    zero: new Array<number>(k).fill(zero),
    plus: (x, y) => sorted([...x, ...y]),
    times: (x, y) => {
      const sums: number[] = []
      for (const left of x) for (const right of y) sums.push(add(left, right))
      return sorted(sums)
    },
    draw: (random) =>
      sorted(Array.from({ length: integer(random, 0, k) }, () => integer(random, -(2 ** 20), 2 ** 20))),
  }
}

/** Semiring of pairs in lexicographic order: the second lane decides between equal first lanes. */
function ordered(first: 'max-plus' | 'min-plus', second: 'max-min' | 'min-plus'): Written {
  const [zero, better] = first === 'max-plus' ? [LEAST, Math.max] : [MOST, Math.min]
  const [other, best] = second === 'max-min' ? [LEAST, Math.max] : [MOST, Math.min]
  const joined = second === 'max-min' ? Math.min : sum(other)
  return {
    semiring: lexicographic(first, second),
    types: ['int32', 'int32'],
    zero: [zero, other],
    plus: ([x, v], [y, w]) => (x === y ? [x!, best(v!, w!)] : better(x!, y!) === x ? [x, v!] : [y!, w!]),
    times: ([x, v], [y, w]) => [sum(zero)(x!, y!), joined(v!, w!)],
    draw: (random) =>
      random() < 0.1 ? [zero, other] : [integer(random, -3, 3), integer(random, -1000, 1000)],
  }
}

/** Semiring with lanes of all types, in which only ⊕ satisfies the laws. */
const mixed: Written = {
  semiring: semiring({
    name: 'four lanes',
    dtype: ['int32', 'uint32', 'float32', 'int32'],
    zero: [LEAST, 0, Number.POSITIVE_INFINITY, -1],
    plus: ([a, b, c, d], [e, f, g, h], { max, or, min, and }) => [max(a, e), or(b, f), min(c, g), and(d, h)],
    times: ([a, b, c, d], [e, f, g, h], { select, less }) => [
      a.sub(e).abs(),
      b.shiftRight(f).xor(b),
      select(less(c, g), c.sub(g), c.mul(g)),
      d.mul(h).add(b.toInt32()),
    ],
    absorbs: false,
    idempotent: true,
  }),
  types: ['int32', 'uint32', 'float32', 'int32'],
  zero: [LEAST, 0, Number.POSITIVE_INFINITY, -1],
  plus: ([a, b, c, d], [e, f, g, h]) => [Math.max(a!, e!), (b! | f!) >>> 0, min(c!, g!), d! & h!],
  times: ([a, b, c, d], [e, f, g, h]) => [
    Math.abs((a! - e!) | 0) | 0,
    ((b! >>> (f! & 31)) ^ b!) >>> 0,
    fround(c! < g! ? c! - g! : c! * g!),
    (imul(d!, h!) + (b! | 0)) | 0,
  ],
  draw: (random) => [word(random), word(random) >>> 0, float(random), word(random)],
}

/** Max-plus of int32 in which sums wrap and are not scanned for overflow. */
export const greatestSums = semiring({
  name: 'greatest sums',
  dtype: 'int32',
  zero: LEAST,
  plus: (x, y, { max }) => max(x, y),
  times: (x, y) => x.add(y),
  absorbs: false,
  selective: true,
  check: false,
})

/** Semiring for the tests of commands, which read it from a file. */
export const leastDifference = semiring({
  name: 'least absolute difference',
  dtype: 'int32',
  zero: MOST,
  plus: (x, y) => x.min(y),
  times: (x, y) => x.sub(y).abs(),
  absorbs: false,
})

export const written: readonly Written[] = [
  one(
    semiring({
      name: 'min-plus of absolute differences',
      dtype: 'int32',
      zero: MOST,
      plus: (x, y, { min }) => min(x, y),
      times: (x, y, { abs }) => abs(x.sub(y)),
      absorbs: false,
      selective: true,
    }),
    MOST,
    Math.min,
    (x, y) => Math.abs((x - y) | 0) | 0,
    word,
  ),
  one(
    semiring({
      name: 'max-plus by hand',
      dtype: 'float32',
      zero: Number.NEGATIVE_INFINITY,
      one: 0,
      plus: (x, y) => x.max(y),
      times: (x, y) => x.add(y),
      selective: true,
    }),
    Number.NEGATIVE_INFINITY,
    max,
    (x, y) => fround(x + y),
    (random) => (random() < 0.1 ? Number.NEGATIVE_INFINITY : random() < 0.05 ? Number.NaN : float(random)),
  ),
  one(
    semiring({
      name: 'polynomials over two numbers',
      dtype: 'uint32',
      zero: 0,
      one: 2 ** 32 - 1,
      plus: (x, y) => x.xor(y),
      times: (x, y) => x.and(y),
    }),
    0,
    (x, y) => (x ^ y) >>> 0,
    (x, y) => (x & y) >>> 0,
    (random) => word(random) >>> 0,
  ),
  one(
    semiring({
      name: 'integers modulo 2^32',
      dtype: 'int32',
      zero: 0,
      one: 1,
      plus: (x, y) => x.add(y),
      times: (x, y) => x.mul(y),
    }),
    0,
    (x, y) => (x + y) | 0,
    imul,
    word,
  ),
  one(
    l1Distance,
    0,
    (x, y) => fround(x + y),
    (x, y) => Math.abs(fround(x - y)),
    float,
  ),
  one(lInfinityDistance, 0, max, (x, y) => Math.abs(fround(x - y)), float),
  one(
    hamming,
    0,
    (x, y) => (x + y) >>> 0,
    (x, y) => bitCount(x ^ y),
    (random) => word(random) >>> 0,
  ),
  one(
    logSumExp,
    Number.NEGATIVE_INFINITY,
    (x, y) => {
      const most = Math.max(x, y)
      return Number.isFinite(most) ? most + Math.log1p(Math.exp(-Math.abs(x - y))) : most
    },
    (x, y) => x + y,
    (random) => (random() < 0.1 ? Number.NEGATIVE_INFINITY : fround((random() - 0.5) * 40)),
    2 ** -16,
  ),
  counted('max-plus'),
  counted('min-plus'),
  bests('max-plus', 2),
  bests('min-plus', 3),
  bests('min-plus', 4),
  ordered('min-plus', 'max-min'),
  ordered('max-plus', 'min-plus'),
  mixed,
]
