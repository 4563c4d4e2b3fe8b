/**
 * The parts of the ladder, borders and rooflines that need no GPU. Expected values are published or computed
 * by hand.
 */
import { describe, expect, it } from 'vitest'
import { averageText, borders, experiments } from '../../bench/lab/borders.js'
import { compare, laddered } from '../../bench/lab/calls.js'
import { addCounters, readMetrics } from '../../bench/lab/counters.js'
import { LadderPoints, ladderTable, reportTables, seconds } from '../../bench/lab/describe-ladder.js'
import { rooflineDrawing } from '../../bench/lab/describe-roofline.js'
import { readDimensions } from '../../bench/lab/dimensions.js'
import * as k20 from '../../bench/lab/k20.js'
import { isCoalesced, ladderKernels, ladderKernelsOf, sizeOf, tableJobs } from '../../bench/lab/ladder.js'
import { bindingText, rooflineJobs, rooflines } from '../../bench/lab/roofline.js'
import { svgFile } from '../../bench/report/plot.js'
import { wavefronts } from '../../lib/lab/intensity.js'
import * as lab from '../../lib/lab.js'
import { withoutLaboratory } from '../support/machine.js'
import {
  bandwidthPoint,
  callPoint,
  kernelPoint,
  microbenchPoint,
  rungParameters,
} from '../support/made-up.js'
import { describeUnless, itUnless } from '../support/skip.js'

const noLab = withoutLaboratory()
/** Row of the ladder family in the format of the table. */
const rung = (technique: string, tile: number, order = 'coalesced') => ({
  family: 'ladder',
  parameters: rungParameters(technique, tile, order),
})

describe('dimensions', () => {
  // main() in the report's listing sets missing dimensions of B to A's columns and B's rows.
  it.each<[number[], number, number, number]>([
    [[5], 5, 5, 5],
    [[5, 7], 5, 7, 7],
    [[5, 7, 7], 5, 7, 7],
    [[5, 7, 7, 9], 5, 7, 9],
  ])('are completed to %j', (given, m, k, n) => {
    expect(readDimensions(given)).toEqual({ m, k, n })
  })
  it.each([[[5, 7, 8]], [[5, 7, 5, 9]]])('are rejected as inconsistent: %j', (given) => {
    expect(() => readDimensions(given)).toThrow(/dimensions inconsistent: A is 5 × 7 and B is/)
  })
})

describe("the report's times on a K20c", () => {
  it('are equal to its tables', () => {
    expect(k20.baseline.get(1000)).toEqual({ kernel: 0.23, total: 1.04 })
    expect(k20.baseline.get(6000)).toEqual({ kernel: 50.13, total: 51.06 })
    expect(k20.baseline.get(10000)).toEqual({ kernel: 231.67, total: 232.94 })
    expect(k20.sharedMemory.get(1000)).toEqual({ kernel: 0.01, total: 0.73 })
    expect(k20.sharedMemory.get(8000)).toEqual({ kernel: 3.87, total: 5 })
    expect([...k20.baseline.keys()]).toEqual([...k20.sharedMemory.keys()])
    expect(k20.byBlockSize.get(1)).toEqual({ kernel: 1273.66, total: 1274.96 })
    expect(k20.byBlockSize.get(4)).toEqual({ kernel: 75.27, total: 76.58 })
    // Table 3 of the report starts with the last time of its Table 2.
    expect(k20.byBlockSize.get(32)).toEqual(k20.sharedMemory.get(10000))
  })
  it('agree with its text: shared memory is about 30 times as fast as the baseline', () => {
    const ratio = k20.baseline.get(10000)!.kernel / k20.sharedMemory.get(10000)!.kernel
    expect(Math.round(ratio)).toBe(29)
  })
  it('include allocation and transfers in the total', () => {
    for (const times of [k20.baseline, k20.sharedMemory, k20.byBlockSize]) {
      for (const { kernel, total } of times.values()) expect(total).toBeGreaterThan(kernel)
    }
  })
})

