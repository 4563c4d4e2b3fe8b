/** What the winning index costs. */
import { mpmm } from '../../../lib/index.js'
import { type Experiment, repeat } from '../../experiment.js'
import { randomMatrix, type ValueKind, valueKinds } from '../../timing/values.js'
import { runTrial } from '../../trials/run.js'
import type { Asked, Bench, SuiteCase } from '../suite.js'
import { wrongWitness } from './samples.js'

/** The values, and what is asked of the witness on an H200 in 10^12 operations per second. */
const kinds: { values: ValueKind; asked?: Asked }[] = [
  { values: 'int32', asked: { must: 24, aim: 30 } },
  { values: '16bit', asked: { must: 32, aim: 36 } },
  { values: 'float32', asked: { must: 22, aim: 28 } },
  { values: 'levels' },
]

async function time(bench: Bench, { values, asked }: (typeof kinds)[number]): Promise<void> {
  const size = bench.quick ? 128 : 8192
  const device = await bench.device()
  const [a, b] = [1, 2].map((seed) => randomMatrix([size, size], valueKinds[values], seed))
  using left = await device.upload(a!)
  using right = await device.upload(b!)
  using out = await device.upload(randomMatrix([size, size], valueKinds[values], 3))
  const of = `${size}³, ${valueKinds[values].summary}`
  const samples = await repeat(bench.times(3, 7), 2, async (nth) => {
    const plain = await mpmm(left, right, { out })
    const { witness, ...tracked } = await mpmm(left, right, { out, witness: true })
    if (nth === -2) {
      const [c, k] = [await out.download(), await witness.download()]
      const wrong = wrongWitness(a!, b!, c, k, 64)
      if (wrong) bench.wrong(`${of}: ${wrong}`)
    }
    witness.dispose()
    return { plain: plain.gops, tracked: tracked.gops, how: `${tracked.variant}, ${tracked.path}` }
  })
  bench.figures(of, samples, [
    ['the product', 'TOPS', ({ plain }) => plain / 1000],
    [
      'with witness',
      'TOPS',
      ({ tracked }) => tracked / 1000,
      { ...bench.ofGpu(asked), note: samples.at(-1)!.how },
    ],
  ])
}

/** On the GPU: resident products with their witness, beside the product without. */
export const witnessCases = (bench: Bench): SuiteCase[] =>
  bench.gpu ? kinds.map((kind) => [`witness, ${kind.values}`, () => time(bench, kind)]) : []

interface OneCore {
  size: number
  repetitions: number
}

interface OneCoreFound {
  ratios: number[]
  variant: string
  /** What is wrong with the result; undefined if nothing is. */
  wrong: string | undefined
}

/** On one core of the CPU, in a process of its own. */
export async function witnessOnOneCore(bench: Bench): Promise<void> {
  const size = bench.quick ? 64 : 1024
  await runTrial<OneCoreFound>(
    {
      experiment: 'one core',
      request: { size, repetitions: bench.times(3, 11) } satisfies OneCore,
      what: 'one core',
      does: 'measured on one core',
      threads: 1,
      found({ ratios, variant, wrong }) {
        if (wrong !== undefined) bench.wrong(`${size}³ on one core: ${wrong}`)
        bench.figure(`${size}³, any int32, one core`, 'speed with witness / without', 'x', ratios, {
          ...(bench.quick ? {} : { must: 0.6, aim: 0.85 }),
          moreIsBetter: true,
          note: variant,
        })
      },
    },
    // With this process the other one ends too.
    new AbortController().signal,
    () => {},
  )
}

/** What the process with one thread measures. */
export const oneCore: Experiment<OneCore, OneCoreFound> = {
  grid: ({ size, repetitions }) => [
    {
      what: `witness of ${size}³ on one core`,
      cost: 1,
      async measure() {
        const [a, b] = [1, 2].map((seed) => randomMatrix([size, size], valueKinds.int32, seed))
        let variant = ''
        let wrong: string | undefined
        const ratios = await repeat(repetitions, 1, async (nth) => {
          const plain = await mpmm(a!, b!, { backend: 'cpu' })
          const tracked = await mpmm(a!, b!, { backend: 'cpu', witness: true })
          variant = tracked.variant
          if (nth < 0) wrong = wrongWitness(a!, b!, tracked.c, tracked.witness, 200)
          return plain.timing.kernelMs / tracked.timing.kernelMs
        })
        return { ratios, variant, wrong }
      },
    },
  ],
}
