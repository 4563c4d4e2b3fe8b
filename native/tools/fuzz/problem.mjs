/** Problems: an algebra, sizes, a structure, and row-major matrices with values. */
import { arrays, drawAlgebra } from './algebra.mjs'
import { further } from './definition.mjs'
import { newMatrix } from './layouts.mjs'
import { bandOf, belongs, drawBand, drawStructure } from './structures.mjs'
import { drawValues, fill, nearOverflow, writeGarbageOutside } from './values.mjs'

const tiles = [8, 16, 32, 48, 64, 96, 128, 192, 256, 288, 320]
const aroundTile = (random) => random.pick(tiles) + random.pick([-1, 0, 0, 1])

/**
 * Sizes by kind. `large` is the maximum number of elements of a matrix, and `most` that of steps of a
 * product.
 */
const sizeKinds = {
  small: (random) => [random.size(1, 40), random.size(1, 40), random.size(1, 40)],
  middle: (random) => [random.size(20, 400), random.size(8, 300), random.size(20, 400)],
  tiles: (random) => [aroundTile(random), aroundTile(random), aroundTile(random)],
  'with 1': (random) => {
    const sizes = [random.size(1, 600), random.size(1, 600), random.size(1, 600)]
    sizes[random.integer(0, 2)] = 1
    if (random.chance(0.3)) sizes[random.integer(0, 2)] = 1
    return sizes
  },
  deep: (random) => [random.size(1, 80), random.size(500, 9000), random.size(1, 80)],
  'long and thin': (random, large) => {
    const sizes = [random.size(1, 9), random.size(1, 9), random.size(1, 9)]
    sizes[random.integer(0, 2)] = random.size(1000, Math.floor(large / 10))
    return sizes
  },
  /** More rows of tiles than a launch may have. */
  'very long': (random, large) => {
    const sizes = [random.integer(1, 4), random.integer(1, 4), random.integer(1, 4)]
    sizes[random.pick([0, 2])] = random.integer(262_000, Math.max(262_200, Math.floor(large / 3)))
    return sizes
  },
  empty: (random) => {
    const sizes = [random.size(1, 300), random.size(1, 300), random.size(1, 300)]
    sizes[random.pick([0, 1, 1, 1, 2])] = 0
    return sizes
  },
  large: (random, _, most) => {
    const side = Math.floor(most ** (1 / 3))
    return [random.integer(side >> 1, side), random.integer(side >> 2, side), random.integer(side >> 1, side)]
  },
}

const often = ['small', 'middle', 'middle', 'middle', 'tiles', 'tiles', 'with 1', 'deep', 'long and thin']

function drawSizes(random, { elements, steps, large = 0.025 }) {
  if (random.chance(large)) return sizeKinds.large(random, elements, steps)
  const draw = random.share()
  const kind = draw < 0.95 ? random.pick(often) : draw < 0.975 ? 'empty' : 'very long'
  return sizeKinds[kind](random, elements, steps)
}

/** Draws the policy for sums that leave int32; undefined: the option is omitted. */
export function drawOverflow(random, { isInteger, isWhole }, far) {
  if (!isInteger) return isWhole && random.chance(0.3) ? random.pick(['throw', 'wrap']) : undefined
  if (far) return random.pick(['throw', 'saturate', 'saturate', 'saturate', 'wrap', 'wrap', 'wrap'])
  return random.pick([undefined, undefined, 'throw', 'saturate', 'wrap'])
}

/** Draws the names of requested auxiliary outputs, each with probability `share`. */
export const drawAuxiliary = (random, { idempotent, hasWitness = true }, share = 0.3) =>
  idempotent && hasWitness ? Object.keys(further).filter(() => random.chance(share)) : []

/** The options of a product. */
export const optionsOf = ({ algebra, overflow, structure, requested }) => ({
  semiring: algebra.semiring,
  ...(overflow === undefined ? {} : { overflow }),
  ...(structure ? { structure } : {}),
  ...Object.fromEntries(requested.map((name) => [name, true])),
})

/** A matrix with values. */
export function newValues(random, algebra, values, side, batched, batch, rows, cols) {
  const matrix = newMatrix(arrays[algebra.dtype], batched, batch, rows, cols)
  fill(random, matrix, side, values, algebra)
  return matrix
}

/** Draws the number of products of a batch; null for a single product. */
function drawBatch(random, [m, k, n], elements) {
  if (random.chance(0.8)) return null
  const most = Math.floor(elements / 4 / Math.max(1, m * k, k * n, m * n))
  if (most < 1) return null
  return random.chance(0.3) ? random.size(1, Math.min(most, 70_000)) : random.size(1, Math.min(most, 40))
}

