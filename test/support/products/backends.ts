/** Products that are too large for the definition: what a GPU computes has the bits of the CPU, which the definition has checked. */
import { expect } from 'vitest'
import type { Case } from './case.js'
import type { Outcome } from './law.js'
import { compute } from './places.js'

const bytesOf = ({
  buffer,
  byteOffset,
  byteLength,
}: {
  buffer: ArrayBufferLike
  byteOffset: number
  byteLength: number
}) => Buffer.from(buffer, byteOffset, byteLength)

/** Fails unless both backends have the same result, or the same error that leaves `out` as it was. Returns what CUDA has come to. */
export async function expectAsOnCpu(one: Case): Promise<Outcome> {
  const outcomes = []
  for (const backend of ['cuda', 'cpu'] as const) {
    const place = { name: backend, options: { backend }, expectation: { backend }, sync: true }
    outcomes.push(await compute(place, one, 'out'))
  }
  const [cuda, cpu] = outcomes as [Outcome, Outcome]
  expect((cuda.error as Error | undefined)?.message, one.what).toBe((cpu.error as Error | undefined)?.message)
  const [found, expected] = cuda.error ? [cuda.now!, cuda.held!] : [cuda.c!, cpu.c!]
  expect(bytesOf(found.data).equals(bytesOf(expected.data)), one.what).toBe(true)
  expect(cuda.spilled).toBe(false)
  return cuda
}
