/**
 * Concurrent calls of all kinds: results are compared with the definition, and errors by their code. The
 * tests of both backends run this suite.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Dense, describeCall, drawCalls, matricesOf, type Product } from '../../bench/stress/calls.js'
import { type InvalidCall, invalidCalls, type OperandPlacements } from '../../bench/stress/mistakes.js'
import { judge, perform, untilIdle } from '../../bench/stress/perform.js'
import type { BackendName } from '../../lib/backend-name.js'
import { openDevice } from '../../lib/index.js'
import { Tally, wrongIn } from '../../native/tools/fuzz/check.mjs'
import { expectError } from './expect.js'
import { Random } from './generators.js'
import { type AnyMatrix, algebraOf, elementsOf, problemOf, sourceOf } from './products/case.js'

const limits = { largest: 200, large: 0.02 }

export function mixedSuite(backend: BackendName, count: number): void {
  const placements = {} as OperandPlacements
  beforeAll(async () => {
    placements.device = await openDevice({ backend })
    placements.elsewhere = await openDevice({ backend: 'cpu' })
  })
  afterAll(async () => {
    await placements.device.close()
    await placements.elsewhere.close()
  })

  it.each([1, 2, 3])('computes every result right and every error with its code: seed %i', async (seed) => {
    const calls = drawCalls(count, seed, limits)
    const left = calls.values()
    const wrong: string[] = []
    const worker = async () => {
      for (const call of left) {
        const found = judge(call, await perform(call, placements), mismatch)
        if (found !== undefined) wrong.push(`${describeCall(call)}: ${found}`)
      }
    }
    await Promise.all(Array.from({ length: 64 }, worker))
    expect(wrong).toEqual([])
    await untilIdle(placements.device)
    expect(placements.device.memory().used).toBe(0)
  })

  describe('invalid calls', () => {
    it.each(invalidCalls.map((mistake) => [mistake.name, mistake] as [string, InvalidCall]))(
      'are rejected: %s',
      async (_, mistake) => {
        const outcome = await perform({ seed: 1, mistake, code: mistake.code }, placements)
        expectError('error' in outcome ? outcome.error : undefined, mistake.code.replace('ERR_MPMML_', ''))
        expect(placements.device.memory().used).toBe(0)
      },
    )
  })
}

/** Description of the first difference between a result and the definition; undefined if they are equal. */
function mismatch(product: Product, c: Dense): string | undefined {
  const { semiring, dtype, overflow } = product
  const { a, b, c0 } = matricesOf(product)
  const of = (matrix: Dense) => elementsOf(matrix as AnyMatrix)
  const algebra = algebraOf(semiring, dtype)
  const problem = problemOf({ algebra, a: of(a), b: of(b), c0: c0 ? of(c0) : undefined, overflow, what: '' })
  return wrongIn(problem, { c: sourceOf(of(c)), witness: undefined }, new Random(1), new Tally(), Infinity)
}
