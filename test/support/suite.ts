/** What every backend must do, as one suite: test/cpu and test/gpu run it. */
import { describe, expect, it } from 'vitest'
import { type MpmmOptions, matrix, mpmm, mpmmSync, variants, zeroOf } from '../../lib/index.js'
import { policies, ragged, semirings, sizes } from './cases.js'
import { expectElements, expectError, expectProduct, thrown } from './expect.js'
import { type Kind, kindNames, operands, randomMatrix } from './generators.js'
import { type Dense, oracle } from './oracle.js'
import { outAndAccumulate } from './suite-accumulate.js'
import { batches, layouts } from './suite-layouts.js'
import { edgesOfPaths } from './suite-paths.js'
import { variantSuite } from './suite-variants.js'
import { pathOn } from './table.js'

export function productSuite(backend: 'cpu' | 'cuda'): void {
  describe('the oracle', () => {
    for (const semiring of semirings) {
      it.each(sizes)(`${semiring}, %i × %i × %i`, (...size) => {
        for (const kind of [
          'small',
          'ε in rows and columns',
          'extremes',
          'low + small',
          'high + small',
          'the best meets the worst',
          'far from the best in some rows',
        ] as Kind[]) {
          const { a, b } = operands(kind, semiring, size)
          for (const overflow of policies) {
            expectProduct(a, b, { backend, semiring, overflow }, `${kind}, ${overflow}`)
          }
        }
      })

      it.each(kindNames)(`${semiring}, %s`, (kind) => {
        for (const overflow of policies) {
          const { a, b } = operands(kind, semiring, ragged, 3)
          const result = expectProduct(a, b, { backend, semiring, overflow }, overflow)
          if (result) {
            const variant = variants().find(({ name }) => name === result.variant)!
            expect(result.path, `${overflow}, ${result.variant}`).toBe(pathOn(variant, a, b, overflow))
            expect(result.backend).toBe(backend)
          }
        }
      })
    }

    it('1000 × 1003 × 997 with ε', () => {
      for (const [semiring, kind] of [
        ['max-plus', 'ε in B alone'],
        ['min-plus', 'small, ε scattered'],
      ] as const) {
        const { a, b } = operands(kind, semiring, [1000, 1003, 997])
        expectProduct(a, b, { backend, semiring }, semiring)
      }
    })
  })

  describe('edges of the paths', () => edgesOfPaths(backend))
  describe('empty products', () => emptyProducts(backend))
  describe('layouts', () => layouts(backend))
  describe('batches', () => batches(backend))
  describe('out and accumulate', () => outAndAccumulate(backend))
  describe('overflow', () => overflowing(backend))
  describe('results', () => results(backend))
  describe('every variant', () => {
    for (const variant of variants()) {
      const { semiring, dtype } = variant
      if (variant.backend !== backend || dtype !== 'int32') continue
      if ((semirings as string[]).includes(semiring)) variantSuite(variant)
    }
  })
}

function emptyProducts(backend: 'cpu' | 'cuda'): void {
  for (const semiring of semirings) {
    it(`${semiring}: K = 0 gives zero everywhere`, () => {
      const { c, gops } = expectProduct(matrix(3, 0), matrix(0, 4), { backend, semiring })!
      expect([...new Set(c.data)]).toEqual([zeroOf(semiring)])
      expect(gops).toBe(0)
    })
    it(`${semiring}: K = 0 keeps what is accumulated to`, () => {
      const accumulate = randomMatrix(3, 4, 1)
      expectProduct(matrix(3, 0), matrix(0, 4), { backend, semiring, accumulate })
      const out = { ...accumulate, data: Int32Array.from(accumulate.data) }
      mpmmSync(matrix(3, 0), matrix(0, 4), { backend, semiring, accumulate: true, out })
      expect(out.data).toEqual(accumulate.data)
    })
  }
  it.each([
    [0, 3, 4],
    [3, 4, 0],
    [0, 0, 0],
    [0, 5, 0],
  ])('%i × %i × %i has no elements', (m, k, n) => {
    const result = mpmmSync(matrix(m, k), matrix(k, n), { backend })
    expect(result.c.shape).toEqual([m, n])
    expect(result.c.data).toHaveLength(0)
    expect(result.backend).toBe(backend)
  })
  it('has batches without products, and products without elements', () => {
    expect(mpmmSync(matrix([0, 2, 3]), matrix([0, 3, 4]), { backend }).c.shape).toEqual([0, 2, 4])
    expect(mpmmSync(matrix([0, 2, 3]), matrix([3, 4]), { backend }).c.shape).toEqual([0, 2, 4])
    expect(mpmmSync(matrix([5, 2, 0]), matrix([5, 0, 4]), { backend }).c.data).toEqual(
      new Int32Array(40).fill(zeroOf('max-plus')),
    )
  })
}

