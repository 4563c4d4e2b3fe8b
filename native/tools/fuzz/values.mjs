/** The values of operands, by kind. Each kind targets one arithmetic of products and its limits. */
import { bandOf, belongs } from './structures.mjs'

/**
 * Distribution of the elements of a matrix.
 *
 * - `low`, `spread`: whole numbers from `low` to `low + spread`. `ends`: the share that is one of both.
 * - `lines`, `chunks`: maximum of a random offset of each line (row of A, column of B) and of each 32
 *   elements of it. `rough`: the share of outlier chunks, whose range is a thousand times as large.
 * - `meets`: in even steps of k the elements are high, in odd ones low; in the other operand high and low are exchanged.
 * - `special`: values, and `share`, the share of elements that are one of them.
 * - `zeros`: the share of elements that are the semiring's zero. `zeroLines`: the share of lines.
 * - `scale`: each number is multiplied by it. `fraction`: and a part of one is added to it before.
 * - `wide`: floats of every magnitude, from 10^−wide to 10^wide.
 */
const spec = (low, spread, more = {}) => ({ low, spread, ...more })

const LIMIT = 357913941

const zeroShares = [0, 0, 0, 0, 0.01, 0.2, 0.5, 0.97]

function withZeros(random, one) {
  const zeros = random.pick(zeroShares)
  return { ...one, zeros, zeroLines: random.chance(0.1) ? 0.3 : 0 }
}

// Limits of the arithmetics: 8 and 16 bits with and without zero, the distinct values of exponents; and their
// neighbours.
const spreads = [
  31, 32, 37, 38, 41, 42, 49, 50, 63, 64, 126, 127, 254, 255, 256, 16383, 16384, 32766, 65535, 65536,
]

/** Kinds of int32 in max-plus and min-plus; `far`: sums may leave int32. */
const integerKinds = {
  small: () => ({ a: spec(-1000, 2000), b: spec(-1000, 2000) }),
  'half range': () => ({ a: spec(-(2 ** 30) + 1, 2 ** 31 - 2), b: spec(-(2 ** 30) + 1, 2 ** 31 - 2) }),
  'up to 10^8': () => ({ a: spec(-1e8, 2e8), b: spec(-1e8, 2e8) }),
  'full range': () => ({ a: spec(-(2 ** 31), 2 ** 32 - 1), b: spec(-(2 ** 31), 2 ** 32 - 1), far: true }),
  spreads: (random) => {
    const total = random.pick(spreads)
    const first = random.pick([total, Math.floor(total / 2), random.integer(0, total)])
    const second = random.chance(0.5) ? total - first : first
    const ends = random.pick([0, 0.3, 1])
    const low = () => random.pick([0, -5000, random.integer(-1e9, 1e9)])
    return { a: spec(low(), first, { ends }), b: spec(low(), second, { ends }) }
  },
  levels: (random) => {
    const levels = random.integer(1, 50)
    const lines = random.pick([0, 1e6])
    return {
      a: spec(random.integer(-1e6, 1e6), levels, { ends: 0.3, lines }),
      b: random.chance(0.5)
        ? spec(-5, random.integer(1, 50), { ends: 0.3, lines })
        : spec(-1e8, 2e8, { ends: 0.1 }),
    }
  },
  'bounded differences': (random) => {
    const bounded = spec(-40, 31, {
      ends: 0.3,
      chunks: random.pick([100, 1e5, 1e7]),
      rough: random.pick([0, 0, 0.02, 0.3]),
    })
    const other = random.chance(0.3) ? bounded : spec(-1e7, random.pick([63, 1e5, 2e7]))
    return { a: bounded, b: other }
  },
  'edge of translated': (random) => {
    const limit = LIMIT + random.integer(-2, 1)
    const ends = random.pick([0.1, 1])
    const one = () => random.pick([spec(-limit, 3), spec(limit - 3, 3), spec(-limit, 2 * limit, { ends })])
    return { a: one(), b: one() }
  },
  'ends of int32': (random) => {
    // Sums a little inside of the range, or a little outside.
    const beyond = random.chance(0.3) ? random.integer(1, 1000) : 0
    const [far, near] = random.chance(0.5)
      ? [spec(-(2 ** 31) + 1, 1000), spec(-beyond, 500)]
      : [spec(2 ** 31 - 1002, 1000), spec(-500, 500 + beyond)]
    const [a, b] = random.chance(0.5) ? [far, near] : [near, far]
    return { a, b, far: beyond > 0 }
  },
  'best meets worst': (random) => {
    const reach = random.pick([1e5, 1e9, 2 ** 31 - 20])
    const one = spec(-9, 9, { meets: reach, ends: 0.2 })
    return { a: one, b: one }
  },
  extremes: () => {
    const special = [-(2 ** 31), -(2 ** 31) + 1, 2 ** 31 - 1, 2 ** 31 - 2, 0, -1, 1, 2 ** 30, -(2 ** 30)]
    return { a: spec(0, 0, { special, share: 1 }), b: spec(0, 0, { special, share: 1 }), far: true }
  },
  equal: (random) => ({ a: spec(random.integer(-9, 9), 0), b: spec(7, 0) }),
}

