/** Residuals, compared with their definition element by element, and published examples. */
import { describe, expect, it } from 'vitest'
import type { SumSemiring } from '../../lib/algebra/weights.js'
import { greatestSubsolution, leftResidual, type ResidualOptions, rightResidual } from '../../lib/algebra.js'
import { EPSILON, type Matrix, type MatrixLike, matrix, openDevice, zeroOf } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { Random } from '../support/generators.js'

type Rows = number[][]

const e = -Infinity
const top = Infinity
const TOP = 2 ** 31 - 1

/** a ⊗ b in max-plus with ⊤, where ε absorbs. */
const times = (a: number, b: number) => (a === e || b === e ? e : a + b)

/** Greatest x with a ⊗ x ≤ b. */
function quotient(b: number, a: number): number {
  if (a === e || b === top) return top
  if (a === top) return e
  return b === e ? e : b - a
}

/** A \ B by its definition, the greatest X with A ⊗ X ≤ B. */
const left = (a: Rows, b: Rows, n: number, p: number): Rows =>
  Array.from({ length: n }, (_, i) =>
    Array.from({ length: p }, (_, j) => Math.min(...a.map((row, k) => quotient(b[k]![j]!, row[i]!)))),
  )

const transposed = (rows: Rows, cols: number): Rows =>
  Array.from({ length: cols }, (_, j) => rows.map((row) => row[j]!))

/** Value of a stored int32 element in max-plus; elements of min-plus are negated. */
const meaning = (value: number, semiring: SumSemiring): number => {
  if (semiring === 'max-plus') return value === EPSILON ? e : value
  return value === TOP ? e : -value
}

/** Stored form of a value; ⊤ and ε have special values. */
const stored = (value: number, semiring: SumSemiring): number => {
  const [least, most] = [-(2 ** 31), TOP]
  if (semiring === 'max-plus') return value === e ? least : value === top ? most : value
  return value === e ? most : value === top ? least : -value + 0
}

const rowsOf = ({ data, shape: [rows, cols] }: Matrix<Int32Array | Float32Array | Float64Array>): Rows =>
  Array.from({ length: rows }, (_, i) => Array.from({ length: cols! }, (_, j) => data[i * cols! + j]!))

const kinds: [string, (random: Random, zero: number) => number][] = [
  ['small', (random) => random.integer(-9, 9)],
  ['with zeros', (random, zero) => (random.chance(0.5) ? zero : random.integer(-9, 9))],
  ['mostly zeros', (random, zero) => (random.chance(0.85) ? zero : random.integer(-9, 9))],
  [
    'halves of int32',
    (random, zero) => (random.chance(0.1) ? zero : random.integer(-(2 ** 30) + 1, 2 ** 30 - 1)),
  ],
]

