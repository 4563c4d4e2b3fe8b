/** The microbenchmarks execute the operations that they count, by their machine code. */
import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { variants } from '../../lib/index.js'
import { calculateOccupancy, occupancy } from '../../lib/lab.js'
import { addon, addonOrigin, type LabMicrobenchRequest } from '../../lib/native.js'
import { withCuda, withoutCuda, withoutLaboratory } from '../support/machine.js'
import { describeUnless, named } from '../support/skip.js'

const reason = withoutCuda() ?? withoutLaboratory()

const { functionsOf, loopOf } = (await import(
  new URL('../../native/tools/sass.mjs', import.meta.url).href
)) as {
  functionsOf: (dump: string) => object[]
  /** Longest loop of a function: its instructions by opcode. */
  loopOf: (code: object) => Map<string, number>
}

/** Mangled names of the instances of Algorithm 1 and of the mixes, by name. */
const words = (arithmetic: string) => `NS_4cuda5WordsINS_${arithmetic}EEEE`
const int32 = words('16NativeArithmeticINS_7MaxPlusIiEE')
const uint16 = words('19BiasedIntArithmeticINS_7MaxPlusIiEEt')
const steps: Record<string, string> = {
  'reg-reg': '5PlainINS0_9IntrinsicEEE',
  'add-max': '15SeparateResultsILNS0_4FormE1ENS0_6AluSumEEE',
  fused: `5FusedI${int32}EE`,
  'imad-max': '15SeparateResultsILNS0_4FormE3ENS0_11MultiplySumEEE',
  'imad-max3': `12MultiplyMax3I${int32}EE`,
  mixed: `9MixedRowsI${int32}EE`,
  'fused-u16x2': `5FusedI${uint16}EE`,
  'fused-s16x2': '5FusedINS0_7Int16x2EEE',
  'imad-max3-u16x2': `12MultiplyMax3I${uint16}EE`,
  'mixed-u16x2': `9MixedRowsI${uint16}EE`,
  'add-max-f32': '10FloatStepsILNS0_4FormE6ENS0_16FloatMaxPlusStepEEE',
  'fma-f32': '10FloatStepsILNS0_4FormE7ENS0_18FloatPlusTimesStepEEE',
}