const FLOAT_MOST = 3.4028234663852886e38
const odd = [Number.NaN, Infinity, -Infinity, -0, 0, 1e-45, -1e-45, FLOAT_MOST, -FLOAT_MOST, 1.17549435e-38]

const floatKinds = {
  whole: () => ({ a: spec(-1000, 2000), b: spec(-1000, 2000) }),
  fractions: (random) => {
    const one = () =>
      spec(random.pick([-1, 0, -1000]), 1000, { fraction: true, scale: random.pick([1, 0.001, 1e30]) })
    return { a: one(), b: one() }
  },
  levels: (random) => ({
    a: spec(random.integer(-20, 20), random.integer(0, 40)),
    b: spec(-3, random.integer(0, 9)),
  }),
  'up to −0': (random) => {
    const one = spec(-20, 20, {
      special: [-0],
      share: random.pick([0.01, 0.3]),
      fraction: random.chance(0.3),
    })
    return { a: { ...one, low: -21 }, b: random.chance(0.5) ? one : spec(-5, 10) }
  },
  'from 0': (random) => ({
    a: spec(0, 30, { special: [0, -0], share: 0.1 }),
    b: spec(random.pick([0, -30]), 30),
  }),
  'about 0': (random) => {
    const one = spec(-2, 4, { special: [0, -0], share: 0.2, lines: random.pick([0, 5]) })
    return { a: one, b: one }
  },
  'mixed signs': (random) => ({
    a: spec(-1e6, 2e6, { lines: random.pick([0, 1e7]) }),
    b: spec(random.pick([-1e6, -3e6, 1e6]), 2e6, { fraction: true }),
  }),
  'every magnitude': (random) => {
    const wide = random.pick([3, 20, 38, 44])
    return { a: spec(0, 0, { wide }), b: spec(0, 0, { wide }) }
  },
  odd: (random) => {
    const share = random.pick([0.001, 0.05, 1])
    return {
      a: spec(-9, 18, { special: odd, share }),
      b: spec(-9, 18, { special: odd, share: random.chance(0.5) ? share : 0 }),
    }
  },
}

const notNegative = [Number.NaN, Infinity, -0, 0, 1e-45, FLOAT_MOST, 1.17549435e-38, 1]
const productKinds = {
  reliabilities: () => ({
    a: spec(0, 0, { fraction: true }),
    b: spec(0, 0, { fraction: true }),
  }),
  whole: () => ({ a: spec(0, 100), b: spec(0, 9) }),
  powers: (random) => {
    const special = [1, 0.5, 0.25, 2, 2 ** -130, 2 ** 100]
    return { a: spec(0, 0, { special, share: 1 }), b: spec(1, random.integer(0, 3)) }
  },
  odd: () => ({
    a: spec(0, 9, { special: notNegative, share: 0.3 }),
    b: spec(0, 9, { special: notNegative, share: 0.3 }),
  }),
}

const ordinaryKinds = {
  whole: () => ({ a: spec(-9, 18), b: spec(-9, 18) }),
  fractions: () => ({ a: spec(-1, 1, { fraction: true }), b: spec(-1, 1, { fraction: true }) }),
  odd: () => ({
    a: spec(-9, 18, { special: [Number.NaN, Infinity, -Infinity, -0], share: 0.002 }),
    b: spec(-9, 18, { fraction: true }),
  }),
}

const truthKinds = {
  bits: (random) => ({
    a: spec(0, 1, { zeros: random.pick([0, 0.5, 0.99]) }),
    b: spec(0, 1, { zeros: random.pick([0, 0.9, 0.999]) }),
  }),
  bytes: (random) => ({ a: spec(0, 255, { zeros: random.pick([0, 0.95]) }), b: spec(0, 255) }),
  dense: () => ({ a: spec(1, 254), b: spec(1, 254) }),
}

