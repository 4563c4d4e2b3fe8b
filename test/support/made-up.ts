/** Points with synthetic numbers, for tests of outputs of results. */
import type {
  BandwidthPoint,
  CallPoint,
  KernelPoint,
  MicrobenchPoint,
  Spread,
  WorkPoint,
} from '../../lib/lab.js'

const measured = '2020-01-01T00:00:00.000Z'

export const spread = (median: number, quartile = 0): Spread => ({
  median,
  q1: median - quartile,
  q3: median + quartile,
  count: 1,
})

export const kernelPoint = (
  sweep: string,
  name: string,
  parameters: KernelPoint['parameters'],
  { kernelMs = 1, prepareMs = 0, gops = 1, quartile = 0 } = {},
): KernelPoint => ({
  kind: 'kernel',
  sweep,
  name,
  parameters: { batch: 1, ...parameters },
  measured,
  result: {
    kernelMs: spread(kernelMs, quartile),
    prepareMs: spread(prepareMs),
    analysisMs: spread(0),
    gops: spread(gops),
    path: 'direct',
    operandSets: 1,
    clockMHz: 1000,
  },
})

export const callPoint = (
  name: string,
  parameters: CallPoint['parameters'],
  { totalMs = 1, kernelMs = 1 } = {},
): CallPoint => ({
  kind: 'call',
  sweep: 'ladder',
  name,
  parameters,
  measured,
  result: {
    backend: name === 'cpu' ? 'cpu' : 'cuda',
    device: 'Synthetic',
    variant: name,
    totalMs: spread(totalMs),
    kernelMs: spread(kernelMs),
    gops: spread(1),
    relativeError: 0,
    compared: 1,
  },
})

export const bandwidthPoint = (name: string, gbps: number, stride?: number): BandwidthPoint => ({
  kind: 'bandwidth',
  sweep: 'roofline',
  name,
  parameters: stride === undefined ? {} : { stride },
  measured,
  result: {
    ms: spread(1),
    gbps: spread(gbps),
    bytes: 1,
    bufferBytes: 1,
    clockMHz: 1000,
    multiprocessors: 1,
  },
})

const workPoint = (
  sweep: string,
  name: string,
  parameters: WorkPoint['parameters'],
  { steps = 1e9, ms = 1, how = '' } = {},
): WorkPoint => ({
  kind: 'work',
  sweep,
  name,
  parameters,
  measured,
  result: {
    backend: 'cuda',
    device: 'Synthetic',
    how,
    steps,
    ms: spread(ms),
    gops: spread((2 * steps) / ms / 1e6),
  },
})

export const microbenchPoint = (sweep: string, name: string, gops: number): MicrobenchPoint => ({
  kind: 'microbench',
  sweep,
  name,
  parameters: {},
  measured,
  result: {
    ms: spread(1),
    gops: spread(gops),
    clockMHz: 1000,
    multiprocessors: 1,
    threadsPerBlock: 256,
    threads: 256,
    iterations: 1,
    lanes: 1,
    stepsPerIteration: 64,
    operationsPerIteration: 160,
    operationsPerThread: 160,
    instructionsPerIteration: {},
    lanesPerClock: 1,
    instructionsPerClock: 1,
    peakOperationsPerClock: 1,
    peakReason: '',
    percentOfPipes: 1,
    percentOfMachine: 1,
  },
})

/** Points of the thesis's future work. */
export const madeUpWork = (): WorkPoint[] => [
  ...[1024, 8192].flatMap((n) => {
    const ms = 2 * (n / 1024) ** 3
    return [
      workPoint('triangular', 'whole', { n, batch: 1 }, { steps: n ** 3, ms, how: 'tiles, direct' }),
      workPoint(
        'triangular',
        'triangles',
        { n, batch: 1 },
        { steps: n ** 3 / 6, ms: 0.1737 * ms, how: 'tiles, translated' },
      ),
    ]
  }),
  workPoint('triangular', 'triangles', { n: 1024, batch: 496 }, { steps: 8.9e10, ms: 7 }),
  workPoint('bpmax', 'interaction', { n: 16, m: 750 }, { steps: 4.8e10, ms: 20 }),
  workPoint('bpmax', 'folding', { n: 500, strands: 1000 }, { steps: 2.1e10, ms: 90 }),
]

/** Parameters of a row of the ladder family in the format of the table. */
export const rungParameters = (
  technique: string,
  tile: number,
  order = 'coalesced',
  borders = 'guards',
): Record<string, number | string> => ({ technique, tile, order, borders, accumulator: 'int32' })

/** Points of a results file: a ladder at two sizes, borders and a roofline, of max-plus on int32. */
export function madeUpPoints() {
  const algebra = { semiring: 'max-plus', dtype: 'int32' }
  const square = (m: number) => ({ m, n: m, k: m })
  const ladderKernels = [
    {
      name: 'ladder_maxplus_i32_naive_32x32_uncoalesced',
      p: rungParameters('naive', 32, 'uncoalesced'),
      gops: 400,
    },
    { name: 'ladder_maxplus_i32_naive_32x32_coalesced', p: rungParameters('naive', 32), gops: 3000 },
    { name: 'ladder_maxplus_i32_tiled_8x8_coalesced_guards', p: rungParameters('tiled', 8), gops: 4000 },
    { name: 'ladder_maxplus_i32_tiled_32x32_coalesced_guards', p: rungParameters('tiled', 32), gops: 7000 },
  ]
  const ms = (m: number, gops: number) => (2 * m ** 3) / gops / 1e6
  return [
    callPoint('cpu', { ...algebra, ...square(1000) }, { totalMs: 20 }),
    ...[1000, 10000].flatMap((m) =>
      ladderKernels.flatMap(({ name, p, gops }) => [
        kernelPoint('ladder', name, { ...p, ...algebra, ...square(m) }, { kernelMs: ms(m, gops), gops }),
        callPoint(name, { ...algebra, ...square(m) }, { totalMs: 2 * ms(m, gops), kernelMs: ms(m, gops) }),
      ]),
    ),
    ...[500, 900].flatMap((m) =>
      [32, 64].flatMap((k) =>
        ['guards', 'padding'].map((borders) =>
          kernelPoint(
            'borders',
            `ladder_maxplus_i32_tiled_32x32_coalesced_${borders}`,
            { ...rungParameters('tiled', 32, 'coalesced', borders), ...algebra, m, n: m, k },
            borders === 'guards' ? { kernelMs: 1.25 } : { kernelMs: 1, prepareMs: 0.5 },
          ),
        ),
      ),
    ),
    bandwidthPoint('copy', 4000),
    bandwidthPoint('l2', 7000),
    bandwidthPoint('shared', 30000),
    bandwidthPoint('strided', 4000, 1),
    bandwidthPoint('strided', 500, 32),
    ...madeUpWork(),
    microbenchPoint('roofline', 'fused', 33000),
    ...ladderKernels.map(({ name, p, gops }) =>
      kernelPoint('roofline', name, { ...p, ...algebra, ...square(4096) }, { gops }),
    ),
  ]
}
