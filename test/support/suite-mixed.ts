/** Calls of all kinds at once: every result by the definition, every mistake by its code. The same for both backends. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeCall, drawCalls, matricesOf, type Product } from '../../bench/mixed/calls.js'
import type { Dense, Places } from '../../bench/mixed/matrices.js'
import { type Mistake, mistakes } from '../../bench/mixed/mistakes.js'
import { judge, perform, untilIdle } from '../../bench/mixed/perform.js'
import { openDevice } from '../../lib/index.js'
import { expectError } from './expect.js'
import { type FloatMatrix, type FloatSemiring, floatMismatch, floatOracle } from './float-oracle.js'
import { oracle, type SemiringName, type Strided } from './oracle.js'
import { type OtherMatrix, type OtherSemiring, otherMismatch, otherOracle } from './semirings-oracle.js'

const limits = { largest: 200, large: 0.02 }

export function mixedSuite(backend: 'cpu' | 'cuda', count: number): void {
  const places = {} as Places
  beforeAll(async () => {
    places.device = await openDevice({ backend })
    places.elsewhere = await openDevice({ backend: 'cpu' })
  })
  afterAll(async () => {
    await places.device.close()
    await places.elsewhere.close()
  })

  it.each([1, 2, 3])('every result is right and every error has its code: seed %i', async (seed) => {
    const calls = drawCalls(count, seed, limits)
    const left = calls.values()
    const wrong: string[] = []
    const worker = async () => {
      for (const call of left) {
        const found = judge(call, await perform(call, places), mismatch)
        if (found !== undefined) wrong.push(`${describeCall(call)}: ${found}`)
      }
    }
    await Promise.all(Array.from({ length: 64 }, worker))
    expect(wrong).toEqual([])
    await untilIdle(places.device)
    expect(places.device.memory().used).toBe(0)
  })

  describe('mistakes', () => {
    it.each(mistakes.map((mistake) => [mistake.name, mistake] as [string, Mistake]))(
      '%s',
      async (_, mistake) => {
        const outcome = await perform({ seed: 1, mistake, code: mistake.code }, places)
        expectError('error' in outcome ? outcome.error : undefined, mistake.code)
        expect(places.device.memory().used).toBe(0)
      },
    )
  })
}

/** How a result differs from the definition; undefined if it doesn't. */
function mismatch(product: Product, c: Dense): string | undefined {
  const { semiring, dtype, overflow } = product
  const { a, b, c0 } = matricesOf(product)
  if (dtype === 'int32' && (semiring === 'max-plus' || semiring === 'min-plus')) {
    const expected = oracle(a as Strided, b as Strided, {
      semiring: semiring as SemiringName,
      overflow: overflow ?? 'throw',
      c0: (c0 ?? undefined) as Strided | undefined,
    })
    if (expected.overflow) return `it has a result, but [${Object.values(expected.overflow)}] overflows`
    const at = expected.data.findIndex((value, index) => value !== c.data[index])
    return at < 0 ? undefined : `element ${at} is ${c.data[at]} and should be ${expected.data[at]}`
  }
  if (semiring === 'max-plus' || semiring === 'min-plus' || semiring === 'plus-times') {
    const [x, y, z] = [a, b, c0 ?? undefined] as FloatMatrix[]
    return floatMismatch(c as FloatMatrix, floatOracle(x!, y!, semiring as FloatSemiring, z))
  }
  const [x, y, z] = [a, b, c0 ?? undefined] as OtherMatrix[]
  return otherMismatch(c as OtherMatrix, otherOracle(x!, y!, semiring as OtherSemiring, z))
}
