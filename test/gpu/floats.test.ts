/** Products of float32 and float64 on a GPU, and that both backends give the same bits where that is promised. */
import { describe, expect, it } from 'vitest'
import { info, matrix, mpmmSync, plan } from '../../lib/index.js'
import { withoutCuda } from '../support/machine.js'
import { floatKinds, floatSuite, operands, types } from '../support/suite-floats.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () => {
  floatSuite('cuda')

  it('plus-times on float64 takes tensor cores where they know doubles', async () => {
    const operand = matrix(1000, 1000, new Float64Array(1000 * 1000).fill(1))
    const { variant } = await plan(operand, operand, { backend: 'cuda', semiring: 'plus-times' })
    const able = Number(info().cuda.devices[0]!.computeCapability) >= 8
    expect(variant.startsWith('tensor_plustimes_f64_'), variant).toBe(able)
  })

  describe('bit for bit as the CPU', () => {
    for (const semiring of ['max-plus', 'min-plus'] as const) {
      for (const type of types) {
        // The last is cut into panels.
        it.each([
          ...floatKinds.map((kind) => [kind, [301, 257, 409]] as const),
          ['anything', [2900, 2100, 2700]] as const,
        ])(`${semiring} on ${type}, %s, %o`, (kind, size) => {
          const { a, b } = operands(kind, semiring, type, size, 31)
          const [cuda, cpu] = (['cuda', 'cpu'] as const).map(
            (backend) => mpmmSync(a, b, { backend, semiring }).c.data,
          )
          const differs = cuda!.findIndex((value, index) => value !== cpu![index])
          expect([differs, cuda![differs], cpu![differs]]).toEqual([-1, undefined, undefined])
        })
      }
    }
  })
})
