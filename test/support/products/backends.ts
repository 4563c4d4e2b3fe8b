/** Products that are too large for the definition: the result of a GPU must have the bits of the CPU, which the definition has checked. */
import { expect } from 'vitest'
import type { OperandArray } from '../../../lib/index.js'
import type { Algebra, Case } from './case.js'
import type { Outcome } from './law.js'
import { compute } from './targets.js'

/** Bits of elements. The sign of a zero that is a sum of floats is unspecified, so it is cleared. */
function bitsOf(algebra: Algebra, data: OperandArray): Buffer {
  const promised = algebra.isFloat && algebra.kind === 'sum' ? data.map((x: number) => x + 0) : data
  return Buffer.from(promised.buffer, promised.byteOffset, promised.byteLength)
}

/** Fails unless both backends have the same result, or the same error with an unchanged `out`. Returns the result of CUDA. */
export async function expectAsOnCpu(one: Case): Promise<Outcome> {
  const outcomes = []
  for (const backend of ['cuda', 'cpu'] as const) {
    const target = { name: backend, options: { backend }, expectation: { backend }, sync: true }
    outcomes.push(await compute(target, one, 'out'))
  }
  const [cuda, cpu] = outcomes as [Outcome, Outcome]
  expect((cuda.error as Error | undefined)?.message, one.what).toBe((cpu.error as Error | undefined)?.message)
  const [found, expected] = cuda.error ? [cuda.now!, cuda.initial!] : [cuda.c!, cpu.c!]
  const isSame = bitsOf(one.algebra, found.data).equals(bitsOf(one.algebra, expected.data))
  expect(isSame, one.what).toBe(true)
  expect(cuda.spilled).toBe(false)
  return cuda
}