describeUnless(reason, 'microbenchmarks', () => {
  it.each(addon.labMicrobenches().map(({ name }) => name))(
    '%s runs the requested iterations, in whole bodies of the loop',
    async (name) => {
      const run = async (n: number) => addon.labMicrobench({ name, x: 8, y: 8, m: 16, n, repetitions: 3 })
      const [once, twice] = [await run(800), await run(1600)]
      expect(twice.iterations).toBe(2 * once.iterations)
      expect(twice.operationsPerIteration).toBe(once.operationsPerIteration)
      expect(twice.ms).toHaveLength(3)
    },
  )

  // Shared memory beyond 48 KiB is allowed for each kernel separately, up to the largest request of a run.
  it.each([
    ['less, then more', [64, 128]],
    ['more, then less, then more', [128, 64, 128]],
  ])('alternates two kernels with %s shared memory', async (_, sizes) => {
    for (const m of sizes) {
      for (const x of [8, 4]) {
        const { iterations } = await addon.labMicrobench({
          name: 'shared-both',
          x,
          y: 8,
          bsi: 16,
          bsj: 16,
          m,
        })
        expect(iterations % m).toBe(0)
      }
    }
  })

  it('runs with the shared memory of an occupancy query, and with more', async () => {
    const microbench = { name: 'shared-both', x: 8, y: 4, bsi: 16, bsj: 16 }
    for (const m of [96, 128, 64]) {
      const { activeBlocks } = await addon.labOccupancy({ microbench: { ...microbench, m } })
      expect(activeBlocks).toBeGreaterThan(0)
      for (const taken of [m, m + 16])
        expect((await addon.labMicrobench({ ...microbench, m: taken })).iterations % taken).toBe(0)
    }
  })

  it('counts operations like the thesis', async () => {
    const operations = async (request: LabMicrobenchRequest) => {
      const result = await addon.labMicrobench({ m: 8, n: 100, ...request })
      expect(result.operationsPerThread).toBeCloseTo(result.operationsPerIteration * result.iterations, 3)
      return [result.operationsPerIteration, result.iterations]
    }
    for (const { x, y, max } of addon.labMicrobenches().find(({ name }) => name === 'reg-reg')!.instances) {
      const [each, iterations] = await operations({ name: 'reg-reg', x, y, max, n: 160 })
      expect([each, iterations]).toEqual([2 * (x * y + x + y), 160])
    }
    expect(await operations({ name: 'shared-one', x: 8, y: 4, k: 5 })).toEqual([2 * (32 + 4), 100 * 8 * 5])
    expect(await operations({ name: 'shared-both', x: 8, y: 4, k: 1 })).toEqual([2 * 32, 100 * 8])
    expect(await operations({ name: 'fused-u16x2', x: 8, y: 8, n: 160 })).toEqual([2 * 2 * 80, 160])
  })

  const dump = (name: string, x: number, y: number) => {
    const kernel = name === 'reg-reg' ? '14reg_reg_kernel' : '10mix_kernel'
    const names = [2, 4, 8, 16].map(
      (unrolled) =>
        `_ZN5mpmml10microbench${kernel}INS0_${steps[name]}Li${x}ELi${y}ELi${unrolled}EEEvNS0_9ArgumentsE`,
    )
    const architecture = addon.describe().cuda.devices[0]!.smVersion as string
    const { file } = addonOrigin
    const args = ['-sass', '-arch', architecture, '-fun', names.join(','), file]
    return spawnSync('cuobjdump', args, { encoding: 'utf8', maxBuffer: 1 << 28 })
  }
  const noDisassembler = spawnSync('cuobjdump', ['--version']).status !== 0 && 'there is no cuobjdump'
  it.skipIf(noDisassembler).for(
    addon
      .labMicrobenches()
      .filter(({ name }) => name in steps)
      .flatMap(({ name, instances }) =>
        instances.filter(({ max }) => max === 'intrinsic').map(({ x, y }) => ({ name, x, y })),
      ),
  )(
    named('$name $x × $y executes the instructions it reports', noDisassembler),
    async ({ name, x, y }, { skip }) => {
      const { instructionsPerIteration: reported } = await addon.labMicrobench({ name, x, y, n: 100 })
      if (!functionsOf(dump('reg-reg', 8, 8).stdout)[0]) return skip('the build has only PTX for this GPU')
      const [code] = functionsOf(dump(name, x, y).stdout)
      if (!code) return expect.fail('the addon has no function of this name')
      const loop = loopOf(code)
      const total = (counts: Iterable<number>) => [...counts].reduce((sum, count) => sum + count, 0)
      // The loop's body is several iterations, plus its counter and a few moves.
      const iterations = Math.floor(total(loop.values()) / total(Object.values(reported)))
      expect(iterations).toBeGreaterThanOrEqual(2)
      for (const [opcode, count] of Object.entries(reported)) {
        const found = loop.get(opcode) ?? 0
        expect(found - count * iterations, `${opcode}, ${iterations} iterations`).toBeGreaterThanOrEqual(0)
        expect(found - count * iterations, `${opcode}, ${iterations} iterations`).toBeLessThanOrEqual(1)
      }
      expect(total(loop.values()) / iterations / total(Object.values(reported))).toBeLessThan(1.06)
    },
  )

  it('rejects kernels that were not compiled, and lists the compiled ones', async () => {
    await expect(addon.labMicrobench({ name: 'reg-reg', x: 5 })).rejects.toThrow(/it is for 8x8/)
    await expect(addon.labMicrobench({ name: 'nothing' })).rejects.toThrow(/there are reg-reg, shared-one/)
    await expect(addon.labMicrobench({ name: 'shared-one', m: 1 << 20 })).rejects.toThrow(/shared memory/)
  })

  it('returns the occupancy of a block (Table 2.1)', async () => {
    const block = await addon.labOccupancy({
      microbench: { name: 'reg-reg', x: 4, y: 4, bsi: 32, bsj: 32 },
    })
    expect(block.threadsPerBlock).toBe(1024)
    expect(block.activeThreads).toBe(1024 * block.activeBlocks)
    expect(block.activeWarps * 32).toBe(block.activeThreads)
    expect(block.localBytes).toBe(0)
  })

  it('returns the occupancy of the calculator for the same registers', async () => {
    const gpu = addon.describe().cuda.devices[0]!.smVersion as string
    const names = variants().filter(({ family }) => family === 'mpmml' || family === 'ladder')
    expect(names.length).toBeGreaterThan(50)
    for (const { name } of names) {
      const { registersPerThread, sharedBytesPerBlock, threadsPerBlock, ...active } = await occupancy(name)
      const calculated = calculateOccupancy({
        registers: registersPerThread,
        threads: threadsPerBlock,
        shared: sharedBytesPerBlock,
        gpu,
      })
      const { activeBlocks, activeWarps, activeThreads, occupancyPercent } = active
      expect(calculated, name).toMatchObject({ activeBlocks, activeWarps, activeThreads, occupancyPercent })
    }
  })

  it('has the occupancy of Table 2.1 in Algorithm 1 in its listed form (sm_90)', async ({ skip }) => {
    if (addon.describe().cuda.devices[0]!.smVersion !== 'sm_90') return skip('registers are those of sm_90')
    const block = (y: number) =>
      addon.labOccupancy({ microbench: { name: 'reg-reg', x: 4, y, bsi: 32, bsj: 32 } })
    expect(await block(4)).toMatchObject({ registersPerThread: 30, occupancyPercent: 100 })
    expect(await block(6)).toMatchObject({ registersPerThread: 38, occupancyPercent: 50 })
  })
})

describeUnless(withCuda(), 'the laboratory without a GPU', () => {
  it('reports why it measures nothing', async () => {
    const refused = { code: 'ERR_MPMML_NO_CUDA', message: expect.stringContaining(reason ?? '') }
    await expect(addon.labMicrobench({ name: 'reg-reg' })).rejects.toMatchObject(refused)
    await expect(addon.labMeasure({ variant: 0, m: 1, n: 1, k: 1 })).rejects.toMatchObject(refused)
    await expect(addon.labOccupancy({ variant: 0 })).rejects.toMatchObject(refused)
    await expect(addon.labBandwidth({ name: 'copy' })).rejects.toMatchObject(refused)
  })
})
