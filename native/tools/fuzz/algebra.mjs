/** Semirings and element types, from their definitions in docs/products.md, independent of the library. */
export const arrays = {
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
  uint8: Uint8Array,
}

/** Least and greatest elements of the types. */
const endsOf = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  float32: [-Infinity, Infinity],
  float64: [-Infinity, Infinity],
  uint8: [0, 255],
}

// Rounding, saturating and ⊕ can be exchanged: so only the best candidate is rounded. One loop for each ⊕ and ⊗, without
// anything to look up: the time is spent here.

function greatestSum(x, y, from, to, ahead, start) {
  let best = start
  for (let k = from; k < to; k++) {
    const candidate = x[k] + y[k + ahead]
    if (candidate > best) best = candidate
  }
  return best
}

function leastSum(x, y, from, to, ahead, start) {
  let best = start
  for (let k = from; k < to; k++) {
    const candidate = x[k] + y[k + ahead]
    if (candidate < best) best = candidate
  }
  return best
}

function greatestLeast(x, y, from, to, ahead, start) {
  let best = start
  for (let k = from; k < to; k++) {
    const p = x[k]
    const q = y[k + ahead]
    // A NaN is no candidate: a comparison with one is false.
    if (p > best && q > best) best = p < q ? p : q
  }
  return best
}

function leastGreatest(x, y, from, to, ahead, start) {
  let best = start
  for (let k = from; k < to; k++) {
    const p = x[k]
    const q = y[k + ahead]
    if (p < best && q < best) best = p > q ? p : q
  }
  return best
}

function greatestProduct(x, y, from, to, ahead, start) {
  let best = start
  for (let k = from; k < to; k++) {
    const candidate = x[k] * y[k + ahead]
    if (candidate > best) best = candidate
  }
  return best
}

/** Returns whether an odd number of pairs of truth values (0 and 1) is 1. */
function parityOfPairs(x, y, from, to, ahead, start) {
  let pairs = start
  for (let k = from; k < to; k++) pairs += x[k] * y[k + ahead]
  return pairs % 2
}

/** Returns the sum of products, and adds the magnitudes of the finite products to `magnitude`. */
function sumOfProducts(x, y, from, to, ahead, start, magnitude) {
  let sum = start
  let total = Math.abs(start) < Infinity ? Math.abs(start) : 0
  for (let k = from; k < to; k++) {
    const product = x[k] * y[k + ahead]
    sum += product
    const size = Math.abs(product)
    // A product of finite numbers may overflow float64.
    if (size < Infinity || (Math.abs(x[k]) < Infinity && Math.abs(y[k + ahead]) < Infinity)) total += size
  }
  magnitude[0] = total
  return sum
}

const numbers = ['int32', 'float32', 'float64']
const floats = ['float32', 'float64']
const truths = { types: ['uint8'], kind: 'least', greatest: true, isTruth: true }

/**
 * `kind`: the operation ⊗. `greatest`: whether ⊕ is the maximum. `idempotent`: whether x ⊕ x = x. `fold`
 * combines the initial value of a result with its candidates.
 */
const semirings = {
  'max-plus': { types: numbers, kind: 'sum', greatest: true, idempotent: true, fold: greatestSum },
  'min-plus': { types: numbers, kind: 'sum', greatest: false, idempotent: true, fold: leastSum },
  'max-min': { types: numbers, kind: 'least', greatest: true, idempotent: true, fold: greatestLeast },
  'min-max': { types: numbers, kind: 'greatest', greatest: false, idempotent: true, fold: leastGreatest },
  'max-times': { types: floats, kind: 'product', greatest: true, idempotent: true, fold: greatestProduct },
  'or-and': { ...truths, idempotent: true, fold: greatestLeast },
  'xor-and': { ...truths, idempotent: false, fold: parityOfPairs },
  'plus-times': { types: floats, kind: 'ordinary', greatest: true, idempotent: false, fold: sumOfProducts },
}

/**
 * Combines an entry of `semirings` with an element type. `isInteger`: whether sums of int32 can leave their
 * type, and an infinity stands for zero in the oracle. `isTruth`: whether any element but 0 counts as 1.
 * `isWhole`: whether elements are integers that aren't truth values. `zero`, `one`: as they are stored.
 */
function algebraOf(semiring, dtype) {
  const { kind, greatest, idempotent, fold, isTruth = false } = semirings[semiring]
  const ends = endsOf[dtype]
  const isFloat = ends[1] === Infinity
  const zero = kind === 'product' || kind === 'ordinary' || isTruth ? 0 : greatest ? ends[0] : ends[1]
  const one = kind === 'sum' ? 0 : kind === 'least' && !isTruth ? ends[1] : kind === 'greatest' ? ends[0] : 1
  const isInteger = kind === 'sum' && !isFloat
  return {
    semiring,
    dtype,
    kind,
    greatest,
    idempotent,
    fold,
    zero,
    one,
    isInteger,
    isTruth,
    /** Result without a candidate. */
    none: isInteger ? (greatest ? -Infinity : Infinity) : zero,
    /** The finite range. */
    least: greatest ? ends[0] + 1 : ends[0],
    most: greatest ? ends[1] : ends[1] - 1,
    isFloat,
    isWhole: !isFloat && !isTruth,
    /** Whether every bit of a result is specified. */
    exactBits: kind !== 'ordinary' && !(kind === 'sum' && isFloat),
  }
}

export const algebras = Object.entries(semirings).flatMap(([semiring, { types }]) =>
  types.map((dtype) => algebraOf(semiring, dtype)),
)

/** Restricts the algebras to those that WebGPU has kernels for, which find no witness of truth values, and close int32 only. */
export function keepWebGpu(variants) {
  const retained = algebras.filter(({ semiring, dtype }) =>
    variants.some((one) => one.backend === 'webgpu' && one.semiring === semiring && one.dtype === dtype),
  )
  algebras.splice(
    0,
    algebras.length,
    ...retained.map((one) => ({ ...one, hasWitness: !one.isTruth, hasClosure: one.isInteger })),
  )
}

/** Algebras over one element type. */
export const algebrasOf = (dtype) => algebras.filter((algebra) => algebra.dtype === dtype)

/** Every algebra, those with the most kernels more often. */
export const drawAlgebra = (random) =>
  random.chance(0.4)
    ? random.pick(algebras.filter(({ isInteger }) => isInteger))
    : random.chance(0.3)
      ? random.pick(algebras.filter(({ dtype, kind }) => dtype === 'float32' && kind === 'sum'))
      : random.pick(algebras)

/** Replaces elements of operands or of C0 by the numbers that they stand for. */
export function meant(values, { isInteger, isTruth, zero, none, kind }) {
  const count = values.length
  if (isInteger) {
    for (let at = 0; at < count; at++) if (values[at] === zero) values[at] = none
  } else if (isTruth) {
    for (let at = 0; at < count; at++) if (values[at] !== 0) values[at] = 1
  } else if (kind !== 'sum' && kind !== 'ordinary') {
    // −0 counts as 0.
    for (let at = 0; at < count; at++) values[at] += 0
  }
  return values
}
