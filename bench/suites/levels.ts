/** Products of few levels: as exponents on a GPU's tensor cores. */
import {
  type DenseMatrix,
  type Device,
  type ElementArray,
  type MatrixLike,
  matrix,
  mpmm,
  mpmmSync,
  type OperandArray,
  openDevice,
  type VariantName,
} from '../../lib/index.js'
import { measure } from '../../lib/lab.js'
import { operandsOf, randomMatrix, type ValueKind } from '../timing/values.js'
import { firstDifference, naiveVariant } from '../verify.js'
import { ANY_INT32, integers } from './draw.js'
import type { Asked, Findings, Suite } from './protocol.js'

/** What the issue of the tensor cores asks of products of 16 levels on an H200, by their size: TOPS. */
const asked: Record<number, Asked> = {
  1024: { must: 105, aim: 250 },
  4096: { must: 510, aim: 700 },
  8192: { must: 610, aim: 780 },
  16384: { must: 630, aim: 800 },
}
/** And of more levels, or bounded differences, at 8192³. */
const askedOfMore: Record<string, Asked> = {
  '38 levels': { must: 410, aim: 600 },
  'bounded differences': { must: 250, aim: 450 },
}

/** 32 and 38 are the most levels on each path of tensor cores. */
const LEVELS = [2, 16, 32, 38, 39, 1000]

/** An operand of so many levels, of any int32, or of bounded differences. */
type Kind = { levels: number } | 'any int32' | 'bounded differences'

const nameOf = (kind: Kind) => (typeof kind === 'string' ? kind : `${kind.levels} levels`)

/** The matrix that is drawn from this seed. */
function levelsOf(size: number, levels: number, seed: number): DenseMatrix<ElementArray> {
  const values = { dtype: 'int32', minimum: 0, maximum: levels - 1, zeroFraction: 0, summary: '' } as const
  return randomMatrix([size, size], values, seed)
}

function operands(size: number, kind: Kind): { a: MatrixLike<OperandArray>; b: MatrixLike<OperandArray> } {
  if (typeof kind === 'string') {
    const values: ValueKind = kind === 'any int32' ? 'int32' : 'bounded'
    return operandsOf({ batch: 1, m: size, n: size, k: size }, values)
  }
  return { a: levelsOf(size, kind.levels, 1), b: levelsOf(size, kind.levels, 2) }
}

/** The products of resident matrices, and of those that fit in a moment, against the naive product. */
async function kernels(
  device: Device,
  size: number,
  kind: Kind,
  repetitions: number,
  findings: Findings,
  isAsked: boolean,
): Promise<void> {
  const { a, b } = operands(size, kind)
  using left = await device.upload(a)
  using right = await device.upload(b)
  using out = await device.full([size, size], 0)
  const of = `${size}³, ${nameOf(kind)}`
  const samples = []
  let how = ''
  for (let repetition = -2; repetition < repetitions; repetition++) {
    const { timing, path, variant } = await mpmm(left, right, { out })
    // The family tells more: on the path 'direct' are kernels of very different speeds.
    how = `${variant.split('_')[0]}, ${path}`
    if (repetition >= 0) samples.push(timing.kernelMs)
  }
  if (size <= 256) {
    const expected = mpmmSync(a as never, b as never, { variant: naiveVariant('max-plus', 'int32') })
    const difference = firstDifference(await out.download(), expected.c as unknown as DenseMatrix)
    if (difference) findings.wrong(`${of}: ${difference.count} elements differ from the naive product`)
  }
  const target = typeof kind !== 'string' && kind.levels === 16 ? asked[size] : askedOfMore[nameOf(kind)]
  findings.figure(
    of,
    'kernel',
    'TOPS',
    samples.map((ms) => (2 * size ** 3) / ms / 1e9),
    {
      moreIsBetter: true,
      note: how,
      ...(isAsked && (size === 8192 || asked[size] === target) ? target : {}),
    },
  )
}