describe('tables', () => {
  const at = (
    name: string,
    kernelMs: number,
    totalMs: number,
    m: number,
    p: Record<string, string | number>,
  ) => {
    const parameters = { semiring: 'max-plus', dtype: 'int32', m, n: m, k: m }
    return [
      kernelPoint('ladder', name, { ...parameters, ...p }, { kernelMs }),
      callPoint(name, parameters, { totalMs, kernelMs }),
    ]
  }
  const naive = rung('naive', 32, 'uncoalesced').parameters
  const tiled = rung('tiled', 32).parameters
  const all = [
    ...at('ladder_tiled', 20, 300, 10000, tiled),
    ...at('ladder_naive', 500, 900, 10000, naive),
    ...at('ladder_naive', 1, 5, 1000, naive),
  ]
  const points = new LadderPoints(all)
  const list = ladderKernelsOf(all.filter(({ kind }) => kind === 'kernel'))

  it('have the K20c next to the measurement, and the ratio', () => {
    const [first, second, third] = reportTables(points, list, [1000, 10000])
    expect(first!.rows.slice(1)).toEqual([
      ['1000', '0.23', '1.04', '0.001', '0.005', '230'],
      ['10000', '232', '233', '0.5', '0.9', '463'],
    ])
    // Size 1000 wasn't measured, so its row has only the K20c's times.
    expect(second!.rows.slice(1)).toEqual([
      ['1000', '0.01', '0.73', '', '', ''],
      ['10000', '7.99', '9.49', '0.02', '0.3', '400'],
    ])
    expect(third!.rows.slice(1)).toEqual([['32', '7.99', '9.49', '0.02', '0.3', '400']])
    // Table 3 of the report is for size 10000, so its times aren't shown next to other sizes.
    expect(reportTables(points, list, [1000])[2]!.rows[1]!.slice(0, 3)).toEqual(['32', '', ''])
  })
  it('have every kernel of the ladder from the slowest, compared with it', () => {
    const { rows } = ladderTable(points, list, [10000, 10000, 10000])
    expect(rows.slice(1).map(([title, kernel, , , ratio]) => [title, kernel, ratio])).toEqual([
      ['one thread per cell, uncoalesced', '0.5', '1'],
      ['tiles in shared memory 32×32, coalesced', '0.02', '25'],
    ])
  })
  it.each([
    [1273.66, '1274'],
    [7.99, '7.99'],
    [0.012345, '0.0123'],
    [0.0000042, '0.000004'],
  ])('print %d seconds as %s', (value, text) => {
    expect(seconds(value)).toBe(text)
  })
})

it('offers the ladder for the semirings of its variants', async () => {
  const { ladder } = await import(new URL('../../native/variants/ladder.mjs', import.meta.url).href)
  expect(laddered).toEqual(ladder.semirings)
})

