/** Verdicts of the report on statements of the thesis and of other publications, for numbers on both sides of each band. */
import { describe, expect, it } from 'vitest'
import { claimsOf, otherClaimsOf, verdictCounts } from '../../bench/report/claims.js'
import { Data } from '../../bench/report/data.js'
import type { PaperClaim } from '../../bench/report/judge.js'
import type { Machine, MicrobenchPoint, Occupancy, OccupancyPoint, Point, Results } from '../../lib/lab.js'
import {
  bandwidthPoint,
  callPoint,
  kernelPoint,
  microbenchPoint,
  rungParameters,
} from '../support/made-up.js'

/** GPU with the given number of multiprocessors of 128 cores and clock; an H200 by default. */
const machineOf = (
  name = 'NVIDIA H200',
  multiprocessors = 132,
  maxClockMHz = 1980,
  cores = 128,
): Machine => ({
  gpu: { name, multiprocessors, maxClockMHz, computeCapability: '0.0' },
  driver: '0.0',
  toolkit: '0.0',
  architectures: [],
  mpmml: '0.0.0',
  commit: null,
  compiler: '',
  node: '',
  peak: cores
    ? {
        capability: '0.0',
        add: 0,
        minmax: 0,
        multiplyAdd: 0,
        fused: 0,
        packed: 0,
        issue: 0,
        tensor: 0,
        cores,
      }
    : null,
})

/** Speed of one operation per clock and core in GOPS: 132 × 128 × 1.98. */
const PEAK = 33454

const thesisGpus: Record<string, Machine> = {
  'GTX 980': machineOf('NVIDIA GeForce GTX 980', 16, 1216),
  'GTX Titan X': machineOf('GeForce GTX TITAN X', 24, 1076),
  'GTX 1080 Ti': machineOf('NVIDIA GeForce GTX 1080 Ti', 28, 1582),
}

const dataOf = (points: Point[], machine = machineOf()) =>
  new Data({ format: 'mpmml-lab-results', version: 1, machine, points } as unknown as Results)

const claim = (id: string, points: Point[], machine?: Machine): PaperClaim =>
  [...claimsOf(dataOf(points, machine)), ...otherClaimsOf(dataOf(points, machine))].find(
    (one) => one.id === id,
  )!
const verdict = (id: string, points: Point[], machine?: Machine) => claim(id, points, machine).verdict

const kernel = (sweep: string, gops: number, parameters: Record<string, number>, name = 'made-up') =>
  kernelPoint(
    sweep,
    name,
    { X: 8, Y: 8, Sub_X: 4, Sub_Y: 4, Transpose: 0, MEMSEL_A: 0, MEMSEL_B: 0, ...parameters },
    { kernelMs: 1e6 / gops, gops },
  )

const caseNames = ['00', '01', '10', '11']
/** Returns points with the speeds of cases 00, 01, 10 and 11 at a size. */
const cases = (speeds: number[], m = 8192) =>
  speeds.map((gops, index) =>
    kernel('cases', gops, { m, MEMSEL_A: index >> 1, MEMSEL_B: index & 1 }, `case${caseNames[index]}`),
  )

const occupancy = (name: string, occupancyPercent: number, parameters: OccupancyPoint['parameters'] = {}) =>
  ({
    kind: 'occupancy',
    sweep: 'occupancy',
    name,
    parameters,
    measured: '2020-01-01T00:00:00.000Z',
    result: { registersPerThread: 32, occupancyPercent } as Occupancy,
  }) satisfies OccupancyPoint

const microbench = (
  name: string,
  gops: number,
  parameters: Record<string, number | string> = {},
): MicrobenchPoint => ({
  ...microbenchPoint(name, name, gops),
  parameters: {
    x: 8,
    y: 8,
    bsi: 16,
    bsj: 16,
    max: 'intrinsic',
    ...parameters,
  } as MicrobenchPoint['parameters'],
})

