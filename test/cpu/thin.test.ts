/**
 * Products of an operand with few rows or columns. The CPU computes them without packing the other operand.
 */
import { describe, expect, it, vi } from 'vitest'
import { reportAt } from '../../lib/fields.js'
import { type MpmmOptions, mpmm, mpmmSync, variants, zeroOf } from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { policies, type Size, semirings } from '../support/cases.js'
import { expectElements, expectProduct } from '../support/expect.js'
import { type Kind, kindNames, operands, randomMatrix } from '../support/generators.js'
import { type Dense, oracle } from '../support/oracle.js'

const backend = 'cpu'
const familyOf = (name: string) => variants().find((variant) => variant.name === name)!.family

const thin: Size[] = [
  [1, 37, 300],
  [300, 37, 1],
  [2, 70, 133],
  [3, 5, 31],
  [133, 70, 4],
  [5, 129, 67],
  [12, 33, 40],
  [1, 9000, 3],
  [3, 9000, 1],
  [1, 1, 5000],
]

describe('thin products', () => {
  for (const semiring of semirings) {
    it.each(thin)(`are right: ${semiring}, %i × %i × %i`, (...size) => {
      const cells = size[0] * size[1] * size[2]
      for (const kind of cells > 20_000
        ? (['small', 'small, ε scattered', 'extremes'] as Kind[])
        : kindNames) {
        for (const overflow of policies) {
          const { a, b } = operands(kind, semiring, size, 4)
          expectProduct(a, b, { backend, semiring, overflow }, `${kind}, ${overflow}`)
        }
      }
    })
  }

  it('are computed by the thin family, whichever side is the thin one', () => {
    for (const size of thin) {
      for (const kind of ['small', 'small, ε scattered', 'full range'] as Kind[]) {
        const { a, b } = operands(kind, 'max-plus', size)
        const { variant } = mpmmSync(a, b, { backend, overflow: 'saturate' })
        expect(familyOf(variant), `${size}, ${kind}`).toBe('thin')
      }
    }
  })

  it('detect the one element of a large operand that changes the arithmetic, at every position', () => {
    const [m, k, n] = [1, 1100, 1100]
    for (const semiring of semirings) {
      const zero = zeroOf(semiring)
      for (const value of [zero, 2_000_000_000, -2_000_000_000]) {
        for (const position of [0, k * n - 1, 700 * n + 3]) {
          const a = randomMatrix(m, k, 1, [-300_000_000, 300_000_000])
          const b = randomMatrix(k, n, 2, [-300_000_000, 300_000_000])
          b.data[position] = value
          const { c, arithmetic, variant } = mpmmSync(a, b, { backend, semiring, overflow: 'saturate' })
          expect(familyOf(variant)).toBe('thin')
          expect(arithmetic).toBe(value === zero ? 'translated' : 'wide')
          expectElements(
            c,
            oracle(a, b, { semiring, overflow: 'saturate' }) as Dense,
            `${semiring}, ${value}`,
          )
        }
      }
    }
  })

  it('detect a zero after many steps without one, and recompute the earlier steps', () => {
    const [m, k, n] = [2, 3000, 40]
    for (const semiring of semirings) {
      // Treated as a number, zero would wrap and decide the result.
      const few = semiring === 'max-plus' ? -5 : 5
      const a = { data: new Int32Array(m * k).fill(few), shape: [m, k] as [number, number] }
      const b = { data: new Int32Array(k * n).fill(1), shape: [k, n] as [number, number] }
      b.data[700 * n + 3] = zeroOf(semiring)
      b.data[2999 * n + 30] = zeroOf(semiring)
      expectProduct(a, b, { backend, semiring })
    }
  })

  it('count each step once, also on several devices and if the product is recomputed by another arithmetic', async () => {
    const [m, k, n] = [2100, 300, 2]
    const start = vi.spyOn(addon, 'multiply')
    try {
      for (const devices of [1, 3]) {
        addon.pretendDevices(devices)
        for (const position of [undefined, 0, m * k - 1]) {
          const a = randomMatrix(m, k, 1, [-300_000_000, 300_000_000])
          const b = randomMatrix(k, n, 2, [-300_000_000, 300_000_000])
          // This element causes sums beyond int32, which need 64 bits.
          if (position !== undefined) a.data[position] = 2_000_000_000
          const where: MpmmOptions = devices > 1 ? { devices: 'all' } : { backend }
          const { variant } = await mpmm(a, b, { ...where, overflow: 'saturate', onProgress() {} })
          expect(familyOf(variant)).toBe('thin')
          const report = start.mock.lastCall![5]
          expect(report[reportAt.stepsDone], `${devices} devices, ${position}`).toBeCloseTo(m * k * n, 3)
        }
      }
    } finally {
      start.mockRestore()
      addon.pretendDevices(0)
    }
  })

  it('are divided along K if no other dimension can be divided', () => {
    for (const kind of ['small', 'small, ε scattered', 'full range'] as Kind[]) {
      const { a, b } = operands(kind, 'max-plus', [2, 1_500_000, 1], 6)
      expectProduct(a, b, { backend, overflow: 'saturate' }, kind)
    }
  })

  it('return the smallest deciding k if they are divided along K', () => {
    // Each thread computes a part of K and finds the witness in it.
    const [m, k] = [2, 1_500_000]
    for (const [low, best] of [
      [3, 3],
      [-7, 5],
      [-2_000_000_000, 2_000_000_000],
    ] as const) {
      for (const places of [
        [0, k - 1],
        [1_000_001, 1_400_000],
        [399_999, 400_000, 900_000],
      ]) {
        const a = { data: new Int32Array(m * k).fill(low), shape: [m, k] as const }
        for (const position of places) a.data.fill(best, position, position + 1)
        for (const position of places) a.data.fill(best, k + position + 3, k + position + 4)
        const b = { data: new Int32Array(k).fill(1), shape: [k, 1] as const }
        const { c, witness } = mpmmSync(a, b, { backend, witness: true })
        expect([...c.data]).toEqual([best + 1, best + 1])
        const first = low === best ? [0, 0] : [places[0], places[0]! + 3]
        expect([...witness.data], `${low}, ${places}`).toEqual(first)
      }
    }
  })

  it('name the first overflow of a tall result in row-major order', () => {
    const { a, b } = operands('small', 'max-plus', [200, 7, 2], 3)
    b.data.fill(2 ** 31 - 500)
    a.data.fill(-1000)
    a.data[150 * 7 + 2] = 900
    a.data[31 * 7 + 6] = 800
    expectProduct(a, b, { backend })
  })

  it('support batches', () => {
    const { a, b } = operands('small, ε scattered', 'max-plus', [1, 90, 41], 2, 5)
    expectProduct(a, b, { backend })
    const one = operands('small', 'max-plus', [1, 90, 41], 2)
    expectProduct(a, one.b, { backend })
    expectProduct(one.a, b, { backend })
    // The error names the first batch entry that overflows.
    for (const item of [4, 2, 1]) {
      a.data[item * 90 + 7] = 2 ** 31 - 1
      expectProduct(a, one.b, { backend }, `${item}`)
    }
  })
})