describeUnless(noLab, 'rungs of this build', () => {
  it('go from the baseline to the tuned kernel', () => {
    const names = ladderKernels({ semiring: 'max-plus', dtype: 'int32' }).map(({ variant }) => variant.name)
    expect(names[0]).toBe('ladder_maxplus_i32_naive_32x32_uncoalesced')
    expect(names.at(-2)).toMatch(/^mpmml_maxplus_i32_/)
    expect(names.at(-1)).toMatch(/^pipelined_maxplus_i32_/)
    for (const tile of [1, 2, 4, 8, 16, 32]) {
      expect(names).toContain(`ladder_maxplus_i32_tiled_${tile}x${tile}_coalesced_guards`)
    }
  })
  it.each(['guards', 'padding'] as const)('have %s', (borders) => {
    const tiled = ladderKernels({ semiring: 'min-plus', dtype: 'int32' }, borders).filter(
      ({ variant: { parameters: p } }) => p.technique === 'tiled' && Number(p.tile) > 1,
    )
    expect(tiled).toHaveLength(10)
    for (const { variant } of tiled) expect(variant.parameters.borders).toBe(borders)
  })
  it('exist for plus-times on float32 too', () => {
    expect(ladderKernels({ semiring: 'plus-times', dtype: 'float32' }).length).toBeGreaterThan(14)
  })
  it('are timed over all sizes for Tables 1 and 2, and all of them at the largest', () => {
    const jobs = tableJobs({ semiring: 'max-plus', dtype: 'int32' }, 'guards', [1000, 2000])
    const kernels = (m: number) =>
      jobs.filter(({ kind, parameters }) => kind === 'kernel' && parameters.m === m)
    expect(kernels(1000)).toHaveLength(4)
    expect(kernels(2000)).toHaveLength(ladderKernels({ semiring: 'max-plus', dtype: 'int32' }).length)
    // Every kernel measurement has an end-to-end measurement.
    expect(jobs.filter(({ kind }) => kind === 'call')).toHaveLength(jobs.length / 2)
  })
  it('have an intensity each', () => {
    for (const { variant } of ladderKernels({ semiring: 'max-plus', dtype: 'int32' })) {
      expect(lab.intensityOf(variant), variant.name).toBeDefined()
    }
  })
})

describe('comparison with float64', () => {
  const shape = { m: 2, k: 3, n: 2 }
  const a = [1, 6, 2, 8, 3, 4]
  const b = [2, 5, 3, 3, 1, 6]
  it('accepts the max-plus example', () => {
    const request = { semiring: 'max-plus', dtype: 'int32', ...shape } as const
    expect(compare(request, a, b, [9, 9, 10, 13])).toEqual({ relativeError: 0, compared: 4 })
    expect(() => compare(request, a, b, [9, 9, 10, 12])).toThrow('C[1, 1] is 12, and in float64 13')
  })
  it('accepts the rounding of K terms for plus-times, and no more', () => {
    const request = { semiring: 'plus-times', dtype: 'float32', ...shape } as const
    // The first element is 1·2 + 6·3 + 2·1 = 22.
    const exact = [22, 35, 29, 73]
    expect(compare(request, a, b, exact).relativeError).toBe(0)
    const off = exact.map((value) => value * (1 + 2 ** -24))
    expect(compare(request, a, b, off).relativeError).toBeCloseTo(2 ** -24, 12)
    expect(() =>
      compare(
        request,
        a,
        b,
        exact.map((value) => value * (1 + 2 ** -20)),
      ),
    ).toThrow('relative error')
    expect(() => compare(request, a, b, [Number.NaN, 35, 29, 73])).toThrow('C[0, 0]')
  })
  it('samples a large result from end to end', () => {
    const one = new Int32Array(3000)
    const request = { semiring: 'min-plus', dtype: 'int32', m: 3000, k: 1, n: 3000 } as const
    const c = new Int32Array(3000 * 3000)
    expect(compare(request, one, one, c)).toEqual({ relativeError: 0, compared: 1000 })
    c[c.length - 1] = 1
    expect(() => compare(request, one, one, c)).toThrow('C[2999, 2999]')
  })
})