describe('large matrices', () => {
  const at = (gops: number, machine?: Machine) =>
    verdict('large', [kernel('cases', gops, { m: 8192 })], machine)

  // The bounds are 3065 / (28 · 128 · 1.582) and 3631 / (16 · 128 · 1.216) of one operation per clock and
  // core.
  it.each([
    [0.5405, 'differs'],
    [0.5407, 'agrees'],
    [1.457, 'agrees'],
    [1.459, 'differs'],
  ])('are judged by the share of the peak on other GPUs: %d %s', (share, expected) => {
    expect(at(share * PEAK)).toBe(expected)
  })

  it.each(Object.keys(thesisGpus))('are judged in GOPS, ± 10 %%, on a %s', (name) => {
    const machine = thesisGpus[name]
    expect([2758, 2759, 3994, 3995].map((gops) => at(gops, machine))).toEqual([
      'differs',
      'agrees',
      'agrees',
      'differs',
    ])
  })

  it('cannot be judged on a GPU with an unknown number of cores', () => {
    expect(at(20000, machineOf('NVIDIA X', 100, 1000, 0))).toBe('elsewhere')
  })

  it('start at 4K', () => {
    expect(verdict('large', [kernel('cases', 28000, { m: 1024 })])).toBe('missing')
  })
})

describe('GPUs of the thesis', () => {
  it.each([
    'NVIDIA GeForce GTX 980 Ti',
    'NVIDIA GeForce GTX 980M',
    'NVIDIA TITAN X (Pascal)',
    'TITAN X',
    'NVIDIA GeForce GTX 1080',
  ])('do not include %s', (name) => {
    expect(dataOf([], machineOf(name)).thesisGpu).toBeUndefined()
  })
  it('are recognized by the names that CUDA reports', () => {
    for (const [name, machine] of Object.entries(thesisGpus)) {
      expect(dataOf([], machine).thesisGpu?.name).toBe(name)
    }
  })
})

describe('cases', () => {
  it.each<[number[], string, string]>([
    [[3000, 1999, 1998, 1997], 'agrees', 'agrees'],
    [[3000, 2000, 1998, 1997], 'differs', 'agrees'],
    [[3000, 1000, 400, 500], 'agrees', 'differs'],
    [[3000, 1000, 500, 500], 'agrees', 'differs'],
    [[500, 3000, 1000, 900], 'differs', 'differs'],
    [[3000, 1000, 900], 'missing', 'missing'],
  ])('agree for 00, 01, 10 and 11 at %j: far behind %s, 11 the slowest %s', (speeds, far, slowest) => {
    expect(verdict('cases', cases(speeds))).toBe(far)
    expect(verdict('case11', cases(speeds))).toBe(slowest)
  })

  // Medians on an H200: the speeds of the slowest other case and of case 11.
  const h200: [size: number, other: number, case11: number][] = [
    [1024, 7050, 7154],
    [2048, 14661, 14918],
    [4096, 14670, 15083],
    [8192, 14719, 14912],
    [16384, 15045, 14930],
  ]
  const points = h200.flatMap(([m, other, case11]) => cases([27000, 16000, other, case11], m))

  it('differ if case 11 is the slowest at one of five sizes of an H200', () => {
    const { verdict, measured } = claim('case11', points)
    expect(verdict).toBe('differs')
    expect(measured).toContain('the slowest at 1 of 5 sizes')
    for (const [, other, case11] of h200) expect(measured).toContain(`${other} and ${case11} at `)
  })

  it('agree if case 11 is the slowest at every size', () => {
    const slow = h200.flatMap(([m, other]) => cases([27000, 16000, other, other - 1], m))
    expect(verdict('case11', slow)).toBe('agrees')
  })

  it('show the occupancy of each case', () => {
    const measured = [25, 12.5, 12.5, 12.5].map((percent, index) =>
      occupancy(`case${caseNames[index]}`, percent),
    )
    for (const id of ['cases', 'case11']) {
      const text = claim(id, [...points, ...measured]).measured.replaceAll('\u00a0', ' ')
      expect(text).toContain('occupancy of case 00 25 %, case 01 12.5 %, case 10 12.5 %, case 11 12.5 %')
    }
    expect(claim('cases', points).measured).not.toContain('occupancy')
  })
})

