/** What the winning index costs. */
import { type Device, mpmm } from '../../../lib/index.js'
import { runChild } from '../../child.js'
import { randomMatrix, type ValueKind, valueKinds } from '../../timing/values.js'
import type { Findings } from '../protocol.js'
import { wrongWitness } from './samples.js'

/** The values, and what is asked of the witness on an H200 in 10^12 operations per second. */
const kinds: { values: ValueKind; asked?: { must: number; aim: number } }[] = [
  { values: 'int32', asked: { must: 24, aim: 30 } },
  { values: '16bit', asked: { must: 32, aim: 36 } },
  { values: 'float32', asked: { must: 22, aim: 28 } },
  { values: 'levels' },
]

/** What the process with one thread is asked for. */
export interface OneCore {
  size: number
  repetitions: number
}

interface OneCoreFound {
  ratios: number[]
  variant: string
  /** What is wrong with the result; empty if nothing is. */
  wrong: string
}

async function time(
  device: Device,
  size: number,
  { values, asked }: (typeof kinds)[number],
  repetitions: number,
  isAsked: boolean,
  findings: Findings,
): Promise<void> {
  const [a, b] = [1, 2].map((seed) => randomMatrix([size, size], valueKinds[values], seed))
  using left = await device.upload(a!)
  using right = await device.upload(b!)
  using out = await device.upload(randomMatrix([size, size], valueKinds[values], 3))
  const of = `${size}³, ${valueKinds[values].summary}`
  const speeds = { plain: [] as number[], witness: [] as number[] }
  let how = ''
  for (let repetition = -2; repetition < repetitions; repetition++) {
    const plain = await mpmm(left, right, { out })
    const { witness, ...tracked } = await mpmm(left, right, { out, witness: true })
    how = `${tracked.variant}, ${tracked.path}`
    if (repetition === -2) {
      const [c, k] = [await out.download(), await witness.download()]
      const wrong = wrongWitness(a!, b!, c, k, 64)
      if (wrong) findings.wrong(`${of}: ${wrong}`)
    }
    witness.dispose()
    if (repetition < 0) continue
    speeds.plain.push(plain.gops / 1000)
    speeds.witness.push(tracked.gops / 1000)
  }
  findings.figure(of, 'the product', 'TOPS', speeds.plain, { moreIsBetter: true })
  findings.figure(of, 'with witness', 'TOPS', speeds.witness, {
    ...(isAsked ? asked : {}),
    moreIsBetter: true,
    note: how,
  })
}

/** On the GPU: resident products with their witness, beside the product without. */
export async function witnessOnGpu(
  device: Device,
  quick: boolean,
  repetitions: number | null,
  findings: Findings,
): Promise<void> {
  const size = quick ? 128 : 8192
  for (const kind of kinds) {
    findings.progress(`witness, ${kind.values}`, 0)
    await time(device, size, kind, repetitions ?? (quick ? 3 : 7), !quick, findings)
  }
}

/** On one core of the CPU, in a process of its own. */
export async function witnessOnOneCore(
  quick: boolean,
  repetitions: number | null,
  findings: Findings,
): Promise<void> {
  const size = quick ? 64 : 1024
  const request: OneCore = { size, repetitions: repetitions ?? (quick ? 3 : 11) }
  findings.progress(`witness of ${size}³ on one core`, 0)
  let found: OneCoreFound | undefined
  await runChild<OneCoreFound>(
    new URL('./one-core.js', import.meta.url),
    request,
    (message) => {
      found = message
    },
    {
      env: { ...process.env, MPMML_NUM_THREADS: '1' },
      what: 'measured on one core',
      // With this process the other one ends too.
      signal: new AbortController().signal,
    },
  )
  const { ratios, variant, wrong } = found!
  if (wrong) findings.wrong(`${size}³ on one core: ${wrong}`)
  findings.figure(`${size}³, any int32, one core`, 'speed with witness / without', 'x', ratios, {
    ...(quick ? {} : { must: 0.6, aim: 0.85 }),
    moreIsBetter: true,
    note: variant,
  })
}

/** What the process with one thread runs. */
export async function measureOneCore({ size, repetitions }: OneCore): Promise<OneCoreFound> {
  const [a, b] = [1, 2].map((seed) => randomMatrix([size, size], valueKinds.int32, seed))
  const ratios = []
  let variant = ''
  let wrong = ''
  for (let repetition = -1; repetition < repetitions; repetition++) {
    const plain = await mpmm(a!, b!, { backend: 'cpu' })
    const tracked = await mpmm(a!, b!, { backend: 'cpu', witness: true })
    variant = tracked.variant
    if (repetition < 0) wrong = wrongWitness(a!, b!, tracked.c, tracked.witness, 200) ?? ''
    else ratios.push(plain.timing.kernelMs / tracked.timing.kernelMs)
  }
  return { ratios, variant, wrong }
}