describe('borders', () => {
  const point = (borders: string, m: number, k: number, kernelMs: number, prepareMs = 0) =>
    kernelPoint(
      'borders',
      `ladder_${borders}`,
      { borders, semiring: 'max-plus', dtype: 'int32', m, n: m, k },
      { kernelMs, prepareMs },
    )
  const points = [
    point('guards', 500, 32, 2),
    point('padding', 500, 32, 1, 1),
    point('guards', 900, 32, 4),
    point('padding', 900, 32, 5, 5),
    point('guards', 500, 64, 1),
    // This size has no measurement with guards, so the result excludes it.
    point('padding', 900, 64, 1),
  ]
  it('are compared size by size, and on average', () => {
    const [only, ...rest] = experiments(points)
    expect(rest).toEqual([])
    expect(only).toMatchObject({ semiring: 'max-plus', dtype: 'int32', k: 32 })
    expect(only!.rows.map(({ size, normalised }) => [size, normalised])).toEqual([
      [500, 0.5],
      [900, 1.25],
    ])
    // The gains are 2 / 1 − 1 and 4 / 5 − 1. With the copies they are 2 / 2 − 1 and 4 / 10 − 1.
    expect(only!.average).toBeCloseTo(0.4)
    expect(only!.averageWithCopies).toBeCloseTo(-0.3)
    expect(averageText(only!)).toBe(
      'On average padding is ahead by 40.00 % (the paper, GTX 680: ahead by 15.51 %); with the copies that pad the operands, behind by 30.00 %',
    )
  })
  itUnless(noLab, 'are swept over sizes that no tile divides, for K = 32 and 64', () => {
    const { jobs, sizes } = borders
    expect(sizes.filter((size) => size % 32 === 0)).toEqual([])
    const all = jobs([...sizes])
    expect(new Set(all.map(({ parameters }) => parameters.k))).toEqual(new Set([32, 64]))
    expect(new Set(all.map(({ parameters }) => parameters.semiring))).toEqual(
      new Set(['max-plus', 'plus-times']),
    )
    // Every size is measured with guards and with padding.
    expect(all).toHaveLength(2 * 2 * 2 * sizes.length)
  })
})

describe('intensity', () => {
  // In the tutorial a step has two operations and reads two elements of four bytes. Tiles divide the reads by
  // their width.
  it.each([
    [rung('naive', 32), 1 / 4],
    [rung('naive', 32, 'uncoalesced'), 1 / 4],
    [rung('tiled', 1), 1 / 4],
    [rung('tiled', 4), 1],
    [rung('tiled', 8), 2],
    [rung('tiled', 16), 4],
    [rung('tiled', 32), 8],
    [rung('prefetch', 32), 8],
  ])('of %j is %d per byte of global memory', (variant, expected) => {
    expect(lab.intensityOf(variant)!.global).toBe(expected)
  })

  it('counts wavefronts: words of one bank are serialized, and one word serves all threads', () => {
    expect(wavefronts([5, 5, 5, 5])).toBe(1)
    expect(wavefronts(Array.from({ length: 32 }, (_, lane) => lane))).toBe(1)
    expect(wavefronts(Array.from({ length: 32 }, (_, lane) => 2 * lane))).toBe(2)
    expect(wavefronts(Array.from({ length: 32 }, (_, lane) => 32 * lane))).toBe(32)
    expect(wavefronts(Array.from({ length: 32 }, (_, lane) => 33 * lane))).toBe(1)
  })

  it.each([
    // A warp computes a row of the tile. Its 32 steps read 32 rows of B, and its row of A by 8 vectors. The
    // warp stores 2 rows.
    ['coalesced', 32 + 8 + 2],
    // A warp computes a column. Its 32 rows of A are in the same banks, in loads (8 vectors of 32 wavefronts)
    // and in both stores.
    ['uncoalesced', 8 * 32 + 32 + 2 * 32],
  ])('is computed for tiles of 32, %s, per byte of shared memory', (order, count) => {
    expect(lab.intensityOf(rung('tiled', 32, order))!.shared).toBeCloseTo((2 * 32 * 32) / (128 * count), 12)
  })

  it('is computed for tiles in registers', () => {
    const pipelined = {
      family: 'pipelined',
      parameters: { BM: 128, BN: 64, BK: 16, TM: 8, TN: 8, stages: 2, slices: 1, accumulator: 'int32' },
    }
    // A step has 2 · 128 · 64 operations for (128 + 64) · 4 bytes. A warp reads 4 wavefronts and writes (128
    // + 64) / 32 / 4.
    expect(lab.intensityOf(pipelined)).toEqual({ global: 16384 / 768, shared: 4096 / (128 * 5.5) })
    expect(
      lab.intensityOf({ ...pipelined, parameters: { ...pipelined.parameters, accumulator: 'uint16' } }),
    ).toBe(undefined)
  })

  it('marks only some kernels of the ladder as uncoalesced', () => {
    expect(isCoalesced(rung('tiled', 8, 'uncoalesced'))).toBe(false)
    expect(isCoalesced(rung('tiled', 8))).toBe(true)
    expect(isCoalesced({ parameters: {} })).toBe(true)
  })
})

