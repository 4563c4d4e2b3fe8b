/** Semirings and element types, from their definitions in docs/products.md: nothing here is the library's. */
export const arrays = {
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
  uint8: Uint8Array,
}

const LEAST = -(2 ** 31)
const MOST = 2 ** 31 - 1

/**
 * `kind`: what ⊗ is. `greatest`: whether ⊕ takes the greater. `isInteger`: whether sums of int32 can leave their type, and an
 * infinity stands for zero here. `zero`, `one`: as they are stored.
 */
function algebraOf(semiring, dtype) {
  const greatest = semiring !== 'min-plus' && semiring !== 'min-max'
  const kind = {
    'max-plus': 'sum',
    'min-plus': 'sum',
    'max-min': 'least',
    'min-max': 'greatest',
    'max-times': 'product',
    'or-and': 'least',
    'plus-times': 'ordinary',
  }[semiring]
  const ends = dtype === 'int32' ? [LEAST, MOST] : [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  const zero =
    kind === 'product' || kind === 'ordinary' || dtype === 'uint8' ? 0 : greatest ? ends[0] : ends[1]
  const one =
    kind === 'sum' ? 0 : kind === 'least' && dtype !== 'uint8' ? ends[1] : kind === 'greatest' ? ends[0] : 1
  const isInteger = kind === 'sum' && dtype === 'int32'
  return {
    semiring,
    dtype,
    kind,
    greatest,
    zero,
    one,
    isInteger,
    /** What there is without a candidate. */
    none: isInteger ? (greatest ? -Infinity : Infinity) : zero,
    /** The finite range. */
    least: greatest ? LEAST + 1 : LEAST,
    most: greatest ? MOST : MOST - 1,
    isFloat: dtype === 'float32' || dtype === 'float64',
    /** Whether every bit of a result is specified. */
    exactBits: kind !== 'ordinary' && !(kind === 'sum' && dtype !== 'int32'),
  }
}

const table = {
  'max-plus': ['int32', 'float32', 'float64'],
  'min-plus': ['int32', 'float32', 'float64'],
  'max-min': ['int32', 'float32', 'float64'],
  'min-max': ['int32', 'float32', 'float64'],
  'max-times': ['float32', 'float64'],
  'or-and': ['uint8'],
  'plus-times': ['float32', 'float64'],
}

export const algebras = Object.entries(table).flatMap(([semiring, types]) =>
  types.map((dtype) => algebraOf(semiring, dtype)),
)

/** Those over one element type. */
export const algebrasOf = (dtype) => algebras.filter((algebra) => algebra.dtype === dtype)

/** Every algebra, those with the most kernels more often. */
export const drawAlgebra = (random) =>
  random.chance(0.4)
    ? random.pick(algebras.filter(({ isInteger }) => isInteger))
    : random.chance(0.3)
      ? random.pick(algebras.filter(({ dtype, kind }) => dtype === 'float32' && kind === 'sum'))
      : random.pick(algebras)

/** What an element of an operand or of C0 stands for, as a number to compute with. */
export function meaning({ isInteger, zero, none, semiring, kind }) {
  if (isInteger) return (x) => (x === zero ? none : x)
  if (semiring === 'or-and') return (x) => (x === 0 ? 0 : 1)
  if (kind === 'sum' || kind === 'ordinary') return (x) => x
  // −0 counts as 0.
  return (x) => x + 0
}

/** The bands of structures: (i, j) belongs if −below ≤ j − i ≤ above. */
export function bandOf(structure) {
  switch (structure) {
    case undefined:
    case 'general':
      return [Infinity, Infinity]
    case 'upper':
      return [0, Infinity]
    case 'lower':
      return [Infinity, 0]
    case 'strictly-upper':
      return [-1, Infinity]
    case 'strictly-lower':
      return [Infinity, -1]
    default:
      return structure.band
  }
}

export const belongs = ([below, above], i, j) => j - i >= -below && j - i <= above
