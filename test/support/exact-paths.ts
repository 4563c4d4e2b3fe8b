/** The paths on which products of int32 are exact, from their values alone. */
import { type Plain, translatedLimit } from './generators.js'
import { finiteRange, type SemiringName, zeroValue } from './oracle.js'

/** The paths on which the product of these operands is exact (docs/products.md), cheapest first. */
export function exactPaths(
  a: Plain,
  b: Plain,
  semiring: SemiringName,
  overflow: 'throw' | 'saturate' | 'wrap',
): string[] {
  const [least, most] = finiteRange(semiring)
  const limit = translatedLimit(semiring)
  const range = (data: Iterable<number>) => {
    let low = Number.POSITIVE_INFINITY
    let high = Number.NEGATIVE_INFINITY
    let hasZero = false
    for (const value of data) {
      if (value === zeroValue(semiring)) hasZero = true
      else {
        low = Math.min(low, value)
        high = Math.max(high, value)
      }
    }
    return { low, high, hasZero, spread: Math.max(high - low, 0) }
  }
  /** The greatest spread in a row or a column, and in 32 neighbours there; whether a line has ε beside other elements. */
  const inLines = ({ data, shape }: Plain, side: 'A' | 'B') => {
    const [rows, cols] = shape.slice(-2) as [number, number]
    const lines = new Map<number, number[]>()
    for (const [index, value] of data.entries()) {
      const line =
        side === 'A' ? Math.floor(index / cols) : Math.floor(index / cols / rows) * cols + (index % cols)
      if (!lines.has(line)) lines.set(line, [])
      lines.get(line)!.push(value)
    }
    const ranges = [...lines.values()].map(range).filter(({ low, high }) => low <= high)
    const chunks = [...lines.values()].flatMap((line) =>
      Array.from({ length: Math.ceil(line.length / 32) }, (_, chunk) =>
        range(line.slice(chunk * 32, chunk * 32 + 32)),
      ),
    )
    return {
      spread: Math.max(0, ...ranges.map(({ spread }) => spread)),
      chunkSpread: chunks.reduce((most, { spread }) => Math.max(most, spread), 0),
      hasZero: ranges.some(({ hasZero }) => hasZero),
    }
  }
  const [x, y] = [range(a.data), range(b.data)]
  const [rows, columns] = [inLines(a, 'A'), inLines(b, 'B')]
  // Without a finite value on one side there are no sums: these comparisons are with infinities, and hold.
  const fits = !(x.low + y.low < least) && !(x.high + y.high > most)
  const wraps = overflow === 'wrap'
  const always = wraps ? 'wrapping' : 'wide'
  // Floats have 254 exponents. With s of them per level, sums of s = 6 and s = 5 have room for 41 and 49 levels, and an
  // operand for 31 and 37.
  const levels = (one: number, both: number) =>
    fits &&
    x.low <= x.high &&
    y.low <= y.high &&
    ((!rows.hasZero && rows.spread <= one) ||
      (!columns.hasZero && columns.spread <= one) ||
      (Math.max(rows.spread, columns.spread) <= one && rows.spread + columns.spread <= both))
  // One operand has no ε and at most 31 levels within chunks. Distances of 6 exponents per level fit 31 bits: those of both
  // operands, and once more those of this one.
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
