/**
 * Products with more rows, columns or batch entries than a grid has tiles. They are launched in parts, each with its part of the
 * structure, C0 and the position of an overflow.
 */
import { expect, it } from 'vitest'
import { EPSILON, matrix, mpmmSync, variants } from '../../lib/index.js'
import { expectError, thrown } from '../support/expect.js'
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'

const reason = withoutCuda()

/** More rows or columns than 65 535 tiles of 32 have. */
const MANY = 2_200_000
const UNTOUCHED = 77

const named = (family: string, semiring: string, dtype: string) =>
  variants()
    .filter((row) => row.backend === 'cuda' && row.semiring === semiring && row.dtype === dtype)
    .filter(({ name }) => name.startsWith(`${family}_`))
    .map(({ name }) => name)

/** First element that differs from `value`. */
function mismatch(data: ArrayLike<number>, cols: number, value: (row: number, col: number) => number) {
  for (let index = 0; index < data.length; index++) {
    const [row, col] = [Math.floor(index / cols), index % cols]
    const expected = value(row, col)
    if (data[index] !== expected) return `C[${row}, ${col}] is ${data[index]} and should be ${expected}`
  }
  return undefined
}

interface Product {
  c: { data: Int32Array | Float32Array }
  witness?: { data: Int32Array }
}
/** mpmmSync with options that are only known at run time. */
const multiply = (a: object, b: object, options: object) =>
  mpmmSync(a as never, b as never, { backend: 'cuda', ...options } as never) as unknown as Product