describe('patterns', () => {
  /** Returns points with the speeds of the patterns block, block-cyclic and cyclic. */
  const patterns = (speeds: number[], m: number) =>
    speeds.map((gops, index) => kernel('patterns', gops, { m, Sub_X: [8, 4, 1][index]! }))

  it.each([
    [2700, 'agrees'],
    [2699, 'differs'],
  ])('are close above 1K if the slowest has %i of 3000: %s', (gops, expected) => {
    expect(verdict('patterns', patterns([3000, 2900, gops], 4096))).toBe(expected)
  })

  const ids = { 'GTX 980': '980', 'GTX Titan X': 'titanx', 'GTX 1080 Ti': '1080ti' } as const
  it.each<[keyof typeof ids, number[], string]>([
    ['GTX 980', [900, 1000, 990], 'agrees'],
    ['GTX 980', [899, 1000, 990], 'differs'],
    ['GTX Titan X', [899, 900, 1000], 'agrees'],
    ['GTX Titan X', [901, 900, 1000], 'differs'],
    ['GTX Titan X', [800, 899, 1000], 'differs'],
    ['GTX 1080 Ti', [1001, 900, 1000], 'agrees'],
    ['GTX 1080 Ti', [999, 900, 1000], 'differs'],
    ['GTX 1080 Ti', [1100, 899, 1000], 'differs'],
  ])('are judged on a %s at 1K: block, block-cyclic, cyclic at %j %s', (gpu, speeds, expected) => {
    const points = patterns(speeds, 1024)
    for (const [name, id] of Object.entries(ids)) {
      expect(verdict(`patterns1k-${id}`, points, thesisGpus[gpu])).toBe(name === gpu ? expected : 'elsewhere')
    }
  })

  it("can't be judged at 1K on other GPUs, and are missing with two patterns", () => {
    for (const id of Object.values(ids)) {
      const { verdict, measured } = claim(`patterns1k-${id}`, patterns([9320, 9840, 10010], 1024))
      expect(verdict).toBe('elsewhere')
      expect(measured).toContain('block 9.32 TOPS, block-cyclic 9.84 TOPS, cyclic 10.01 TOPS')
      expect(claim(`patterns1k-${id}`, patterns([9320, 9840], 1024)).verdict).toBe('missing')
    }
  })
})

describe('A transposed and several products', () => {
  it.each([
    [2849, 'agrees'],
    [2850, 'differs'],
  ])('are significantly slower with A transposed at %i of 3000: %s', (gops, expected) => {
    const points = [
      kernel('transpose', 3000, { m: 10240 }),
      kernel('transpose', gops, { m: 10240, Transpose: 1 }),
    ]
    expect(verdict('transpose', points)).toBe(expected)
  })

  it.each<[string, number, number, string]>([
    ['H200', 2100, 3000, 'agrees'],
    ['H200', 2099, 3000, 'differs'],
    ['GTX 980', 1958, 2700, 'agrees'],
    ['GTX 980', 1957, 2700, 'differs'],
    ['GTX Titan X', 3077, 3300, 'agrees'],
    ['GTX Titan X', 3078, 3300, 'differs'],
    ['GTX 1080 Ti', 2781, 3300, 'agrees'],
    ['GTX 1080 Ti', 2780, 3300, 'differs'],
  ])('are compared: 20 products on a %s at %i and one at %i: %s', (gpu, many, large, expected) => {
    const points = [
      kernel('instances', many, { m: 1024, batch: 20 }),
      kernel('instances', large, { m: 8192 }),
    ]
    expect(verdict('instances', points, thesisGpus[gpu])).toBe(expected)
  })
})

describe('microbenchmarks', () => {
  it.each([
    [100, 50, 'agrees'],
    [100, 100, 'differs'],
    [50, 50, 'differs'],
  ])('are judged by occupancy of %i and %i percent: %s', (first, second, expected) => {
    const points = [occupancy('reg-reg', first, { x: 4, y: 4 }), occupancy('reg-reg', second, { x: 4, y: 6 })]
    expect(verdict('occupancy', points)).toBe(expected)
  })

  it.each([
    [970, 'agrees'],
    [969, 'differs'],
    [1030, 'agrees'],
    [1031, 'differs'],
  ])('are judged by the macro at %i of 1000: no difference %s', (gops, expected) => {
    const points = [microbench('reg-reg', 1000), microbench('reg-reg', gops, { max: 'ternary' })]
    expect(verdict('maximum', points)).toBe(expected)
  })

  it.each([
    [0.949, 'agrees'],
    [0.951, 'differs'],
    [1.3, 'differs'],
  ])('are judged by reg-reg at %d of the machine peak: not at it %s', (share, expected) => {
    const { verdict, measured } = claim('peak', [microbench('reg-reg', share * PEAK)])
    expect(verdict).toBe(expected)
    expect(measured).toContain(`${(100 * share).toFixed(1)}\u00a0% of 33.5 TOPS`)
  })

  it("can't be judged by reg-reg against an unknown peak", () => {
    const points = [microbench('reg-reg', 1000)]
    expect(verdict('peak', points, machineOf('NVIDIA X', 100, 1000, 0))).toBe('elsewhere')
    expect(verdict('peak', [])).toBe('missing')
  })

  it.each<[number, number, string, string, string]>([
    [400, 850, 'agrees', 'agrees', 'agrees'],
    [399, 849, 'differs', 'differs', 'agrees'],
    [600, 1000, 'agrees', 'agrees', 'agrees'],
    [601, 1001, 'differs', 'agrees', 'differs'],
  ])('are judged by shared-one at %i and shared-both at %i of reg-reg', (one, both, half, close, fastest) => {
    const points = [
      microbench('reg-reg', 1000),
      microbench('shared-one', one, { k: 1 }),
      microbench('shared-both', both, { k: 1 }),
    ]
    expect(['one', 'both', 'ordering'].map((id) => verdict(id, points))).toEqual([half, close, fastest])
  })

  it.each([
    [950, 'agrees'],
    [949, 'differs'],
  ])('are judged by 32 columns at %i of 1000 with 33: %s', (gops, expected) => {
    const points = [
      microbench('shared-one', 1000, { k: 1, m: 33 }),
      microbench('shared-one', gops, { k: 1, m: 32 }),
    ]
    expect(verdict('banks', points)).toBe(expected)
  })
})

