/** Determines, from their values alone, the arithmetics in which products of int32 are exact. */
import { type Plain, translatedLimit } from './generators.js'
import { finiteRange, type SemiringName, zeroValue } from './oracle.js'

/** Returns the arithmetics in which the product of these operands is exact (docs/products.md), cheapest first. */
export function exactPaths(
  a: Plain,
  b: Plain,
  semiring: SemiringName,
  overflow: 'throw' | 'saturate' | 'wrap',
): string[] {
  const [least, most] = finiteRange(semiring)
  const limit = translatedLimit(semiring)
  const zero = zeroValue(semiring)
  /** Range of the finite elements at `from`, `from + step`, …. */
  const range = (data: Int32Array, from = 0, count = data.length, step = 1) => {
    let low = Number.POSITIVE_INFINITY
    let high = Number.NEGATIVE_INFINITY
    let hasZero = false
    for (let at = from, left = count; left > 0; left--, at += step) {
      const value = data[at]!
      if (value === zero) hasZero = true
      else {
        if (value < low) low = value
        if (value > high) high = value
      }
    }
    return { low, high, hasZero, spread: Math.max(high - low, 0) }
  }
  /**
   * Greatest range in a line, which is a row or a column, and in 32 neighbours of a line. Also whether a line
   * has ε next to other elements.
   */
  const inLines = ({ data, shape }: Plain, side: 'A' | 'B') => {
    const [rows, cols] = shape.slice(-2) as [number, number]
    const [length, step] = side === 'A' ? [cols, 1] : [rows, cols]
    let [spread, chunkSpread, hasZero] = [0, 0, false]
    for (let line = 0; line < data.length / length; line++) {
      const first = side === 'A' ? line * cols : Math.floor(line / cols) * rows * cols + (line % cols)
      const whole = range(data, first, length, step)
      if (whole.low > whole.high) continue
      spread = Math.max(spread, whole.spread)
      hasZero ||= whole.hasZero
      for (let k = 0; k < length; k += 32) {
        const chunk = range(data, first + k * step, Math.min(32, length - k), step)
        chunkSpread = Math.max(chunkSpread, chunk.spread)
      }
    }
    return { spread, chunkSpread, hasZero }
  }
  const [x, y] = [range(a.data), range(b.data)]
  const [rows, columns] = [inLines(a, 'A'), inLines(b, 'B')]
  // If one operand has no finite value, there are no sums: the comparisons with infinities are then true.
  const fits = !(x.low + y.low < least) && !(x.high + y.high > most)
  const wraps = overflow === 'wrap'
  const always = wraps ? 'wrapping' : 'wide'
  // Floats have 254 exponents, of which a level takes 6 or 5. Sums can have 41 or 49 levels then, and one
  // operand 31 or 37.
  const levels = (one: number, both: number) =>
    fits &&
    x.low <= x.high &&
    y.low <= y.high &&
    ((!rows.hasZero && rows.spread <= one) ||
      (!columns.hasZero && columns.spread <= one) ||
      (Math.max(rows.spread, columns.spread) <= one && rows.spread + columns.spread <= both))
  // One operand has no ε and at most 31 levels within chunks. Distances have 6 exponents per level; twice the
  // distances of this operand plus the distances of the other must fit in 31 bits.
  const bounded = (hasZero: boolean, own: typeof rows, other: typeof rows) =>
    fits &&
    x.low <= x.high &&
    y.low <= y.high &&
    !hasZero &&
    own.chunkSpread <= 31 &&
    6 * (2 * own.spread + other.spread) + 256 < 2 ** 31
  const exponents = [
    ...(levels(31, 41) ? ['exponent'] : []),
    ...(levels(37, 49) ? ['exponent-wide'] : []),
    ...(bounded(x.hasZero, rows, columns) || bounded(y.hasZero, columns, rows) ? ['exponent-bounded'] : []),
  ]
  if (x.hasZero || y.hasZero) {
    const withinLimit = Math.min(x.low, y.low) >= -limit && Math.max(x.high, y.high) <= limit
    const byte = fits && Math.max(x.spread, y.spread) <= 63
    const half = fits && Math.max(x.spread, y.spread) <= 16383
    return [
      ...exponents,
      ...(byte ? ['byte-translated'] : []),
      ...(half ? ['half-translated'] : []),
      ...(withinLimit ? ['translated'] : []),
      always,
    ]
  }
  const byte = fits && x.spread + y.spread <= 255
  const half = fits && x.spread + y.spread <= 65535
  const narrow = [...(byte ? ['byte'] : []), ...(half ? ['half'] : [])]
  return [...exponents, ...narrow, ...(fits || wraps ? ['direct'] : []), always]
}