const kindsOf = ({ isTruth, isWhole, kind }) => {
  if (isTruth) return truthKinds
  if (kind === 'product') return productKinds
  if (kind === 'ordinary') return ordinaryKinds
  return isWhole ? integerKinds : floatKinds
}

/** Kinds of int32 whose sums come near the ends of int32, or leave it. */
export const nearOverflow = ['half range', 'ends of int32', 'full range', 'edge of translated']

/** Draws the distributions of a product's matrices: a, b, and c for C0 and the earlier content of `out`. */
export function drawValues(random, algebra, names = Object.keys(kindsOf(algebra))) {
  const kinds = kindsOf(algebra)
  const name = random.pick(names)
  const { a, b, far = false } = kinds[name](random)
  const zeros = (one) => (one.zeros === undefined ? withZeros(random, one) : one)
  // C0 is about as good as the results.
  const c = random.chance(0.5) ? { ...b } : spec(a.low + b.low, a.spread + b.spread, { ...a, ...b })
  return { name: `${name}`, far, a: zeros(a), b: zeros(b), c: zeros(c) }
}

/** Returns an offset from 0 to `step` that depends on the index. */
const offsetOf = (step, index, salt) =>
  step === undefined || step === 0
    ? 0
    : Math.floor(step * ((Math.imul(index + salt, 0x9e3779b1) >>> 0) / 2 ** 32))

/** Fills a row-major matrix: `side` is 'a', 'b' or 'c'. */
export function fill(random, { data, rows, cols }, side, values, algebra) {
  const { low, spread, ends = 0, lines, chunks, rough = 0, meets, special, share = 0 } = values
  const { zeros = 0, zeroLines = 0, scale = 1, fraction = false, wide } = values
  const { zero, least, most, isWhole: integer } = algebra
  const salt = random.integer(0, 1000)
  const plain = !lines && !chunks && !meets && !special && !fraction && !wide && zeroLines === 0
  const range = spread + 1
  if (plain && ends === 0 && scale === 1 && !integer) {
    const scaled = range / (1 - zeros)
    for (let index = 0; index < data.length; index++) {
      const drawn = random.share() * scaled
      data[index] = drawn < range ? low + Math.floor(drawn) : zero
    }
    return
  }
  for (let index = 0; index < data.length; index++) {
    const row = Math.floor(index / cols)
    const col = index - row * cols
    const [line, k] = side === 'b' ? [col, row % rows] : [row, col]
    if (zeros > 0 && random.share() < zeros) data[index] = zero
    else if (zeroLines > 0 && offsetOf(1000, line, salt + 7) < 1000 * zeroLines) data[index] = zero
    else if (share > 0 && random.share() < share) data[index] = special[random.bits() % special.length]
    else if (wide) data[index] = (random.share() - 0.5) * 10 ** random.integer(-wide, wide)
    else {
      const isEnd = ends > 0 && random.share() < ends
      let value = isEnd ? (random.bits() & 1) * spread : Math.floor(random.share() * range)
      if (rough > 0 && offsetOf(1000, (k >> 5) + 31 * line, salt) < 1000 * rough) value *= 1000
      value += low + offsetOf(lines, line, salt) + offsetOf(chunks, k >> 5, line + salt)
      if (meets && side !== 'c') value += (k % 2 === 0) === (side === 'a') ? meets : -meets
      if (fraction) value += random.share()
      data[index] = integer ? Math.min(Math.max(value, least), most) : value * scale
    }
  }
}

/** Writes values that would decide results outside of a matrix's structure. */
export function writeGarbageOutside(
  random,
  { data, rows, cols },
  structure,
  { isWhole, isTruth, greatest, kind, most, least },
) {
  if (structure === undefined || structure === 'general') return
  const band = bandOf(structure)
  const worst = isWhole
    ? [greatest ? most : least, 0]
    : isTruth
      ? [1, 255]
      : kind === 'product'
        ? [-1, Infinity, Number.NaN]
        : [Number.NaN, Infinity, -Infinity, 3e38]
  for (let index = 0; index < data.length; index++) {
    const row = Math.floor(index / cols)
    if (!belongs(band, row % rows, index - row * cols)) data[index] = worst[random.bits() % worst.length]
  }
}