describe.each<SumSemiring>(['max-plus', 'min-plus'])('%s', (semiring) => {
  describe.each(kinds)('%s', (name, element) => {
    const random = new Random(name.length + semiring.length)
    const zero = zeroOf(semiring)
    it.each(Array.from({ length: 30 }, (_, index) => index))(
      'have the residuals of the definition: matrices %i',
      async (index) => {
        const [m, n, p] = [
          random.integer(index % 5 === 0 ? 0 : 1, 5),
          random.integer(1, 5),
          random.integer(1, 5),
        ]
        const make = (rows: number, cols: number) =>
          matrix(
            rows,
            cols,
            Int32Array.from({ length: rows * cols }, () => element(random, zero)),
          )
        const [a, b] = [make(m, n), make(m, p)]
        const mean = (value: number) => meaning(value, semiring)
        const [rowsA, rowsB] = [a, b].map((one) => rowsOf(one).map((row) => row.map(mean))) as [Rows, Rows]
        const expected = left(rowsA, rowsB, n, p)
        const { c, backend } = await leftResidual(a, b, { semiring })
        expect(c.shape).toEqual([n, p])
        expect(backend).toMatch(/^(cpu|cuda)$/)
        expect([...c.data]).toEqual(expected.flat().map((value) => stored(value, semiring)))

        // By definition X is a solution, and no greater matrix is one.
        const product = (x: Rows, i: number, j: number) =>
          rowsA[i]!.reduce((sum, own, k) => Math.max(sum, times(own, x[k]![j]!)), e)
        const isSolution = (x: Rows) =>
          rowsB.every((row, i) => row.every((value, j) => product(x, i, j) <= value))
        expect(isSolution(expected)).toBe(true)
        for (let i = 0; i < n; i++) {
          for (let j = 0; j < p; j++) {
            if (expected[i]![j] === top) continue
            const greater = expected.map((row) => [...row])
            greater[i]![j] = expected[i]![j] === e ? -(2 ** 40) : expected[i]![j]! + 1
            expect(isSolution(greater)).toBe(false)
          }
        }

        // X ⊗ B ≤ A is equivalent to Bᵀ ⊗ Xᵀ ≤ Aᵀ.
        const turn = ({ data, shape: [rows, cols] }: Matrix): MatrixLike => ({
          data,
          shape: [cols!, rows],
          strides: [1, cols!],
        })
        const right = await rightResidual(turn(b), turn(a), { semiring })
        expect(right.c.shape).toEqual([p, n])
        expect([...right.c.data]).toEqual(
          transposed(expected, p)
            .flat()
            .map((value) => stored(value, semiring)),
        )

        const { x, solves } = await greatestSubsolution(a, b, { semiring })
        expect(x.data).toEqual(c.data)
        expect(solves).toBe(
          rowsB.every((row, i) => row.every((value, j) => product(expected, i, j) === value)),
        )
        // A ⊗ X = B has a solution if B is a product of A.
        const y = expected.map((row) => row.map(() => random.integer(-3, 3)))
        const created = Int32Array.from(
          rowsA.flatMap((_, i) => Array.from({ length: p }, (_, j) => stored(product(y, i, j), semiring))),
        )
        expect(await greatestSubsolution(a, matrix(m, p, created), { semiring })).toMatchObject({
          solves: true,
        })

        for (const Type of [Float64Array, Float32Array]) {
          if (Type === Float32Array && name.startsWith('halves')) continue
          const float = (one: Matrix) =>
            matrix(
              one.shape[0],
              one.shape[1]!,
              new Type(one.data).map((value, at) =>
                one.data[at] === zero ? zeroOf(semiring, 'float64') : value,
              ),
            )
          const result = await greatestSubsolution(float(a), float(b), { semiring })
          expect([...result.x.data].map((value) => value + 0)).toEqual(
            expected.flat().map((value) => (semiring === 'max-plus' ? value : -value + 0)),
          )
          expect(result.solves).toBe(solves)
        }
      },
    )
  })
})

