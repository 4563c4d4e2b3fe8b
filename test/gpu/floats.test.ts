/** Products of float32 and float64 on a GPU: tensor cores for doubles, and sums of mixed signs. */
import { describe, expect, it } from 'vitest'
import { info, matrix, mpmmSync, plan, variants } from '../../lib/index.js'
import { Random } from '../support/generators.js'
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'

describeUnless(withoutCuda(), 'cuda', () => {
  it('plus-times on float64 uses tensor cores of GPUs that support doubles', async () => {
    const operand = matrix(1000, 1000, new Float64Array(1000 * 1000).fill(1))
    const { variant } = await plan(operand, operand, { backend: 'cuda', semiring: 'plus-times' })
    const able = Number(info().cuda.devices[0]!.computeCapability) >= 8
    expect(variant.startsWith('tensor_plustimes_f64_'), variant).toBe(able)
  })

  // Slices first compare sums of mixed signs as integers, and restart if a result has no sign after the first
  // 32 steps. The operands cover rows whose sums are all below 0, rows with single sums above or below 0, and
  // rows of zeros. In some operands only some slices have results with a sign.
  describe('slices whose sums have mixed signs', () => {
    const sliced = variants().filter(
      ({ name }) => /^pipelined_(maxplus|minplus)_f32_/.test(name) && !name.endsWith('_sl1'),
    )
    const below = (share: number) => (row: number, bits: number) =>
      (row % 7 < share * 7 ? -5000 : 0) + (bits % 2000) - 1000
    const leading = (leads: boolean, bits: number) => (leads ? 0 : -5000) + (bits % 2000) - 1000
    const rows: Record<string, (row: number, bits: number, position: number) => number> = {
      'no result leads': below(1),
      'single rows': (row, bits) => (row === 77 ? -5000 : 0) + (bits % 2000) - 1000,
      'rows of any kind': below(3 / 7),
      'rows of zeros of the semiring': (row, bits) =>
        row % 5 === 0 ? Number.NEGATIVE_INFINITY : (bits % 2000) - 1000,
      'only the first steps lead': (_, bits, position) => leading(position < 1 / 16, bits),
      'only the last steps lead': (_, bits, position) => leading(position > 15 / 16, bits),
    }
    for (const { name } of sliced) {
      it.each(Object.keys(rows))(`${name}, %s`, (kind) => {
        const semiring = name.includes('_maxplus_') ? 'max-plus' : 'min-plus'
        const sign = semiring === 'max-plus' ? 1 : -1
        for (const [m, n, k] of [
          [200, 150, 1030],
          [130, 140, 20],
        ] as const) {
          const random = new Random(m)
          const a = Float32Array.from(
            { length: m * k },
            (_, at) => sign * rows[kind]!(Math.floor(at / k), random.bits(), (at % k) / k),
          )
          const b = Float32Array.from({ length: k * n }, () => sign * ((random.bits() % 2000) - 1000))
          // Both ranges have both signs, so the signs of the sums are unknown.
          b[b.length - 1] = sign * 9000
          const c0 = Float32Array.from({ length: m * n }, () => sign * ((random.bits() % 9000) - 8000))
          for (const accumulate of [false, true]) {
            const [cuda, cpu] = [{ variant: name }, { backend: 'cpu' as const }].map(
              (options) =>
                mpmmSync(matrix(m, k, a), matrix(k, n, b), {
                  ...options,
                  semiring,
                  ...(accumulate && { accumulate: true, out: matrix(m, n, c0.slice()) }),
                }).c.data,
            )
            expect(cuda!.findIndex((value, index) => value !== cpu![index])).toBe(-1)
          }
        }
      })
    }
  })
})
