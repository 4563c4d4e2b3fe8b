/** Compares results with the definition, at random elements and at the borders of tiles. */
import { cells, further } from './definition.mjs'
import { bandOf, belongs } from './structures.mjs'

/** Counts of the comparisons. */
export class Tally {
  elements = 0
  steps = 0
  products = 0
  /** Number of checked elements by algebra; `refusals` is the number of permitted errors by code. */
  kinds = new Map()
  refusals = new Map()

  add(kind, elements, steps) {
    this.elements += elements
    this.steps += steps
    this.kinds.set(kind, (this.kinds.get(kind) ?? 0) + elements)
  }

  refused(code) {
    this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1)
  }
}

/** Returns the indices below `size`. */
export function upTo(size) {
  const all = new Int32Array(size)
  for (let index = 0; index < size; index++) all[index] = index
  return all
}

/** Returns `count` of the indices below `size`: all of them, or a mix of borders and random ones. */
function choose(random, size, count) {
  if (count * 1.2 >= size) return upTo(size)
  const chosen = new Int32Array(count)
  const taken = new Uint8Array(size)
  let length = 0
  const take = (index) => {
    if (index < 0 || index >= size || taken[index] === 1 || length === count) return
    taken[index] = 1
    chosen[length++] = index
  }
  for (const index of [0, size - 1, size - 2]) take(index)
  // Borders of tiles and of launches, and a run.
  for (let attempt = 0; attempt < 1000 && length < count / 2; attempt++) {
    const border = random.integer(0, size) & -(2 ** random.integer(2, 18))
    for (let index = border - 2; index < border + 3; index++) take(index)
  }
  const run = random.integer(0, size - 1)
  for (let index = run; index < run + count / 4; index++) take(index)
  while (length < count) take(random.integer(0, size - 1))
  return chosen
}

/** Selects the rows, columns and products of a batch that are checked, for about `budget` steps. */
export function sample(random, { m, k, n, batch }, budget) {
  const depth = k + 4
  if (batch * m * n * depth <= budget) {
    const [rows, cols] = [choose(random, m, m), choose(random, n, n)]
    return Array.from({ length: batch }, (_, item) => ({ item, rows, cols }))
  }
  const wholes = Math.max(1, Math.floor(budget / (m * n * depth)))
  const items = choose(random, batch, batch === 1 ? 1 : Math.min(batch, Math.max(3, wholes)))
  const elements = Math.max(16, budget / items.length / depth)
  return Array.from(items, (item) => {
    const square = Math.sqrt(elements)
    const some = Math.max(1, Math.min(n, elements / Math.min(m, square)))
    return {
      item,
      rows: choose(random, m, Math.ceil(Math.max(4, elements / some))),
      cols: choose(random, n, Math.ceil(Math.max(4, some))),
    }
  })
}

const show = (x) => (Object.is(x, -0) ? '−0' : `${x}`)

/**
 * Returns the error of a result as text; undefined if the sampled elements are right. `c` and auxiliary
 * outputs are matrices that a product returned. `initial` is the earlier content of `out`, row-major, or null.
 * `define` computes the expected elements.
 */
export function wrongIn(problem, result, random, tally, budget, define = cells) {
  const { algebra, batch, m, n, k, initial } = problem
  const expectedShape = problem.batched ? [batch, m, n] : [m, n]
  const { c } = result
  const requested = Object.keys(further).filter((name) => result[name])
  const missing = problem.requested?.find((name) => !result[name])
  if (missing !== undefined) return `there is no ${missing}`
  for (const name of ['c', ...requested]) {
    const matrix = result[name]
    if (String(Array.from(matrix.shape)) !== String(expectedShape))
      return `${name} has the shape [${Array.from(matrix.shape)}], not [${expectedShape}]`
  }
  const at = placesIn(c)
  const besides = requested.map((name) => ({ name, data: result[name].data, places: placesIn(result[name]) }))
  // All other types have one zero.
  const hasTwoZeros = algebra.isFloat
  tally.products += batch
  for (const { item, rows, cols } of sample(random, problem, budget)) {
    const expected = define(problem, item, rows, cols, requested)
    const { values, inside } = expected
    tally.add(`${algebra.semiring} ${algebra.dtype}`, rows.length * cols.length, expected.steps)
    let index = -1
    for (let r = 0; r < rows.length; r++) {
      const i = rows[r]
      const row = at.first + item * at.byItem + i * at.byRow
      for (let s = 0; s < cols.length; s++) {
        index++
        const j = cols[s]
        const came = c.data[row + j * at.byCol]
        // A fast test, because nearly all elements are right. Only the others are examined.
        const isRight = came === values[index] && !(hasTwoZeros && came === 0) && inside[index] === 1
        const wrong = isRight
          ? undefined
          : inside[index]
            ? wrongValue(problem, came, expected, index)
            : wrongOutside(algebra, came, initial, (item * m + i) * n + j)
        if (wrong !== undefined) return `${nameOf(problem, item, i, j)} ${wrong} (K = ${k})`
        for (const { name, data, places } of besides) {
          const { first, byItem, byRow, byCol } = places
          const reported = data[first + item * byItem + i * byRow + j * byCol]
          const should = expected.beside[name][index]
          if (reported !== should)
            return `the ${name} of ${nameOf(problem, item, i, j)} is ${reported} and should be ${should}`
        }
      }
    }
  }
  return undefined
}