describe('residuals of values at the ends of int32', () => {
  const at = (value: number) => matrix(1, 1, [value])

  it.each([
    [0, 2 ** 31 - 2],
    [-1, 2 ** 31 - 3],
    [1, -(2 ** 31) + 2],
    [2 ** 31 - 1, 0],
    [2 ** 31 - 1, 2 ** 31 - 1],
    [-(2 ** 31) + 1, -(2 ** 31) + 1],
    [-(2 ** 31) + 1, -1],
    [EPSILON, EPSILON],
    [EPSILON, 2 ** 31 - 1],
    [5, EPSILON],
  ])('have the value of the definition: %i \\ %i', async (a, b) => {
    const { c } = await leftResidual(at(a), at(b))
    expect(c.data[0]).toBe(stored(quotient(meaning(b, 'max-plus'), meaning(a, 'max-plus')), 'max-plus'))
  })

  it.each([
    [-1, 2 ** 31 - 2],
    [0, 2 ** 31 - 1],
    [1, -(2 ** 31) + 1],
    [-(2 ** 31) + 1, 2 ** 31 - 1],
    [2 ** 31 - 1, -(2 ** 31) + 1],
  ])('exceed int32: %i \\ %i', async (a, b) => {
    await expect(leftResidual(at(a), at(b))).rejects.toEqual(
      coded('OVERFLOW', new RegExp(`^element \\[0, 0\\] of the residual is ${b - a}, outside`)),
    )
    const saturated = await leftResidual(at(a), at(b), { overflow: 'saturate' })
    expect(saturated.c.data[0]).toBe(b < a ? -(2 ** 31) + 1 : 2 ** 31 - 2)
    const wrapped = await leftResidual(at(a), at(b), { overflow: 'wrap' })
    expect(wrapped.c.data[0]).toBe((b - a) | 0)
    expect(await greatestSubsolution(at(a), at(b), { overflow: 'saturate' })).toMatchObject({ solves: false })
  })

  it('have the values of the definition for ⊤ in floats, and ⊤ for NaN', async () => {
    const value = async (a: number, b: number) => {
      const { x, solves } = await greatestSubsolution(
        matrix(1, 1, Float64Array.of(a)),
        matrix(1, 1, Float64Array.of(b)),
      )
      return [x.data[0], solves]
    }
    expect(await value(top, 3)).toEqual([e, false])
    expect(await value(top, e)).toEqual([e, true])
    expect(await value(top, top)).toEqual([top, true])
    expect(await value(3, top)).toEqual([top, true])
    expect(await value(e, top)).toEqual([top, false])
    expect(await value(NaN, 3)).toEqual([top, false])
  })

  it('solve a row whose ⊤ is the product of ⊤ in A and a finite unknown', async () => {
    for (const Type of [Float32Array, Float64Array]) {
      const a = matrix(2, 1, Type.of(top, 0))
      expect(await greatestSubsolution(a, matrix(2, 1, Type.of(top, 5)))).toMatchObject({
        x: { data: Type.of(5) },
        solves: true,
      })
    }
  })
})

describe('published examples', () => {
  const _ = EPSILON
  it('include maxpluslinsol of Scilab', async () => {
    const a = matrix(
      6,
      4,
      [
        [_, 3, _, _],
        [2, _, 6, _],
        [_, 7, 8, 9],
        [_, _, _, 1],
        [8, _, 7, _],
        [0, _, _, 6],
      ].flat(),
    )
    const { x, solves } = await greatestSubsolution(a, matrix(6, 1, [1, 2, 5, -6, 4, -1]))
    expect([...x.data]).toEqual([-4, -2, -4, -7])
    expect(solves).toBe(true)
  })

  it.each([
    [[2, 2, 3], [-1, 1, 1], true],
    [[1, 1, 1], [-2, 0, -1], true],
    [[3, 2, 1], [0, 0, -1], false],
  ])('include maxplusdesc of Scilab: b = %j', async (b, expected, solvable) => {
    const a = matrix(3, 3, [3, _, 0, 1, 1, 0, _, 1, 2])
    const { x, solves } = await greatestSubsolution(a, matrix(3, 1, b))
    expect([...x.data]).toEqual(expected)
    expect(solves).toBe(solvable)
  })

  it('include A \\ B of the MaxPlus.jl documentation', async () => {
    const a = matrix(3, 3, [_, 1, _, 2, _, _, _, _, 3])
    const b = matrix(3, 3, [3, _, _, _, _, 4, _, 5, _])
    expect([...(await leftResidual(a, b)).c.data]).toEqual([_, _, 2, 2, _, _, _, 2, _])
    expect([...(await leftResidual(a, a)).c.data]).toEqual([0, _, _, _, 0, _, _, _, 0])
  })
})

