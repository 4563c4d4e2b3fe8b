/** Measures products of few distinct values, which a GPU computes as exponents on its tensor cores. */
import {
  type DenseMatrix,
  type ElementArray,
  type MatrixLike,
  matrix,
  mpmm,
  type OperandArray,
  type VariantName,
} from '../../lib/index.js'
import { measure } from '../../lib/lab.js'
import { elapsed } from '../experiment.js'
import { integers, operandsOf, randomMatrix, type ValueKind } from '../timing/values.js'
import { type Bench, differsFromNaive, type FigureGoal, type Suite, type SuiteCase, topsOf } from './suite.js'

/** Goals in TOPS for products of 16 distinct values on the tensor cores of an H200, by size. */
const goals: Record<number, FigureGoal> = {
  1024: { must: 105, aim: 250 },
  4096: { must: 510, aim: 700 },
  8192: { must: 610, aim: 780 },
  16384: { must: 630, aim: 800 },
}
/** Goals in TOPS for more distinct values, or bounded differences, at 8192³. */
const goalsOfOtherValues: Record<string, FigureGoal> = {
  '38 levels': { must: 410, aim: 600 },
  'bounded differences': { must: 250, aim: 450 },
}

/** Numbers of distinct values. 32 and 38 are the limits of the two tensor-core arithmetics. */
const LEVELS = [2, 16, 32, 38, 39, 1000]

/** Kind of an operand: a number of distinct values, any int32, or bounded differences. */
type Kind = { levels: number } | 'any int32' | 'bounded differences'

const nameOf = (kind: Kind) => (typeof kind === 'string' ? kind : `${kind.levels} levels`)

/** Returns a random matrix with a given number of distinct values. */
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

function goalOf(size: number, kind: Kind): FigureGoal | undefined {
  if (typeof kind !== 'string' && kind.levels === 16) return goals[size]
  return size === 8192 ? goalsOfOtherValues[nameOf(kind)] : undefined
}

/** Multiplies resident matrices, and compares small products with the naive one. */
async function kernels(bench: Bench, size: number, kind: Kind): Promise<void> {
  const { a, b } = operands(size, kind)
  const [left, right] = await bench.upload(a, b)
  const out = await bench.full([size, size])
  const of = `${size}³, ${nameOf(kind)}`
  const goal = bench.ofGpu(goalOf(size, kind))
  await bench.measure(of, [3, 11, 2], () => mpmm(left, right, { out }), [
    [
      'kernel',
      'TOPS',
      ({ timing }) => topsOf(size ** 3, timing.kernelMs),
      // The note includes the family, because kernels with the arithmetic 'direct' differ widely in speed.
      ({ arithmetic, variant }) => ({ ...goal, note: `${variant.split('_')[0]}, ${arithmetic}` }),
    ],
  ])
  if (size <= 256) bench.wrong(differsFromNaive(await out.download(), a, b), of)
}

/** Times whole calls that multiply Int16Arrays in ordinary memory into an array in ordinary memory. */
async function wholeCalls(bench: Bench, size: number): Promise<void> {
  const int16 = (seed: number) => matrix(size, size, new Int16Array(levelsOf(size, 16, seed).data))
  const [a, b] = [int16(1), int16(2)]
  const goal = bench.ofGpu({ must: 20, aim: 14 })
  for (const [what, out] of [
    ['into a new array', undefined],
    ['into out', matrix(size, size, new Int32Array(size * size))],
  ] as const) {
    const call = async () => {
      const begin = performance.now()
      const { timing, arithmetic } = await mpmm(a, b, { ...bench.place, out })
      return { whole: performance.now() - begin, ...timing, arithmetic }
    }
    await bench.measure(`${size}³, 16 levels, Int16Arrays, ${what}`, [3, 11, 2], call, [
      ['the whole call', 'ms', ({ whole }) => whole, ({ arithmetic }) => ({ ...goal, note: arithmetic })],
      ['until the operands are on the GPU', 'ms', ({ h2dMs }) => h2dMs],
      ['kernels', 'ms', ({ kernelMs }) => kernelMs],
      ['from the last kernel to the last element', 'ms', ({ d2hMs }) => d2hMs],
    ])
  }
}

/**
 * Size limit. Larger products of any int32 may be ranked (docs/ranked.md): each call samples its values and
 * takes much less time.
 */
const LARGEST_UNRANKED = 4096

/** Compares the first product of two matrices, which scans their lines, with the next product. */
async function looking(bench: Bench, size: number): Promise<void> {
  const device = await bench.device()
  const [a, b] = [integers([size, size], 1), integers([size, size], 2)]
  const out = await bench.full([size, size])
  let variant: VariantName | undefined
  const both = async () => {
    using left = await device.upload(a)
    using right = await device.upload(b)
    // A call with an explicit variant packs the operands without a scan.
    await mpmm(left, right, { out, variant })
    const first = await elapsed(() => mpmm(left, right, { out }))
    const next = await elapsed(async () => {
      variant = (await mpmm(left, right, { out })).variant
    })
    return (100 * (first - next)) / next
  }
  const what = 'how much longer the first product takes, which looks at lines'
  await bench.measure(`${size}³, any int32`, [3, 11, 1], both, [
    [what, '%', (percent) => percent, bench.ofGpu({ must: 1, aim: 0.5 })],
  ])
}

async function preparing(bench: Bench, size: number): Promise<void> {
  const variant = 'exponent_maxplus_i32_128x128x64_st6'
  const values = { m: size, n: size, k: size, minimum: 0, maximum: 15, repetitions: bench.times(3, 11) }
  const { prepareMs, analysisMs } = await measure(variant, { ...values, device: bench.place.device })
  // For Int16Arrays, which are half as large, the goal is 0.5 ms.
  const both = prepareMs.median + analysisMs.median
  bench.figure(`${size}³, 16 levels, Int32Arrays`, 'packing and scan', 'ms', both)
}

export const levels: Suite = {
  shows: 'products of few levels: kernels, whole calls from Int16Arrays, and what looking for levels costs',
  grid(bench) {
    const sizes = bench.pick([128], [1024, 2048, 4096, 8192, 16384], [1024])
    const kinds: Kind[] = [...LEVELS.map((count) => ({ levels: count })), 'bounded differences', 'any int32']
    const size = bench.pick(256, 8192, 1024)
    return [
      ...sizes.flatMap((side) =>
        kinds.map((kind): SuiteCase => [`${side}³, ${nameOf(kind)}`, () => kernels(bench, side, kind)]),
      ),
      ['whole calls', () => wholeCalls(bench, size)],
      ['what looking costs', () => looking(bench, Math.min(size, LARGEST_UNRANKED))],
      ...(bench.gpu ? [['packing and scan', () => preparing(bench, size)] satisfies SuiteCase] : []),
    ]
  },
}