describe('rooflines', () => {
  /** The tutorial's GPU, an M2090: 1331 GFlop/s, 177 GB/s. */
  const m2090 = { operations: 1331, deviceMemory: 177 }
  it.each([
    [rung('naive', 32), 44.25, 'deviceMemory'],
    [rung('tiled', 4), 177, 'deviceMemory'],
    [rung('tiled', 8), 354, 'deviceMemory'],
    [rung('tiled', 16), 708, 'deviceMemory'],
    // The tutorial states "for TILE_SIZE = 32: new performance limit at 1331 GFlop/s".
    [rung('tiled', 32), 1331, 'operations'],
  ])('bound %j on the tutorial’s GPU at %d', (variant, gops, name) => {
    expect(lab.roofsOver(m2090, lab.intensityOf(variant)!, true)[0]).toEqual({ name, gops })
  })
  it('include strided access only for uncoalesced kernels', () => {
    const ceilings = { ...m2090, strided: 177 / 8, l2: 500, sharedMemory: 1000 }
    const names = (coalesced: boolean) =>
      lab.roofsOver(ceilings, { global: 1, shared: 1 }, coalesced).map((roof) => roof.name)
    expect(names(true)).toEqual(['deviceMemory', 'l2', 'sharedMemory', 'operations'])
    expect(names(false)).toEqual(['strided', 'deviceMemory', 'l2', 'sharedMemory', 'operations'])
  })
  it('name the binding limit, and the limits below', () => {
    const roofs = lab.roofsOver({ ...m2090, l2: 500 }, { global: 1, shared: 1 }, true)
    expect(bindingText({ roofs, gops: 100 })).toBe('device memory')
    expect(bindingText({ roofs, gops: 200 })).toBe('L2; above that of device memory')
    expect(bindingText({ roofs, gops: 2000 })).toBe(
      'none of these; above that of device memory and L2 and instructions',
    )
  })

  it('are made of points, one for each algebra and size', () => {
    const kernel = (size: number, gops: number) =>
      kernelPoint(
        'roofline',
        'ladder_maxplus_i32_tiled_16x16_coalesced_guards',
        { ...rungParameters('tiled', 16), semiring: 'max-plus', dtype: 'int32', m: size, n: size, k: size },
        { gops },
      )
    const points: lab.Point[] = [
      bandwidthPoint('copy', 100),
      bandwidthPoint('strided', 90, 1),
      bandwidthPoint('strided', 12, 32),
      kernel(64, 10),
      kernel(128, 20),
    ]
    // A roofline requires the peak rate of instructions.
    expect(rooflines(points)).toEqual([])
    points.push(microbenchPoint('roofline', 'fused', 1000))
    const found = rooflines(points)
    expect(found.map(({ size, kernels }) => [size, kernels[0]!.gops])).toEqual([
      [64, 10],
      [128, 20],
    ])
    expect(found[0]!.ceilings).toMatchObject({ operations: 1000, deviceMemory: 100, strided: 12 })
    expect(found[0]!.kernels[0]!.roofs[0]).toEqual({ name: 'deviceMemory', gops: 400 })
  })

  it('include tensor cores for the kernels that use them', () => {
    const parameters = { semiring: 'max-plus', dtype: 'int32', m: 64, n: 64, k: 64 }
    const exponents = { ...parameters, BM: 128, BN: 128, BK: 64, stages: 6, accumulator: 'exponent' }
    const points: lab.Point[] = [
      bandwidthPoint('copy', 1e6),
      microbenchPoint('roofline', 'fused', 1000),
      kernelPoint('roofline', 'exponent_maxplus_i32_128x128x64_st6', exponents, { gops: 20_000 }),
    ]
    const h200 = { multiprocessors: 132, maxClockMHz: 1980 }
    const peak = lab.peaks().find(({ capability }) => capability === '9.0')
    if (lab.peaks().length > 0)
      expect(lab.tensorPeak({ gpu: h200, peak: peak! })).toBeCloseTo(1_070_530.56, 0)
    expect(lab.tensorPeak({ gpu: h200, peak: null })).toBeUndefined()
    const [roofline] = rooflines(points, 1_000_000)
    expect(roofline).toMatchObject({ tensor: 1_000_000, ceilings: { operations: 1000 } })
    const [kernel] = roofline!.kernels
    expect(kernel!.roofs).toContainEqual({ name: 'operations', gops: 1_000_000 })
    expect(svgFile(rooflineDrawing(roofline!), 'H200')).toContain('tensor cores 1000.0 TOPS')
    // Kernels can't be judged without the peak rate, and a roofline without kernels can't be drawn.
    expect(rooflines(points)).toEqual([])
  })

  itUnless(noLab, 'measure every ceiling and every rung', () => {
    const algebra = { semiring: 'max-plus', dtype: 'int32' } as const
    const jobs = rooflineJobs(algebra, 4096)
    const names = (kind: string) => jobs.filter((job) => job.kind === kind).map(({ name }) => name)
    expect(new Set(names('bandwidth'))).toEqual(new Set(['copy', 'l2', 'shared', 'strided']))
    expect(lab.bandwidths().map(({ name }) => name)).toEqual(['copy', 'l2', 'shared', 'strided'])
    expect(names('microbench')).toEqual(['fused', 'mixed'])
    const all = [
      ...ladderKernels(algebra).map(({ variant }) => variant.name),
      'exponent_maxplus_i32_128x128x64_st6',
    ]
    expect(names('kernel')).toEqual(all)
    expect(jobs.at(-1)!.parameters).toMatchObject({ ...sizeOf(4096), ...algebra })
  })
})