function overflowing(backend: 'cpu' | 'cuda'): void {
  it('names the first result in row-major order, alone or in a batch', () => {
    for (const semiring of semirings) {
      const { a, b } = operands('small', semiring, [200, 20, 150], 1, 3)
      const spoil = (item: number, row: number) => {
        a.data.fill(2 ** 31 - 150 + (row % 100), (item * 200 + row) * 20, (item * 200 + row + 1) * 20)
      }
      b.data.forEach((value, index) => {
        b.data[index] = Math.abs(value) + 200
      })
      spoil(2, 3)
      spoil(1, 199)
      spoil(1, 150)
      expectProduct(a, b, { backend, semiring })
    }
  })
  it.each(semirings)('finds the one result that overflows, wherever it is: %s', (semiring) => {
    const [m, k, n] = [13, 3, 37]
    for (let row = 0; row < m; row++) {
      for (let col = 0; col < n; col++) {
        const a = matrix(m, k, new Int32Array(m * k).fill(zeroOf(semiring)))
        const b = matrix(k, n, new Int32Array(k * n).fill(zeroOf(semiring)))
        a.data[row * k + 1] = -(2 ** 30) - row
        b.data[n + col] = -(2 ** 30) - col - 1
        expectProduct(a, b, { backend, semiring })
      }
    }
  })
  it('keeps what out holds, also when that is accumulated to', () => {
    const out = matrix(1, 2, [5, 6])
    const call = () =>
      mpmmSync(matrix(1, 1, [2 ** 31 - 1]), matrix(1, 2, [-1, 1]), { backend, out, accumulate: true })
    expectError(thrown(call), 'ERR_MPMML_OVERFLOW', 'C[0, 1]', '2147483648', /saturate.*wrap/)
    expect([...out.data]).toEqual([5, 6])
  })
}

function results(backend: 'cpu' | 'cuda'): void {
  it('say what ran and how long it took', () => {
    const { a, b } = operands('small', 'max-plus', [200, 200, 200])
    const result = mpmmSync(a, b, { backend })
    const { timing } = result
    expect(result.backend).toBe(backend)
    expect(result.device).not.toBe('')
    expect(variants().find(({ name }) => name === result.variant)).toMatchObject({
      backend,
      semiring: 'max-plus',
    })
    for (const time of Object.values(timing)) expect(time).toBeGreaterThanOrEqual(0)
    expect(timing.kernelMs).toBeGreaterThan(0)
    expect(timing.totalMs).toBeGreaterThanOrEqual(timing.kernelMs)
    expect(result.gops).toBeCloseTo((2 * 200 ** 3) / timing.kernelMs / 1e6, 6)
    expect(Object.keys(timing).sort()).toEqual(['analysisMs', 'd2hMs', 'h2dMs', 'kernelMs', 'totalMs'])
  })
  it('are the same from mpmm and mpmmSync, several products at once', async () => {
    const tasks = Array.from({ length: 12 }, (_, index) => {
      const semiring = semirings[index % 2]!
      const { a, b } = operands(kindNames[(index * 5) % kindNames.length]!, semiring, [
        60 + index,
        50,
        70 - index,
      ])
      return { a, b, options: { backend, semiring, overflow: 'saturate' } satisfies MpmmOptions }
    })
    const together = await Promise.all(tasks.map(({ a, b, options }) => mpmm(a, b, options)))
    together.forEach(({ c }, index) => {
      const { a, b, options } = tasks[index]!
      expectElements(c, oracle(a, b, options) as Dense, `task ${index}`)
      expect(mpmmSync(a, b, options).c.data).toEqual(c.data)
    })
  })
}