/**
 * A product. `limits`: the most elements of a matrix and the most steps of a large product. `initial` is what `out` holds before;
 * `accumulate` is 'nothing', 'a matrix' or 'out'.
 */
export function drawProblem(random, limits, algebra = drawAlgebra(random)) {
  // A band of C in a batch whose sums may overflow. Its results are written to separate memory and copied by
  // item, row and span.
  const isNear = limits.structures !== false && algebra.isInteger && random.chance(0.04)
  const [m, k, n] = isNear ? sizeKinds.small(random) : drawSizes(random, limits)
  const values = isNear ? drawValues(random, algebra, nearOverflow) : drawValues(random, algebra)
  const batch = isNear ? random.integer(2, 6) : drawBatch(random, [m, k, n], limits.elements)
  const structure = isNear
    ? { ...drawStructure(random, m, k, n), c: drawBand(random, m, n) }
    : limits.structures !== false && random.chance(0.3)
      ? drawStructure(random, m, k, n)
      : undefined
  // A single matrix is an operand of every product of a batch.
  const single = batch === null ? 'all' : random.pick(['a', 'b', 'none', 'none'])
  const make = (side, rows, cols, isSingle) =>
    newValues(
      random,
      algebra,
      values[side],
      side,
      batch !== null && !isSingle,
      isSingle ? 1 : batch,
      rows,
      cols,
    )
  const a = make('a', m, k, single === 'all' || single === 'a')
  const b = make('b', k, n, single === 'all' || single === 'b')
  const accumulate = random.pick(['nothing', 'nothing', 'a matrix', 'out'])
  const oneC0 = batch === null || (accumulate === 'a matrix' && random.chance(0.3))
  const hasOut = accumulate === 'out' || random.chance(isNear ? 0.8 : 0.4)
  const initial = hasOut ? make('c', m, n, batch === null) : null
  const c0 = accumulate === 'a matrix' ? make('c', m, n, oneC0) : accumulate === 'out' ? initial : null
  if (structure) {
    writeGarbageOutside(random, a, structure.a, algebra)
    writeGarbageOutside(random, b, structure.b, algebra)
    for (const matrix of new Set([c0, initial]))
      if (matrix) writeGarbageOutside(random, matrix, structure.c, algebra)
  }
  const parts = [[a, structure?.a], [b, structure?.b], ...(c0 ? [[c0, structure?.c]] : [])]
  const hasNegative =
    algebra.kind === 'product' && random.chance(0.06) && makeNegative(random, random.pick(parts))
  const requested = drawAuxiliary(random, algebra)
  const overflow = drawOverflow(random, algebra, values.far)
  return {
    algebra,
    m,
    k,
    n,
    batch: batch ?? 1,
    batched: batch !== null,
    a,
    b,
    c0,
    initial,
    accumulate,
    structure,
    overflow,
    requested,
    hasNegative,
    values: values.name,
  }
}

/**
 * Makes elements inside of the structure negative, which max-times forbids. Returns whether there were any.
 */
function makeNegative(random, [{ data, rows, cols }, structure]) {
  const band = bandOf(structure)
  let created = false
  for (let attempt = 0; attempt < 20 && data.length > 0; attempt++) {
    const index = random.integer(0, data.length - 1)
    const row = Math.floor(index / cols)
    if (!belongs(band, row % rows, index - row * cols)) continue
    data[index] = -0.5
    created = true
  }
  return created
}

const show = (value) => JSON.stringify(value, (_, x) => (x === Infinity ? 'Infinity' : x))

/** Describes a problem in error messages. */
export function describe({
  algebra,
  m,
  k,
  n,
  batch,
  batched,
  structure,
  overflow,
  requested,
  accumulate,
  values,
}) {
  return [
    `${algebra.semiring} on ${algebra.dtype}, ${batched ? `${batch} of ` : ''}${m} × ${k} × ${n}`,
    ...(structure ? [`structure ${show(structure)}`] : []),
    ...(overflow ? [overflow] : []),
    ...requested,
    ...(accumulate === 'nothing' ? [] : [`accumulates ${accumulate}`]),
    `values: ${values}`,
  ].join(', ')
}

/** Returns the elements in an array of half the bytes; null if they don't fit. */
export function narrowed({ dtype, zero }, { data, ...shape }) {
  if (dtype !== 'int32') return null
  const narrowZero = zero < 0 ? -32768 : 32767
  const narrow = new Int16Array(data.length)
  for (let index = 0; index < data.length; index++) {
    const value = data[index]
    if (value === zero) narrow[index] = narrowZero
    else if (value > -32768 && value < 32767) narrow[index] = value
    else return null
  }
  return { ...shape, data: narrow }
}
