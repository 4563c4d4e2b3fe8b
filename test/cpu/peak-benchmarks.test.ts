/** Peak benchmarks that products on the CPU are compared with. */
import { describe, expect, it } from 'vitest'
import { type DataType, info, type Semiring, variants } from '../../lib/index.js'
import { cpuCeiling, cpuCeilingName, cpuNaiveLoop } from '../../lib/lab.js'
import { expectError } from '../support/expect.js'

const rejected = (promise: Promise<unknown>) => promise.catch((error: unknown) => error)
const short = { milliseconds: 10 }

describe('cpuCeiling', () => {
  it('uses the instruction set of products', async () => {
    const { isa, bits, threads, gops } = await cpuCeiling(short)
    expect({ isa, bits, threads }).toEqual({ isa: info().cpu.simd, bits: 32, threads: 1 })
    expect(gops.median).toBeGreaterThan(0)
    expect(gops.count).toBe(9)
  })

  it('measures every instruction set of this machine', async () => {
    for (const isa of ['avx512', 'avx2', 'sse41', 'neon', 'portable'] as const) {
      if (!info().cpu.instructionSets.includes(isa)) continue
      expect(await cpuCeiling({ ...short, isa })).toMatchObject({ isa, bits: 32 })
      for (const bits of [8, 16, 64] as const)
        expect(await cpuCeiling({ ...short, isa, bits })).toMatchObject({ isa, bits })
    }
  })

  it('measures the steps of floating-point elements', async () => {
    const wide = await cpuCeiling({ ...short, dtype: 'float64' })
    expect(wide).toMatchObject({ dtype: 'float64', bits: 64 })
    const single = await cpuCeiling({ ...short, dtype: 'float32' })
    expect(single).toMatchObject({ dtype: 'float32', bits: 32 })
    const fused = await cpuCeiling({ ...short, dtype: 'float32', semiring: 'plus-times' })
    expect(fused.gops.median).toBeGreaterThan(0)
  })

  it('measures the steps of the semirings that it names, on every type', async () => {
    expect(cpuCeilingName('or-and')).toBe('words of 64 truth values')
    const algebras = new Set(variants().map(({ semiring, dtype }) => `${semiring} ${dtype}`))
    for (const algebra of algebras) {
      const [semiring, dtype] = algebra.split(' ') as [Semiring, DataType]
      if (cpuCeilingName(semiring) === undefined) continue
      const { gops } = await cpuCeiling({ ...short, semiring, dtype })
      expect(gops.median, algebra).toBeGreaterThan(0)
    }
  })

  it("rejects requests that it can't measure", async () => {
    const wrong = (options: object) => rejected(cpuCeiling(options))
    expectError(await wrong({ isa: 'avx9' }), 'VARIANT', 'avx9')
    expectError(await wrong({ isa: 9 }), 'OPTION', 'isa')
    expectError(await wrong({ dtype: 'int16' }), 'OPTION', 'dtype')
    expectError(await wrong({ semiring: 'plus' }), 'OPTION', 'semiring')
    expectError(await wrong({ semiring: 'plus-times' }), 'DTYPE', 'plus-times')
    expectError(await wrong({ bits: 32, dtype: 'float32' }), 'OPTION', 'bits')
    expectError(await wrong({ bits: 24 }), 'OPTION', 'bits')
    expectError(await wrong({ bits: 16, semiring: 'max-min' }), 'OPTION', 'bits', 'max-min')
    expectError(await wrong({ threads: 0 }), 'OPTION', 'threads')
    expectError(await wrong({ speed: 1 }), 'OPTION', 'speed')
  })
})

describe('cpuNaiveLoop', () => {
  it('counts two operations per step', async () => {
    const { ms, gops } = await cpuNaiveLoop({ m: 64, n: 512, k: 256 })
    expect(ms.count).toBe(3)
    expect(gops.median).toBeCloseTo((2 * 64 * 512 * 256) / ms.median / 1e6, 6)
  })

  it('requires its sizes', async () => {
    expectError(await rejected(cpuNaiveLoop({ m: 1, n: 2 } as never)), 'OPTION', 'k')
    expectError(await rejected(cpuNaiveLoop({ m: 1, n: 2, k: 0 })), 'OPTION', 'k')
  })
})
