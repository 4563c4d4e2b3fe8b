/** Limits of every arithmetic: values for which a cheaper one isn't exact. */
import { describe, expect, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import { type MpmmlError, matrix, mpmmSync, type Overflow, zeroOf } from '../../lib/index.js'
import { policies, semirings } from './cases.js'
import { expectAgrees } from './expect.js'
import { translatedLimit } from './generators.js'
import { finiteRange, oracle } from './oracle.js'
import { describeUnless } from './skip.js'
import { variantWith } from './table.js'

export function edgesOfPaths(backend: BackendName): void {
  for (const semiring of semirings) {
    const zero = zeroOf(semiring)
    const [least, most] = finiteRange(semiring)
    const limit = translatedLimit(semiring)

    /** Compares `auto` and each accumulator with the oracle. Returns the arithmetic by accumulator; '' for rejected products. */
    const paths = (a: number[], b: number[], overflow: Overflow = 'throw') => {
      const [left, right] = [matrix(1, a.length, a), matrix(b.length, 1, b)]
      const expected = oracle(left, right, { semiring, overflow })
      const options = { backend, semiring, overflow }
      expectAgrees(expected, left, right, options)
      const ran: Record<string, string> = {}
      for (const accumulator of ['byte', 'uint16', 'int32', 'int64']) {
        const variant = variantWith(backend, semiring, accumulator)
        if (!variant) continue
        try {
          const { c, arithmetic } = mpmmSync(left, right, { ...options, variant: variant.name })
          expect([...c.data], accumulator).toEqual(expected.overflow ?? [...expected.data])
          ran[accumulator] = arithmetic
        } catch (error) {
          const { code } = error as MpmmlError
          if (code === 'ERR_MPMML_VARIANT') ran[accumulator] = ''
          else if (code === 'ERR_MPMML_OVERFLOW' && expected.overflow) ran[accumulator] = 'overflow'
          else throw error
        }
      }
      return ran
    }

    describe(semiring, () => {
      it('use plain int32 sums up to the ends of the finite range', () => {
        expect(paths([most - 5, 0], [5, 5])).toMatchObject({ int32: 'direct', int64: 'wide' })
        expect(paths([least + 5, 0], [-5, -5])).toMatchObject({ int32: 'direct', int64: 'wide' })
        expect(paths([most, most], [0, 0]).int32).toBe('direct')
        expect(paths([least, least], [0, 0]).int32).toBe('direct')
      })
      it('use 64 bits for one more than these ends', () => {
        for (const [x, y] of [
          [most - 5, 6],
          [least + 5, -6],
        ] as const) {
          expect(paths([x, 0], [y, y])).toMatchObject({ int32: '' })
          expect(paths([x, 0], [y, y], 'saturate')).toMatchObject({ int32: '', int64: 'wide' })
          expect(paths([x, x], [y, y])).toMatchObject({ int32: '', int64: 'overflow' })
        }
      })
      it('accept a sum beyond int32 that decides nothing', () => {
        const [good, bad, step] = semiring === 'max-plus' ? [0, least, -1] : [0, most, 1]
        expect(paths([bad, good], [step, step])).toMatchObject({ int32: '', int64: 'wide' })
      })
      it('may wrap int32 sums on request', () => {
        expect(paths([most - 5, 0], [6, 6], 'wrap')).toMatchObject({ int32: 'direct', int64: 'wrapping' })
        expect(paths([least, least], [least, least], 'wrap')).toMatchObject({
          int32: 'direct',
          int64: 'wrapping',
        })
      })
      it.each([
        ['A', limit],
        ['A', -limit],
        ['B', limit],
        ['B', -limit],
      ] as const)('represent zero in int32 sums with %s up to %i', (side, value) => {
        const operandsOf = (x: number): [number[], number[]] =>
          side === 'A'
            ? [
                [x, zero],
                [limit, -limit],
              ]
            : [
                [limit, zero],
                [x, -limit],
              ]
        const beyond = value + Math.sign(value)
        expect(paths(...operandsOf(value))).toMatchObject({ int32: 'translated', int64: 'wide' })
        expect(paths(...operandsOf(value), 'wrap')).toMatchObject({ int32: 'translated', int64: 'wrapping' })
        for (const overflow of policies) expect(paths(...operandsOf(beyond), overflow).int32).toBe('')
      })
      it('distinguish zero from the worst sums of finite values', () => {
        for (const [x, y] of [
          [limit, limit],
          [-limit, -limit],
          [limit, -limit],
        ] as const) {
          expect(paths([x, zero, zero], [y, -limit, limit]).int32).toBe('translated')
          expect(paths([zero, zero], [x, y]).int32).toBe('translated')
          expect(paths([x, y], [zero, zero]).int32).toBe('translated')
        }
      })
      it('never turn a sum that wraps onto zero into a finite one, or a saturated one into zero', () => {
        for (const target of [2 ** 31, -(2 ** 31), 2 ** 31 - 1, -(2 ** 31) - 1]) {
          const x = Math.trunc(target / 2)
          for (const extra of [[], [zero]]) {
            paths([x, ...extra], [target - x, ...extra], 'wrap')
            paths([x, ...extra], [target - x, ...extra], 'saturate')
          }
        }
      })

      const narrow = [
        // The greatest sum of two ranges, and the greatest range next to a zero.
        { bits: 8, accumulator: 'byte', path: 'byte', sum: 255, part: 127, zeros: 63, low: 300 },
        {
          bits: 16,
          accumulator: 'uint16',
          path: 'half',
          sum: 65_535,
          part: 40_000,
          zeros: 16_383,
          low: 80_000,
        },
      ] as const
      for (const { bits, accumulator, path, sum, part, zeros, low } of narrow) {
        const without = variantWith(backend, semiring, accumulator) === undefined
        describeUnless(without && 'no variant has them here', `${bits} bits`, () => {
          const bases = [
            [0, 0],
            [least + 10, 100_000],
            [most - low, -low],
            [-(2 ** 30), -(2 ** 30) + 100],
          ] as const
          const taken = (...given: Parameters<typeof paths>) => paths(...given)[accumulator]
          it(`support ranges that add up to ${sum}`, () => {
            for (const [x, y] of bases) {
              expect(taken([x, x + part], [y + sum - part, y])).toBe(path)
              expect(taken([x, x + part], [y, y + sum - part])).toBe(path)
              expect(taken([x, x + part], [y, y + sum - part + 1])).toBe('')
              expect(taken([x, x + sum], [y, y])).toBe(path)
              expect(taken([x, x], [y, y + sum + 1])).toBe('')
            }
          })
          it(`support zero with ranges up to ${zeros}`, () => {
            for (const [x, y] of bases) {
              expect(taken([x, x + zeros, zero], [y, y + zeros, y])).toBe(`${path}-translated`)
              expect(taken([zero, x + zeros, zero], [y, zero, y + zeros])).toBe(`${path}-translated`)
              expect(taken([zero, x, x + zeros], [y, zero, zero])).toBe(`${path}-translated`)
              expect(taken([x, x + zeros + 1, zero], [y, y, y])).toBe('')
              expect(taken([x, zero, x], [y, y + zeros + 1, y])).toBe('')
            }
          })
          it('are not used if sums exceed the finite range', () => {
            expect(taken([most, most - 1], [1, 1], 'saturate')).toBe('')
            expect(taken([least, least + 1], [-1, -1], 'wrap')).toBe('')
          })
        })
      }
    })
  }
}