describeUnless(reason, 'cuda', () => {
  const small = reason === undefined ? named('small', 'max-plus', 'int32') : []
  const floats = reason === undefined ? named('small', 'max-plus', 'float32') : []
  const a = (row: number, k: number) => ((row * 7 + k * 13) % 1009) - 500
  const b = (k: number, col: number) => ((k * 31 + col * 17) % 997) - 400

  /** Greatest of the sums over these steps, and of c0. */
  const best = (row: number, col: number, first: number, end: number, c0: number) => {
    let sum = c0
    for (let k = first; k < end; k++) sum = Math.max(sum, a(row, k) + b(k, col))
    return sum
  }
  const filled = <Data extends Int32Array | Float32Array>(
    data: Data,
    rows: number,
    cols: number,
    value: (row: number, col: number) => number,
  ) => {
    for (let index = 0; index < data.length; index++) {
      data[index] = value(Math.floor(index / cols), index % cols)
    }
    return { data, shape: [rows, cols] as [number, number] }
  }

  it.each(small.map((name) => [name] as const))('computes %s: rows, with a structure of C', (variant) => {
    const [m, k, n] = [MANY, 3, 5]
    // In the last rows an upper triangle would be empty, and a lower triangle full.
    const above = m - 1000
    for (const c of ['lower', { band: [m, 2] }, { band: [above, -above] }] as const) {
      const out = matrix(m, n, new Int32Array(m * n).fill(UNTOUCHED))
      const [left, right] = [filled(new Int32Array(m * k), m, k, a), filled(new Int32Array(k * n), k, n, b)]
      multiply(left, right, { variant, structure: { c }, out })
      const belongs = (row: number, col: number) =>
        c === 'lower' ? col <= row : col - row >= -c.band[0] && col - row <= c.band[1]
      const value = (row: number, col: number) =>
        belongs(row, col) ? best(row, col, 0, k, EPSILON) : UNTOUCHED
      expect(mismatch(out.data, n, value)).toBeUndefined()
    }
  })

  it.each(small.map((name) => [name] as const))(
    'computes %s: rows, with a structure of A and C0',
    (variant) => {
      const [m, k, n] = [MANY, 4, 3]
      const last = 2_199_990
      const [left, right] = [filled(new Int32Array(m * k), m, k, a), filled(new Int32Array(k * n), k, n, b)]
      const c0 = (row: number) => -600 + (row % 5)
      const accumulate = filled(new Int32Array(m * n), m, n, c0)
      // Only the last rows of A have elements: the band begins at a diagonal far below the main one.
      const structure = { a: { band: [MANY, -last] } }
      const { c } = multiply(left, right, { variant, structure, accumulate })
      const value = (row: number, col: number) => {
        const steps = Math.max(0, Math.min(k, row - last + 1))
        return best(row, col, 0, steps, c0(row))
      }
      expect(mismatch(c.data, n, value)).toBeUndefined()
    },
  )

  it.each(floats.map((name) => [name] as const))(
    'computes %s: columns, with a structure of C and C0',
    (variant) => {
      const [m, k, n] = [3, 2, MANY]
      const [left, right] = [
        filled(new Float32Array(m * k), m, k, a),
        filled(new Float32Array(k * n), k, n, b),
      ]
      const c0 = (row: number, col: number) => (row + col) % 1500
      const out = filled(new Float32Array(m * n), m, n, c0)
      multiply(left, right, { variant, structure: { c: 'upper' }, accumulate: out, out })
      const value = (row: number, col: number) =>
        col >= row ? best(row, col, 0, k, c0(row, col)) : c0(row, col)
      expect(mismatch(out.data, n, value)).toBeUndefined()
    },
  )

  it.each(small.map((name) => [name] as const))('computes %s: the position of an overflow', (variant) => {
    const [m, n] = [MANY, 3]
    const rows = new Int32Array(m)
    rows[m - 2] = 2 ** 31 - 1
    const a = matrix(m, 1, rows)
    const b = matrix(1, n, Int32Array.of(0, 0, 1))
    const error = thrown(() => mpmmSync(a, b, { backend: 'cuda', variant })) as { code?: string }
    if (error.code === 'ERR_MPMML_VARIANT') return
    expectError(error, 'OVERFLOW', new RegExp(`C\\[${m - 2}, 2\\] is decided by the sum 2147483648,`))
  })

  // First variant of each family in the table of variants.
  const families = new Map(
    reason === undefined
      ? variants()
          .filter((row) => row.backend === 'cuda' && row.semiring === 'max-plus' && row.dtype === 'int32')
          .map(({ name }) => [name.split('_')[0], name] as const)
          .reverse()
      : [],
  )
  it.each([...families.values()].map((name) => [name] as const))(
    'computes %s: batch entries, with C0',
    (variant) => {
      const [batch, m, k, n] = [66_000, 3, 2, 3]
      const shape = (rows: number, cols: number) => [batch, rows, cols] as [number, number, number]
      const of = (rows: number, cols: number, value: (item: number, row: number, col: number) => number) =>
        Int32Array.from({ length: batch * rows * cols }, (_, index) =>
          value(Math.floor(index / rows / cols), Math.floor(index / cols) % rows, index % cols),
        )
      const c0 = (item: number, row: number) => (item % 7) + row
      const left = { data: of(m, k, (item, row, step) => (item + row + step) % 3), shape: shape(m, k) }
      const right = { data: of(k, n, (item, step, col) => (item + 2 * step + col) % 4), shape: shape(k, n) }
      const accumulate = { data: of(m, n, (item, row) => c0(item, row)), shape: shape(m, n) }
      const run = (options: object) => multiply(left, right, { variant, accumulate, ...options })
      const expected = (item: number, row: number, col: number) => {
        let [sum, witness] = [EPSILON, -1]
        for (let step = 0; step < k; step++) {
          const candidate = left.data[(item * m + row) * k + step]! + right.data[(item * k + step) * n + col]!
          if (candidate > sum) [sum, witness] = [candidate, step]
        }
        const before = c0(item, row)
        return before > sum ? { value: before, witness: -1 } : { value: sum, witness }
      }
      const check = (options: { witness?: boolean; structure?: object }) => {
        const { c, witness } = run(options)
        for (let index = 0; index < c.data.length; index++) {
          const [item, row, col] = [Math.floor(index / m / n), Math.floor(index / n) % m, index % n]
          const inside = !options.structure || col <= row
          const { value, witness: step } = expected(item, row, col)
          if (c.data[index] !== (inside ? value : EPSILON)) {
            expect.fail(
              `C[${item}, ${row}, ${col}] is ${c.data[index]} and should be ${inside ? value : EPSILON}`,
            )
          }
          if (witness && witness.data[index] !== (inside ? step : -1)) {
            expect.fail(`the witness of C[${item}, ${row}, ${col}] is ${witness.data[index]}`)
          }
        }
      }
      const attempt = (options: object) => {
        try {
          check(options)
        } catch (error) {
          // Not every family runs on every GPU.
          if ((error as { code?: string }).code !== 'ERR_MPMML_VARIANT') throw error
        }
      }
      attempt({})
      attempt({ structure: { c: 'lower' } })
      attempt({ witness: true })
      attempt({ witness: true, structure: { c: 'lower' } })
    },
  )
})