const nameOf = ({ batched }, item, i, j) => `C[${batched ? `${item}, ` : ''}${i}, ${j}]`

function placesIn({ shape, strides, offset = 0 }) {
  const [byItem, byRow, byCol] = shape.length === 3 ? strides : [0, ...strides]
  return { first: offset, byItem, byRow, byCol }
}

function wrongValue({ algebra }, came, { values, bounds, magnitudes }, index) {
  const should = values[index]
  if (algebra.exactBits ? Object.is(came, should) : came === should) return undefined
  if (bounds) {
    if (Number.isNaN(came) && Number.isNaN(should)) return undefined
    // The order of the sums isn't specified. It determines whether intermediate sums overflow.
    if (magnitudes[index] > (algebra.dtype === 'float32' ? 1e38 : 1e308)) return undefined
    if (Math.abs(came - should) <= bounds[index]) return undefined
  }
  return `is ${show(came)} and should be ${show(should)}`
}

/**
 * Returns the error of an element that isn't a result: such elements stay unchanged, and are zero in a new
 * matrix.
 */
function wrongOutside({ zero }, came, initial, index) {
  const should = initial ? initial.data[index] : zero
  return Object.is(came, should)
    ? undefined
    : `is no result, but is ${show(came)} in place of ${show(should)}`
}

/**
 * Describes a wrong error of a product; undefined if it is right. `variant`: a kernel was chosen. `aborts`: its signal is aborted.
 * `refuses`: memory is refused.
 */
export function wrongError(problem, error, random, budget, { variant, aborts, refuses }) {
  const { batch, m, k, n } = problem
  const allowed =
    (error.code === 'ERR_MPMML_VARIANT' && variant && batch * m * k * n > 0) ||
    (error.code === 'ERR_MPMML_ABORTED' && aborts) ||
    (error.code === 'ERR_MPMML_OUT_OF_MEMORY' && refuses)
  return allowed ? undefined : wrongRefusal(problem, error, random, budget)
}

/** Returns whether WebGPU rejected values that it can't compute exactly. */
export const isInexact = ({ code, message }) =>
  code === 'ERR_MPMML_OPTION' && /WebGPU can't compute .* exactly/.test(message)

/** Returns the error in the refusal of a product because of its values; undefined if the refusal is right. */
export function wrongRefusal(problem, error, random, budget, define = cells) {
  const { algebra, batched } = problem
  const { code, message } = error
  if (code === 'ERR_MPMML_OVERFLOW') {
    const found = /C\[(?:(\d+), )?(\d+), (\d+)\] is decided by the sum (-?\d+)/.exec(message)
    if (!algebra.isInteger || !['throw', undefined].includes(problem.overflow) || !found)
      return `ended with ${message}`
    const [item, i, j, sum] = found.slice(1).map((part) => Number(part ?? 0))
    if (batched !== (found[1] !== undefined) && problem.batch > 1) return `names no product: ${message}`
    const { values, leaves } = cells(problem, item, [i], [j])
    if (values[0] !== sum || leaves[0] === 0)
      return `names C[${item}, ${i}, ${j}] and ${sum}, but it is ${values[0]}`
    for (const part of sample(random, problem, budget)) {
      const expected = define(problem, part.item, part.rows, part.cols)
      for (let index = 0; index < expected.values.length; index++) {
        const [row, col] = [
          part.rows[Math.floor(index / part.cols.length)],
          part.cols[index % part.cols.length],
        ]
        const isBefore = part.item < item || (part.item === item && (row < i || (row === i && col < j)))
        if (isBefore && expected.leaves[index] === 1)
          return `names C[${item}, ${i}, ${j}], but C[${part.item}, ${row}, ${col}] overflows too`
      }
    }
    return undefined
  }
  if (code === 'ERR_MPMML_VALUE' && algebra.kind === 'product') return wrongNegative(problem, message)
  if (isInexact(error)) return undefined
  return `ended with ${code ?? 'an error without a code'}: ${message}`
}

/**
 * Returns the error in a refusal that names a negative element; undefined if the element is negative and
 * belongs to the product.
 */
function wrongNegative({ a, b, c0, structure }, message) {
  const found =
    /(a|b|accumulate|out|the matrix|d)\[(?:(\d+), )?(\d+), (\d+)\] is (-Infinity|-[\d.e+-]+)/.exec(message)
  if (!found) return `ended with ${message}`
  const [, name, item = 0, i, j, value] = found.map((part, at) =>
    at < 2 || part === undefined ? part : Number(part),
  )
  const [matrix, given] = { a: [a, structure?.a], b: [b, structure?.b], 'the matrix': [a], d: [b] }[name] ?? [
    c0,
    structure?.c,
  ]
  const came = matrix.data[(item * matrix.rows + i) * matrix.cols + j]
  if (!belongs(bandOf(given), i, j)) return `names an element that doesn't belong to the product: ${message}`
  const isNamed = came === value || Math.abs(came - value) <= 1e-5 * Math.abs(came)
  return came < 0 && isNamed ? undefined : `it is ${came}: ${message}`
}