/** From Int16Arrays in ordinary memory to an array in it. */
async function wholeCalls(
  device: Device,
  size: number,
  repetitions: number,
  findings: Findings,
  isAsked: boolean,
): Promise<void> {
  const int16 = (seed: number) => matrix(size, size, new Int16Array(levelsOf(size, 16, seed).data))
  const [a, b] = [int16(1), int16(2)]
  const target = matrix(size, size, new Int32Array(size * size))
  const { backend, index } = device
  for (const [what, out] of [
    ['into a new array', undefined],
    ['into out', target],
  ] as const) {
    const of = `${size}³, 16 levels, Int16Arrays, ${what}`
    const samples: { whole: number; h2dMs: number; kernelMs: number; d2hMs: number; path: string }[] = []
    for (let repetition = -2; repetition < repetitions; repetition++) {
      const begin = performance.now()
      const { timing, path } = await mpmm(a, b, { backend, device: index, out })
      const whole = performance.now() - begin
      if (repetition >= 0) samples.push({ whole, ...timing, path })
    }
    const figure = (name: string, of_: (sample: (typeof samples)[number]) => number, more: Asked = {}) =>
      findings.figure(of, name, 'ms', samples.map(of_), more)
    figure('the whole call', ({ whole }) => whole, {
      note: samples[0]!.path,
      ...(isAsked ? { must: 20, aim: 14 } : {}),
    })
    figure('until the operands are on the GPU', ({ h2dMs }) => h2dMs)
    figure('kernels', ({ kernelMs }) => kernelMs)
    figure('from the last kernel to the last element', ({ d2hMs }) => d2hMs)
  }
}

/** Larger products of any int32 may be ranked (docs/ranked.md): they look at a sample each time, and take much less time. */
const LARGEST_UNRANKED = 4096

/** How much longer the first product of matrices takes, whose lines are looked at, than the next. */
async function looking(
  device: Device,
  size: number,
  repetitions: number,
  findings: Findings,
  isAsked: boolean,
): Promise<void> {
  const a = integers([size, size], 1, { limit: ANY_INT32 })
  const b = integers([size, size], 2, { limit: ANY_INT32 })
  using out = await device.full([size, size], 0)
  const timed = async (call: () => Promise<unknown>) => {
    const begin = performance.now()
    await call()
    return performance.now() - begin
  }
  const samples = []
  let variant: VariantName | undefined
  for (let repetition = -1; repetition < repetitions; repetition++) {
    using left = await device.upload(a)
    using right = await device.upload(b)
    // A variant that is named packs the operands, and looks at nothing.
    await mpmm(left, right, { out, variant })
    const first = await timed(() => mpmm(left, right, { out }))
    const next = await timed(async () => {
      variant = (await mpmm(left, right, { out })).variant
    })
    if (repetition >= 0) samples.push((100 * (first - next)) / next)
  }
  findings.figure(
    `${size}³, any int32`,
    'how much longer the first product takes, which looks at lines',
    '%',
    samples,
    isAsked ? { must: 1, aim: 0.5 } : {},
  )
}

export const levels: Suite = {
  shows: 'products of few levels: kernels, whole calls from Int16Arrays, and what looking for levels costs',
  async run({ backend, device: index, quick, repetitions }, findings) {
    const device = await openDevice({ backend, device: index })
    const isAsked = backend === 'cuda' && !quick
    const sizes = quick ? [128] : backend === 'cuda' ? [1024, 2048, 4096, 8192, 16384] : [1024]
    const kinds: Kind[] = [...LEVELS.map((count) => ({ levels: count })), 'bounded differences', 'any int32']
    const count = repetitions ?? (quick ? 3 : 11)
    const steps = sizes.length * kinds.length
    for (const [at, size] of sizes.entries()) {
      for (const [kindAt, kind] of kinds.entries()) {
        findings.progress(`${size}³, ${nameOf(kind)}`, (0.8 * (at * kinds.length + kindAt)) / steps)
        await kernels(device, size, kind, count, findings, isAsked)
      }
    }
    const size = quick ? 256 : backend === 'cuda' ? 8192 : 1024
    findings.progress('whole calls', 0.8)
    await wholeCalls(device, size, count, findings, isAsked)
    findings.progress('what looking costs', 0.9)
    await looking(device, Math.min(size, LARGEST_UNRANKED), count, findings, isAsked)
    if (backend === 'cuda') {
      const variant = 'exponent_maxplus_i32_128x128x64_st6'
      const values = { m: size, n: size, k: size, minimum: 0, maximum: 15, repetitions: count }
      const { prepareMs, analysisMs } = await measure(variant, { ...values, device: index })
      // Of Int16Arrays, which are half as large, it must take 0.5 ms.
      const both = prepareMs.median + analysisMs.median
      findings.figure(`${size}³, 16 levels, Int32Arrays`, 'packing and scan', 'ms', both)
    }
    await device.close()
  },
}
