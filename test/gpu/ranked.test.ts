/** Pruned products (docs/ranked.md): their results, and when they are chosen. */
import { afterAll, describe, expect, it } from 'vitest'
import { type Device, type Matrix, matrix, mpmm, openDevice, plan, variants } from '../../lib/index.js'
import { expectProduct } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { withoutCuda } from '../support/machine.js'
import { type Dense, oracle, type SemiringName, zeroValue } from '../support/oracle.js'
import { describeUnless } from '../support/skip.js'

const semirings = ['max-plus', 'min-plus'] as const

const named = (family: string, semiring: SemiringName) =>
  variants().find(
    (row) =>
      row.family === family &&
      row.semiring === semiring &&
      row.dtype === 'int32' &&
      row.parameters.accumulator === 'int32',
  )!.name

function filled(rows: number, cols: number, value: (row: number, col: number) => number): Matrix<Int32Array> {
  const data = new Int32Array(rows * cols)
  for (let row = 0; row < rows; row++) {
    for (let col = 0; col < cols; col++) data[row * cols + col] = value(row, col)
  }
  return matrix(rows, cols, data)
}

describeUnless(withoutCuda(), 'ranked', () => {
  describe.each(semirings)('%s by name', (semiring) => {
    const zero = zeroValue(semiring)
    const variant = () => named('ranked', semiring)
    const random = new Random(7)
    const any = (spread: number) => () => random.integer(-spread, spread)
    /** A few lines differ from all others, and a sample doesn't include them. */
    const unlike = (line: number) => random.integer(-1, 1) * (line % 97 === 13 ? 100_000_000 : 10)

    it.each<
      [
        string,
        number,
        number,
        number,
        (row: number, col: number) => number,
        (row: number, col: number) => number,
      ]
    >([
      ['any values', 70, 300, 90, any(100_000_000), any(100_000_000)],
      ['one slice of columns, and one more column', 9, 40, 8193, any(1_000_000), any(1_000_000)],
      ['equal elements', 33, 500, 65, () => 7, () => -9],
      ['the ends of the range', 20, 64, 30, any(1_073_741_823), any(1_073_741_823)],
      ['rows unlike the others', 300, 700, 120, unlike, any(10)],
      ['columns unlike the others', 60, 700, 300, any(10), (_, col) => unlike(col)],
      [
        'every row with a range of its own',
        80,
        600,
        70,
        (row) => random.integer(0, 4 ** (row % 14)),
        any(1000),
      ],
      [
        'one element far ahead',
        40,
        400,
        50,
        (row, k) => (row === 5 && k === 7 ? 300_000_000 : k % 50),
        any(100),
      ],
      [
        'distances, which all are near the best',
        64,
        256,
        64,
        (row, k) => -Math.abs(row - k),
        (k, col) => -Math.abs(k - col),
      ],
    ])('is right: %s', (_, m, k, n, a, b) => {
      expectProduct(filled(m, k, a), filled(k, n, b), { semiring, variant: variant(), backend: 'cuda' })
    })

    it.each([
      ['a third', 0.33],
      ['nearly all', 0.995],
      ['all', 1],
    ])('is right with zeros: %s', (_, share) => {
      const a = filled(90, 300, () => (random.chance(share) ? zero : random.integer(-1e6, 1e6)))
      const b = filled(300, 110, () => (random.chance(share) ? zero : random.integer(-1e6, 1e6)))
      const c0 = filled(90, 110, () => (random.chance(0.5) ? zero : random.integer(-1e6, 1e6)))
      expectProduct(a, b, { semiring, variant: variant(), backend: 'cuda' })
      expectProduct(a, b, { semiring, variant: variant(), backend: 'cuda', accumulate: c0 })
    })

    it('is right for rows and columns without elements', () => {
      const a = filled(40, 200, (row) => (row % 3 === 0 ? zero : random.integer(-1e8, 1e8)))
      const b = filled(200, 70, (_, col) => (col % 5 === 0 ? zero : random.integer(-1e8, 1e8)))
      expectProduct(a, b, { semiring, variant: variant(), backend: 'cuda' })
    })
  })

  describe('large products', () => {
    const [m, k, n] = [6000, 5900, 6100]
    let device: Device | undefined
    const open = async () => (device ??= await openDevice({ backend: 'cuda' }))
    afterAll(() => device?.close())

    const random = new Random(11)
    const uniform = () => random.integer(-100_000_000, 100_000_000)
    const normal = () => {
      let sum = 0
      for (let term = 0; term < 6; term++) sum += random.integer(-10_000_000, 10_000_000)
      return sum
    }
    const sparse = (zero: number) => () => (random.chance(0.5) ? zero : uniform())

    /** Compares the first, a middle and the last row with the oracle, and all with the kernels that try every pair. */
    async function expectRight(a: Matrix<Int32Array>, b: Matrix<Int32Array>, semiring: SemiringName) {
      const [A, B] = [await (await open()).upload(a), await (await open()).upload(b)]
      const { variant, c } = await mpmm(A, B, { semiring })
      expect(variants().find(({ name }) => name === variant)?.family).toBe('ranked')
      expect((await plan(A, B, { semiring })).variant).toBe(variant)
      const { c: all } = await mpmm(A, B, { semiring, variant: named('pipelined', semiring) })
      const [found, expected] = [(await c.download()).data, (await all.download()).data]
      expect(found.findIndex((value, index) => value !== expected[index])).toBe(-1)
      for (const row of [0, 3001, m - 1]) {
        const line = matrix(1, k, a.data.slice(row * k, (row + 1) * k))
        const { data } = oracle(line, b, { semiring }) as Dense
        expect(found.subarray(row * n, (row + 1) * n)).toEqual(Int32Array.from(data))
      }
      for (const matrix of [A, B, c, all]) matrix.dispose()
    }

    it.each(semirings)('are right for uniform elements, %s', async (semiring) => {
      await expectRight(filled(m, k, uniform), filled(k, n, uniform), semiring)
    })

    it('are right for normal elements, with a separate range for each line', async () => {
      const a = filled(m, k, (row) => normal() + row * 5000)
      await expectRight(
        a,
        filled(k, n, (_, col) => normal() - col * 7000),
        'max-plus',
      )
    })

    it.each(semirings)('are right with half of the elements zero, %s', async (semiring) => {
      const zero = zeroValue(semiring)
      await expectRight(filled(m, k, sparse(zero)), filled(k, n, sparse(zero)), semiring)
    })

    it('are right for operands on the host', async () => {
      const [a, b] = [filled(m, k, uniform), filled(k, n, uniform)]
      const { variant, c } = await mpmm(a, b, { backend: 'cuda' })
      expect(variants().find(({ name }) => name === variant)?.family).toBe('ranked')
      for (const row of [0, 3001, m - 1]) {
        const line = matrix(1, k, a.data.slice(row * k, (row + 1) * k))
        const { data } = oracle(line, b) as Dense
        expect(c.data.subarray(row * n, (row + 1) * n)).toEqual(Int32Array.from(data))
      }
    })

    it('are left to the kernels that try every pair for distances', async () => {
      const a = filled(m, k, (row, col) => -Math.abs(row - col) * 50_000)
      const b = filled(k, n, (row, col) => -Math.abs(row - col) * 50_000)
      const [A, B] = [await (await open()).upload(a), await (await open()).upload(b)]
      const planned = await plan(A, B)
      expect(variants().find(({ name }) => name === planned.variant)?.family).not.toBe('ranked')
      for (const matrix of [A, B]) matrix.dispose()
    })

    it('are computed by the requested variant', async () => {
      const [a, b] = [filled(m, k, uniform), filled(k, n, uniform)]
      const [A, B] = [await (await open()).upload(a), await (await open()).upload(b)]
      const requested = named('pipelined', 'max-plus')
      expect((await plan(A, B, { variant: requested })).variant).toBe(requested)
      for (const matrix of [A, B]) matrix.dispose()
    })
  })
})
