/**
 * Products over custom semirings: the speed of their kernels, compared with the library's kernels, and the
 * time to compile them.
 */
import { type DenseMatrix, type DeviceMatrix, matrix, mpmm, type VariantName } from '../../lib/index.js'
import {
  counting,
  kBest,
  type LaneType,
  logSumExp,
  semiring,
  type UserSemiring,
} from '../../lib/semirings.js'
import { elapsed } from '../experiment.js'
import { ANY_INT32, integers } from '../timing/values.js'
import { withFolder } from './cleanup.js'
import { type Bench, type FigureGoal, type Suite, type SuiteCase, topsOf } from './suite.js'

/**
 * Returns a max-plus semiring. `shift` doesn't change results; it only makes the generated kernel distinct
 * from cached ones.
 */
const maxPlus = (shift = 0) =>
  semiring({
    name: 'max-plus of int32',
    dtype: 'int32',
    zero: -(2 ** 31),
    plus: (x, y, { max }) => max(x, y),
    times: (x, y) => (shift === 0 ? x.add(y) : x.add(shift).add(y).sub(shift)),
    absorbs: false,
    check: false,
  })

const maxPlusOfFloats = semiring({
  name: 'max-plus of float32',
  dtype: 'float32',
  zero: -Infinity,
  plus: (x, y, { max }) => max(x, y),
  times: (x, y) => x.add(y),
  check: false,
})

const xorAnd = semiring({
  name: 'xor-and of 32 bits',
  dtype: 'int32',
  zero: 0,
  one: -1,
  plus: (x, y, { xor }) => xor(x, y),
  times: (x, y, { and }) => and(x, y),
  check: false,
})

/** Goals in TOPS on an H200 at 8192³. */
const written = (): [name: string, semiring: UserSemiring, goal: FigureGoal][] => [
  ['max-plus of float32', maxPlusOfFloats, { must: 24, aim: 31 }],
  ['xor-and of 32 bits', xorAnd, { must: 28, aim: 33 }],
  ['counting max-plus', counting('max-plus'), { must: 8, aim: 14 }],
  ['3 best of min-plus', kBest('min-plus', 3), { must: 5, aim: 9 }],
  ['log-sum-exp', logSumExp, { must: 3.4, aim: 8 }],
]

/** Goals by size: speed of the custom kernel in percent of the library's kernel for any int32. */
const shares: Record<number, FigureGoal> = {
  256: { must: 50, aim: 90 },
  1024: { must: 60, aim: 90 },
  8192: { must: 80, aim: 95 },
}

/** Returns a matrix of small elements. Device matrices store uint32 bit by bit as int32. */
function laneOf(size: number, dtype: LaneType, seed: number): DenseMatrix<Int32Array | Float32Array> {
  const { data, ...integer } = integers([size, size], seed, { limit: 1000 })
  if (dtype === 'int32') return { ...integer, data }
  if (dtype === 'uint32') return { ...integer, data: data.map((value) => 1 + (value & 3)) }
  return matrix(
    size,
    size,
    Float32Array.from(data, (value) => value / 100),
  )
}

async function speed(
  bench: Bench,
  size: number,
  of: string,
  own: UserSemiring,
  goal: FigureGoal,
): Promise<void> {
  const types = [own.dtype].flat()
  const lanes = (seed: number) => bench.upload(...types.map((type, at) => laneOf(size, type, seed + at)))
  const [a, b] = [await lanes(1), await lanes(11)]
  const multiply = async () => {
    const operands = types.length === 1 ? [a[0], b[0]] : [a, b]
    const { c, timing } = await mpmm(operands[0] as never, operands[1] as never, { semiring: own } as never)
    for (const lane of [c].flat() as DeviceMatrix[]) lane.dispose()
    return topsOf(size ** 3, timing.kernelMs)
  }
  await bench.measure(`${size}³, ${of}`, [3, 7, 1], multiply, [
    ['kernel', 'TOPS', (tops) => tops, bench.ofGpu(goal)],
  ])
}

/**
 * Compares max-plus of any int32 by the library's kernel and by a custom semiring's kernel, in alternating
 * calls.
 */
async function besideBuiltIn(bench: Bench, size: number): Promise<void> {
  const own = maxPlus()
  const { a, b, out } = await bench.squares(size)
  const variant = await directVariant(bench, size)
  const both = async () => {
    const { timing: library } = await mpmm(a, b, { out, variant })
    const { timing: written } = await mpmm(a, b, { out, semiring: own } as never)
    return { library: library.kernelMs, written: written.kernelMs }
  }
  const steps = size ** 3
  await bench.measure(`${size}³, max-plus of int32`, [3, 11, 2], both, [
    ['the library’s kernel', 'TOPS', ({ library }) => topsOf(steps, library), { note: variant }],
    ['kernel', 'TOPS', ({ written }) => topsOf(steps, written)],
    [
      'share of the library’s speed',
      '%',
      ({ library, written }) => (100 * library) / written,
      { ...bench.ofGpu(shares[size]), moreIsBetter: true },
    ],
  ])
}

/**
 * Returns the variant for a product of any int32. The size is limited to 4096, so that the product isn't
 * ranked.
 */
async function directVariant(bench: Bench, size: number): Promise<VariantName> {
  const side = Math.min(size, 4096)
  const [a, b] = [1, 2].map((seed) => integers([side, side], seed, { limit: ANY_INT32 }))
  return (await mpmm(a!, b!, bench.place)).variant
}

/** Times the first product over a semiring without a compiled kernel, and later products. */
async function firstUse(bench: Bench): Promise<void> {
  const [a, b] = [integers([64, 64], 1), integers([64, 64], 2)]
  const call = (own: UserSemiring) => elapsed(() => mpmm(a, b, { ...bench.place, semiring: own } as never))
  const before = process.env.MPMML_CACHE
  try {
    await withFolder(async (folder) => {
      process.env.MPMML_CACHE = folder
      await call(maxPlus())
      const of = '64³, max-plus of int32'
      const goal = bench.ofGpu({ must: 400, aim: 250 })
      const first = (index: number) => call(maxPlus(1 + index))
      await bench.measure(of, [2, 5, 0], first, [['the first call', 'ms', (ms) => ms, goal]])
      const next = () => call(maxPlus())
      await bench.measure(of, [3, 21, 2], next, [['the next calls', 'ms', (ms) => ms]])
    })
  } finally {
    if (before === undefined) delete process.env.MPMML_CACHE
    else process.env.MPMML_CACHE = before
  }
}

export const semirings: Suite = {
  shows: 'products over semirings of one’s own: their kernels beside the library’s, and the first use of one',
  grid(bench) {
    const size = bench.pick(128, 8192, 512)
    const sizes = bench.pick([128], [256, 1024, 8192], [256, 512])
    return [
      ['first use', () => firstUse(bench)],
      ...sizes.map((side): SuiteCase => [`${side}³, max-plus of int32`, () => besideBuiltIn(bench, side)]),
      ...written().map(
        ([of, own, goal]): SuiteCase => [`${size}³, ${of}`, () => speed(bench, size, of, own, goal)],
      ),
    ]
  },
}
