/** The products that every kernel variant of a semiring and element type computes: ragged shapes, zeros, values near overflow. */
import {
  type DataType,
  type DenseMatrix,
  type ElementArray,
  type MpmmOptions,
  matrix,
  type Semiring,
  type Shape,
  zeroOf,
} from '../../lib/index.js'
import { arrays, hasSums } from '../dtype.js'
import { Draw } from '../random.js'

/** Product with its options, except the variant. */
export interface KernelCase {
  /** Values and shape, for messages. */
  what: string
  a: DenseMatrix<ElementArray>
  b: DenseMatrix<ElementArray>
  options: { semiring: Semiring; overflow?: MpmmOptions['overflow']; accumulate?: DenseMatrix<ElementArray> }
}

/** Draws one element. */
type Element = (draw: Draw) => number

interface Kind {
  what: string
  a: Element
  b: Element
  /** Whether neighbours along K in B differ by exactly 1. */
  bounded?: boolean
  overflow?: MpmmOptions['overflow']
}

/**
 * M, K and N, the number of products in a batch, and whether C0 is accumulated. Some shapes exceed the tiles
 * of every family, and few are multiples of a tile.
 */
const shapes = [
  { m: 1, k: 1, n: 1, batch: 1 },
  { m: 5, k: 3, n: 7, batch: 1 },
  { m: 1, k: 300, n: 70, batch: 1 },
  { m: 67, k: 70, n: 1, batch: 1 },
  { m: 33, k: 17, n: 65, batch: 3 },
  { m: 64, k: 64, n: 64, batch: 1 },
  { m: 45, k: 77, n: 35, batch: 1, accumulates: true },
  { m: 131, k: 139, n: 197, batch: 1 },
]

const GREATEST_INT32 = 2 ** 31 - 1

/** Infinities, and finite numbers whose sums and products overflow, underflow or are rounded. */
const edges = {
  float32: [Infinity, (2 - 2 ** -23) * 2 ** 127, 2 ** 127, 2 ** -149, 2 ** -126, 2 ** 24 + 2, 0.1, 1, 0, -0],
  float64: [Infinity, Number.MAX_VALUE, 2 ** 1023, Number.MIN_VALUE, 2 ** -1022, 2 ** 53, 0.1, 1, 0, -0],
}

const between =
  (low: number, high: number): Element =>
  (draw) =>
    draw.integer(low, high)

/** Returns a generator that draws `zero` with a given probability, and otherwise calls `element`. */
const withZeros =
  (zero: number, probability: number, element: Element): Element =>
  (draw) =>
    draw.chance(probability) ? zero : element(draw)

function kindsOf(semiring: Semiring, dtype: DataType): Kind[] {
  const zero = zeroOf(semiring, dtype)
  const both = (what: string, element: Element, more: Partial<Kind> = {}): Kind => ({
    what,
    a: element,
    b: element,
    ...more,
  })
  if (dtype === 'uint8')
    return [
      both(
        'few true',
        withZeros(0, 0.9, () => 1),
      ),
      both('any bytes', between(0, 255)),
    ]
  // The semiring max-times has no negative elements.
  const low = (limit: number) => (semiring === 'max-times' ? 0 : -limit)
  const kinds = [
    both('few levels', withZeros(zero, 0.1, between(0, 15))),
    both('few levels without zeros', between(0, 15)),
    both('16-bit values', withZeros(zero, 0.1, between(low(8000), 8000))),
    both('mostly zeros', withZeros(zero, 0.9, between(low(100), 100))),
    // 300 steps down from 500 stay above 0: max-times has no negative elements.
    both('steps of 1 along K', between(500, 1000), { bounded: true }),
  ]
  if (dtype === 'int32') {
    const wide = between(-300_000_000, 300_000_000)
    const nearOverflow = withZeros(zero, 0.1, (draw) => {
      const inward = draw.integer(0, 9)
      return draw.pick([
        GREATEST_INT32 - inward,
        -GREATEST_INT32 + inward,
        inward,
        -(2 ** 30) - inward,
        2 ** 30,
      ])
    })
    const policies = hasSums(semiring) ? (['saturate', 'wrap', 'throw'] as const) : [undefined]
    return [
      ...kinds,
      both('any int32', withZeros(zero, 0.1, wide)),
      ...policies.map((overflow) =>
        both(`near overflow${overflow ? `, ${overflow}` : ''}`, nearOverflow, overflow ? { overflow } : {}),
      ),
    ]
  }
  // Plus-times excludes infinity, because the order in which its sums overflow is unspecified.
  const numbers = edges[dtype].filter((value) => semiring !== 'plus-times' || value < Infinity)
  const sign = (draw: Draw) => (semiring !== 'max-times' && draw.chance(0.5) ? -1 : 1)
  return [
    ...kinds,
    both('fractions', (draw) => sign(draw) * draw.share()),
    both(
      'near overflow',
      withZeros(zero, 0.1, (draw) => sign(draw) * draw.pick(numbers)),
    ),
  ]
}

function drawn(dtype: DataType, [batch, rows, cols]: Shape & { length: 3 }, element: Element, draw: Draw) {
  const data = Array.from({ length: batch * rows * cols }, () => element(draw))
  const shape: Shape = batch === 1 ? [rows, cols] : [batch, rows, cols]
  return matrix(shape, arrays[dtype].from(data)) as DenseMatrix<ElementArray>
}

/** Replaces each row except the first with the row above, plus or minus 1 per element. */
function boundDifferences({ data, shape }: DenseMatrix<ElementArray>, draw: Draw): void {
  const [rows, cols] = shape.slice(-2) as [number, number]
  for (let at = 0; at < data.length; at++)
    if (at % (rows * cols) >= cols) data[at] = data[at - cols]! + (draw.chance(0.5) ? 1 : -1)
}

/** Returns the cases of a semiring and element type, the same in every call. */
export function casesOf(semiring: Semiring, dtype: DataType): KernelCase[] {
  const draw = new Draw(48)
  return kindsOf(semiring, dtype).flatMap(({ what, a, b, bounded, overflow }) =>
    shapes.map(({ m, k, n, batch, accumulates }) => {
      const left = drawn(dtype, [batch, m, k], a, draw)
      const right = drawn(dtype, [batch, k, n], b, draw)
      if (bounded) boundDifferences(right, draw)
      const c0 = accumulates && drawn(dtype, [batch, m, n], a, draw)
      const size = `${batch > 1 ? `${batch} × ` : ''}${m}×${k}×${n}`
      return {
        what: `${what}, ${size}${c0 ? ' and C0' : ''}`,
        a: left,
        b: right,
        options: { semiring, ...(overflow ? { overflow } : {}), ...(c0 ? { accumulate: c0 } : {}) },
      }
    }),
  )
}