describe('other publications', () => {
  const algebra = { semiring: 'plus-times', dtype: 'float32' }
  const square = (m: number) => ({ ...algebra, m, n: m, k: m })
  const rung = (technique: string, m: number, kernelMs: number, order = 'coalesced') =>
    kernelPoint('ladder', technique, { ...rungParameters(technique, 32, order), ...square(m) }, { kernelMs })
  const cpu = (m: number, totalMs: number) => callPoint('cpu', square(m), { totalMs })

  it('are left out if they were not measured', () => {
    expect(otherClaimsOf(dataOf([]))).toEqual([])
  })

  it.each([
    [24, 'agrees'],
    [23.9, 'differs'],
    [36, 'agrees'],
    [36.1, 'differs'],
  ])('are judged by tiles %d times as fast as the baseline: %s', (ratio, expected) => {
    const points = [rung('naive', 10000, ratio, 'uncoalesced'), rung('tiled', 10000, 1)]
    const { verdict, measured } = claim('tiles30', points)
    expect(verdict).toBe(expected)
    // The ratio is that of 231.67 s to 7.99 s in the report.
    expect(measured).toContain('on a Tesla K20c 29 ×')
  })

  it.each([
    [400, 'agrees'],
    [399, 'differs'],
    [600, 'agrees'],
    [601, 'differs'],
  ])('are judged by a kernel %i times as fast as the CPU at 3000: %s', (ratio, expected) => {
    // Other sizes are ignored if 3000 was measured.
    const points = [...[3000, 4000].map((m) => rung('tiled', m, 1)), cpu(3000, ratio), cpu(4000, 1)]
    expect(verdict('cpu500', points)).toBe(expected)
  })

  it('use the largest size that has both measurements', () => {
    const points = [
      ...[1000, 2000, 4000].map((m) => rung('tiled', m, 1)),
      rung('naive', 1000, 1, 'uncoalesced'),
      rung('naive', 2000, 30, 'uncoalesced'),
      cpu(1000, 1),
      cpu(2000, 500),
    ]
    expect(claim('tiles30', points)).toMatchObject({ verdict: 'agrees' })
    expect(claim('tiles30', points).measured).toContain('30 × at 2000')
    expect(claim('cpu500', points).measured).toContain('500 × at 2000')
  })

  // Device memory limits 8 operations per byte to 8 · 177 GB/s = 1416 GOPS.
  it.each([
    [1331, 'agrees'],
    [1416, 'agrees'],
    [1417, 'differs'],
  ])('are judged by a peak of %i GOPS at 177 GB/s: %s', (gops, expected) => {
    const points = [
      bandwidthPoint('copy', 177),
      microbenchPoint('roofline', 'fma-f32', gops),
      kernelPoint('roofline', 'ladder_plustimes_f32_tiled_32x32_coalesced_guards', {
        ...rungParameters('tiled', 32),
        ...square(4096),
      }),
    ]
    expect(verdict('roofline32', points)).toBe(expected)
  })
})

it('counts verdicts', () => {
  const verdicts = ['agrees', 'agrees', 'differs', 'elsewhere', 'missing'] as const
  expect(verdictCounts(verdicts.map((verdict) => ({ verdict }) as PaperClaim))).toBe(
    'agrees with 2 and differs from 1; 1 can’t be judged on it, 1 not measured',
  )
})
