/**
 * The oracle of the fuzzer: computes selected elements of a product from the definition of its algebra. It
 * uses float64, which represents every sum of two int32 and every product of two float32 exactly. It shares
 * no code with the library.
 */
import { meant } from './algebra.mjs'
import { bandOf, belongs } from './structures.mjs'

/** Finite sums modulo 2^32; one that wraps onto the value of zero is zero. */
function wrappedSum(x, y, from, to, ahead, start, _, { zero }) {
  let best = start
  for (let k = from; k < to; k++) {
    const exact = x[k] + y[k + ahead]
    if (exact === Infinity || exact === -Infinity) continue
    const candidate = exact | 0
    if (candidate !== zero && (zero < 0 ? candidate > best : candidate < best)) best = candidate
  }
  return best
}

const clamped = (x, { least, most }) => Math.min(Math.max(x, least), most)

// Returns the smallest k from `from` on whose stored candidate is `best`; −1 if there is none. There is one
// loop for each storage rule, because auxiliary outputs spend their time here. A NaN is no candidate, and no
// comparison with a NaN is true.

function firstSum(x, y, from, to, ahead, best) {
  for (let k = from; k < to; k++) if (x[k] + y[k + ahead] === best) return k
  return -1
}

function firstRoundedSum(x, y, from, to, ahead, best) {
  for (let k = from; k < to; k++) if (Math.fround(x[k] + y[k + ahead]) === best) return k
  return -1
}

function firstSaturatedSum(x, y, from, to, ahead, best, algebra) {
  for (let k = from; k < to; k++) {
    const exact = x[k] + y[k + ahead]
    if (exact !== Infinity && exact !== -Infinity && clamped(exact, algebra) === best) return k
  }
  return -1
}

function firstWrappedSum(x, y, from, to, ahead, best) {
  for (let k = from; k < to; k++) {
    const exact = x[k] + y[k + ahead]
    // `best` isn't zero: a sum that wraps onto zero is no candidate.
    if (exact !== Infinity && exact !== -Infinity && (exact | 0) === best) return k
  }
  return -1
}

function firstProduct(x, y, from, to, ahead, best) {
  for (let k = from; k < to; k++) if (x[k] * y[k + ahead] === best) return k
  return -1
}

function firstRoundedProduct(x, y, from, to, ahead, best) {
  for (let k = from; k < to; k++) if (Math.fround(x[k] * y[k + ahead]) === best) return k
  return -1
}

function firstLeast(x, y, from, to, ahead, best) {
  for (let k = from; k < to; k++) {
    const p = x[k]
    const q = y[k + ahead]
    if ((p === best && q >= best) || (q === best && p >= best)) return k
  }
  return -1
}

function firstGreatest(x, y, from, to, ahead, best) {
  for (let k = from; k < to; k++) {
    const p = x[k]
    const q = y[k + ahead]
    if ((p === best && q <= best) || (q === best && p <= best)) return k
  }
  return -1
}

function firstOf({ kind, isInteger, dtype }, overflow) {
  if (kind === 'least') return firstLeast
  if (kind === 'greatest') return firstGreatest
  const isRounded = dtype === 'float32'
  if (kind === 'product') return isRounded ? firstRoundedProduct : firstProduct
  if (isInteger && overflow === 'saturate') return firstSaturatedSum
  if (isInteger && overflow === 'wrap') return firstWrappedSum
  return isRounded ? firstRoundedSum : firstSum
}

/**
 * Auxiliary outputs of a product. `next(k)` is the first step from k on whose candidate is the result, and −1
 * if there is none. `none` is the output for elements that are zero or aren't results.
 */
export const further = {
  witness: { none: -1, of: (next) => next(0) },
}

/**
 * Returns a contiguous copy of lines of a row-major matrix (rows, or columns if `across`), with elements converted to
 * the numbers that they represent, such as −Infinity for the zero of max-plus.
 */