describe('operands', () => {
  const a = matrix(2, 2, [3, 7, 2, 4])
  const b = matrix(2, 1, [7, 3])

  it('may be batches', async () => {
    const batch = matrix([2, 2, 2], [3, 7, 2, 4, 0, 0, 0, 0])
    const { c } = await leftResidual(batch, b)
    expect(c.shape).toEqual([2, 2, 1])
    expect([...c.data]).toEqual([1, -1, 3, 3])
    expect([...(await leftResidual(a, matrix([2, 2, 1], [7, 3, 3, 7]))).c.data]).toEqual([1, -1, 0, -4])
    await expect(leftResidual(batch, matrix([3, 2, 1]))).rejects.toEqual(
      coded('SHAPE', /batches of one size/),
    )
    await expect(greatestSubsolution(batch, b)).rejects.toEqual(coded('SHAPE', /a must be one matrix/))
  })

  it('are named by the entry of a batch in which a difference exceeds int32', async () => {
    const negated = matrix([3, 1, 1], [5, -1, -1])
    await expect(leftResidual(negated, matrix([3, 1, 1], [0, 0, 2 ** 31 - 2]))).rejects.toEqual(
      coded('OVERFLOW', /^element \[2, 0, 0\] of the residual is 2147483647/),
    )
  })

  it('may be int16, with the zeros of int16', async () => {
    const half = { data: Int16Array.of(3, -(2 ** 15), 2, 4), shape: [2, 2] }
    expect([...(await leftResidual(half, b)).c.data]).toEqual([1, -1])
    const right = { data: Int16Array.of(7, 2 ** 15 - 1), shape: [2, 1] }
    expect([...(await leftResidual(a, right)).c.data]).toEqual([4, 0])
    const least = { data: Int16Array.of(7, -(2 ** 15)), shape: [2, 1] }
    expect([...(await leftResidual(a, least)).c.data]).toEqual([EPSILON, EPSILON])
  })

  it('may be on a device, which stores the result', async () => {
    const device = await openDevice({ backend: 'cpu' })
    const other = await openDevice({ backend: 'cpu' })
    try {
      const [onA, onB] = [await device.upload(a), await device.upload(b)]
      for (const [first, second] of [
        [onA, onB],
        [onA, b],
        [a, onB],
      ] as const) {
        const { c } = await leftResidual(first as never, second as never)
        expect((c as unknown as typeof onA).device).toBe(device)
        expect([...(await (c as unknown as typeof onA).download()).data]).toEqual([1, -1])
      }
      const { x, solves } = await greatestSubsolution(onA, onB)
      expect([...(await x.download()).data]).toEqual([1, -1])
      expect(solves).toBe(false)
      const { c } = await rightResidual(onA, a)
      expect([...(await c.download()).data]).toEqual([0, 1, -3, 0])
      await expect(leftResidual(onA, await other.upload(b))).rejects.toEqual(coded('DEVICE'))
      for (const [first, second] of [
        [onA, onB],
        [onA, b],
        [a, onB],
      ] as const) {
        const call = (options: object) => leftResidual(first as never, second as never, options)
        await expect(call({ backend: 'nonsense' })).rejects.toEqual(coded('OPTION', /backend must be/))
        await expect(call({ device: -1 })).rejects.toEqual(coded('OPTION', /device must be/))
        await expect(call({ backend: 'cuda' })).rejects.toEqual(
          coded('OPTION', /backend is 'cuda', but the matrices are on the CPU/),
        )
        await expect(call({ devices: [0] })).rejects.toEqual(
          coded('OPTION', /devices is \[0\], but the matrices are on the CPU/),
        )
        await expect(call({ onProgress: 5 })).rejects.toEqual(coded('OPTION', /onProgress must be/))
        const onProgress = ({ done }: { done: number }) => expect(done).toBeLessThanOrEqual(1)
        expect((await call({ backend: 'cpu', onProgress })).backend).toBe('cpu')
      }
      onA.dispose()
      await expect(leftResidual(onA, b)).rejects.toEqual(coded('DISPOSED'))
    } finally {
      await device.close()
      await other.close()
    }
  })

  const options = (value: object) => value as ResidualOptions
  it.each<[string, () => Promise<unknown>, string, RegExp]>([
    ['nothing', () => leftResidual(undefined as never, b), 'DTYPE', /a must be a matrix/],
    [
      'rows',
      () => leftResidual(a, matrix(3, 1)),
      'SHAPE',
      /b must have the 2 rows of a.*\[2, 2\] and \[3, 1\]/,
    ],
    ['columns', () => rightResidual(a, matrix(2, 3)), 'SHAPE', /b must have the 2 columns of a/],
    [
      'types',
      () => leftResidual(a, matrix(2, 1, new Float64Array(2)) as never),
      'DTYPE',
      /a is of int32 and b of float64/,
    ],
    [
      'uint8',
      () => leftResidual(matrix(1, 1, new Uint8Array(1)), matrix(1, 1, new Uint8Array(1))),
      'DTYPE',
      /max-plus has/,
    ],
    ['a semiring', () => leftResidual(a, b, options({ semiring: 'max-min' })), 'OPTION', /semiring must be/],
    ['a policy', () => leftResidual(a, b, options({ overflow: 'ignore' })), 'OPTION', /overflow must be/],
    ['an option', () => leftResidual(a, b, options({ out: a })), 'OPTION', /no option 'out'/],
    ['a backend', () => leftResidual(a, b, options({ backend: 'tpu' })), 'OPTION', /backend/],
    [
      'a policy for floats',
      () =>
        leftResidual(matrix(1, 1, new Float64Array(1)), matrix(1, 1, new Float64Array(1)), {
          overflow: 'wrap',
        }),
      'OPTION',
      /overflow is for integers/,
    ],
    ['a signal', () => leftResidual(a, b, { signal: AbortSignal.abort() }), 'ABORTED', /aborted/],
    [
      'a short matrix',
      () => leftResidual(a, { data: new Int32Array(1), shape: [2, 1] }),
      'SHAPE',
      /at least 2/,
    ],
  ])('are rejected with wrong %s', async (_, call, code, message) => {
    await expect(call()).rejects.toEqual(coded(code, message))
  })

  it('may have many elements, during which the event loop turns', async () => {
    const n = 700
    const large = matrix(n, n, new Int32Array(n * n).fill(EPSILON))
    let isTransposed = false
    setImmediate(() => {
      isTransposed = true
    })
    const { c } = await leftResidual(large, large)
    expect(isTransposed).toBe(true)
    expect(c.data.every((value) => value === TOP)).toBe(true)
  })
})