it('reads metrics from the output of ncu', () => {
  const csv = [
    '==PROF== Connected to process 1',
    '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"',
    '"0","tiled_kernel","dram__bytes.sum","byte","1,234,567"',
    '"0","tiled_kernel","lts__t_bytes.sum","byte","89"',
    '',
  ].join('\n')
  expect(readMetrics(csv)).toEqual(
    new Map([
      ['dram__bytes.sum', 1234567],
      ['lts__t_bytes.sum', 89],
    ]),
  )
  expect(readMetrics('==ERROR== no permission').size).toBe(0)
})

it('prints a line without ncu, and keeps all points', async () => {
  const point = kernelPoint('roofline', 'ladder', { m: 1, n: 1, k: 1 })
  const path = process.env.PATH
  process.env.PATH = ''
  try {
    const why = await addCounters([point], 0, new AbortController().signal)
    expect(why).toBe('There are no hardware counters: ncu is not on the PATH')
  } finally {
    process.env.PATH = path
  }
  expect(point.result).not.toHaveProperty('counters')
})

describe('bandwidths', () => {
  itUnless(noLab, 'that do not exist are refused', async () => {
    await expect(lab.bandwidth('l3')).rejects.toMatchObject({ code: 'ERR_MPMML_VARIANT' })
  })
  it('reject wrong options', async () => {
    await expect(lab.bandwidth('copy', { stride: 0 })).rejects.toMatchObject({ code: 'ERR_MPMML_OPTION' })
  })
})