function gather({ data, batch, rows, cols }, item, lines, across, algebra) {
  const first = (batch === 1 ? 0 : item) * rows * cols
  const length = across ? rows : cols
  const [step, next] = across ? [cols, 1] : [1, cols]
  const values = new Float64Array(lines.length * length)
  let to = 0
  for (let line = 0; line < lines.length; line++) {
    let from = first + lines[line] * next
    for (let k = 0; k < length; k++, from += step) values[to++] = data[from]
  }
  return meant(values, algebra)
}

/**
 * Returns the elements of C0 ⊕ A⊗B in the given rows and columns of one product of a batch, row by row. A
 * problem has row-major matrices a, b and c0 (or null), as { data, batch, rows, cols }, an algebra, overflow
 * and a structure.
 *
 * `values` are the stored values, except that under 'throw' a sum outside of the finite range is returned and
 * marked by a 1 in `leaves`. `inside` is 0 if the element isn't a result. `beside` has the `requested` auxiliary
 * outputs by name. In plus-times, `bounds` are the error bounds of the results, and `magnitudes` the sums of
 * the magnitudes of finite products.
 */
export function cells(problem, item, rows, cols, requested = []) {
  const { algebra, a, b, c0, overflow, structure } = problem
  const [x, y] = [gather(a, item, rows, false, algebra), gather(b, item, cols, true, algebra)]
  const z = c0 && gather(c0, item, rows, false, algebra)
  const [bandA, bandB, bandC] = ['a', 'b', 'c'].map((name) => bandOf(structure?.[name]))
  const count = rows.length * cols.length
  const values = new Float64Array(count)
  const inside = new Uint8Array(count)
  const leaves = new Uint8Array(count)
  const throws = algebra.isInteger && overflow !== 'saturate' && overflow !== 'wrap'
  const isOrdinary = algebra.kind === 'ordinary'
  const beside = Object.fromEntries(
    requested.map((name) => [name, new Int32Array(count).fill(further[name].none)]),
  )
  const bounds = isOrdinary ? new Float64Array(count) : null
  const magnitudes = isOrdinary ? new Float64Array(count) : null
  const magnitude = new Float64Array(1)
  const find = firstOf(algebra, overflow)
  const depth = a.cols
  const [unit, tiny] = algebra.dtype === 'float32' ? [2 ** -24, 2 ** -149] : [2 ** -52, 2 ** -1074]
  const fold = algebra.isInteger && overflow === 'wrap' ? wrappedSum : algebra.fold
  const { none, zero } = algebra
  const [isInteger, isSingle] = [algebra.isInteger, algebra.dtype === 'float32' && !isOrdinary]
  let index = -1
  let steps = 0
  for (let r = 0; r < rows.length; r++) {
    const i = rows[r]
    for (let s = 0; s < cols.length; s++) {
      index++
      const j = cols[s]
      let first = r * depth
      let last = first + depth
      if (structure) {
        if (!belongs(bandC, i, j)) continue
        // Range of k in which the elements of A's row and B's column are inside of their bands.
        const from = Math.max(0, i - bandA[0], j - bandB[1])
        const to = Math.max(from, Math.min(depth, i + bandA[1] + 1, j + bandB[0] + 1))
        last = first + to
        first += from
      }
      inside[index] = 1
      let start = z ? z[r * c0.cols + j] : none
      if (Number.isNaN(start) && !isOrdinary) start = none
      const ahead = (s - r) * depth
      steps += last - first
      let best = fold(x, y, first, last, ahead, start, magnitude, algebra)
      if (isOrdinary) {
        magnitudes[index] = magnitude[0]
        bounds[index] = (depth + 2) * (2 * unit * magnitude[0] + tiny)
      }
      if (isSingle) best = Math.fround(best)
      if (isInteger && best !== none) {
        if (overflow === 'saturate') best = clamped(best, algebra)
        if (throws && best !== clamped(best, algebra)) leaves[index] = 1
      }
      if (best !== none) {
        const next = (k) => {
          const found = find(x, y, Math.max(first, r * depth + k), last, ahead, best, algebra)
          return found < 0 ? -1 : found - r * depth
        }
        for (const name of requested) beside[name][index] = further[name].of(next)
      }
      values[index] = best === none ? zero : best
    }
  }
  return { values, inside, leaves, beside, bounds, magnitudes, steps }
}