it('accepts edge lists as their matrices', async () => {
  const list = { nodes: 2, from: [0, 0, 1, 1], to: [0, 1, 0, 1], weight: [3, 7, 2, 4] }
  const [a, b] = [matrix(2, 2, [3, 7, 2, 4]), matrix(2, 1, [7, 4])]
  for (const semiring of ['max-plus', 'min-plus'] as const) {
    const options = { semiring, backend: 'cpu' } as const
    expect((await leftResidual(list, b, options)).c).toEqual((await leftResidual(a, b, options)).c)
    expect((await leftResidual(a, list, options)).c).toEqual((await leftResidual(a, a, options)).c)
    expect((await rightResidual(a, list, options)).c).toEqual((await rightResidual(a, a, options)).c)
    const found = await greatestSubsolution(list, b, options)
    expect([found.x, found.solves]).toEqual(
      await greatestSubsolution(a, b, options).then(({ x, solves }) => [x, solves]),
    )
  }
  const sparse = { nodes: ['a', 'b'], from: ['a'], to: ['b'], weight: Float64Array.of(0.5) }
  const { c } = await leftResidual(sparse, matrix(2, 1, Float64Array.of(2, 3)))
  expect([...c.data]).toEqual([Infinity, 1.5])
  await expect(leftResidual({ ...list, tokens: [0, 1, 1, 1] } as never, b)).rejects.toEqual(coded('VALUE'))
})
