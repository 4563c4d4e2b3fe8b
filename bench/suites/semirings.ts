/** Products over semirings of one's own: their kernels, beside those of the library, and what it takes to compile them. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Device, type DeviceMatrix, matrix, mpmm, type VariantName } from '../../lib/index.js'
import {
  counting,
  kBest,
  type LaneType,
  logSumExp,
  semiring,
  type UserSemiring,
} from '../../lib/semirings.js'
import { elapsed, repeat } from '../experiment.js'
import { ANY_INT32, integers } from '../timing/values.js'
import type { Asked, Bench, Suite, SuiteCase } from './suite.js'

/** `shift` is a constant that changes nothing, so that two kernels of max-plus aren't the same one. */
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

/** What is asked of an H200 at 8192³: TOPS. */
const written = (): [name: string, semiring: UserSemiring, asked: Asked][] => [
  ['max-plus of float32', maxPlusOfFloats, { must: 24, aim: 31 }],
  ['xor-and of 32 bits', xorAnd, { must: 28, aim: 33 }],
  ['counting max-plus', counting('max-plus'), { must: 8, aim: 14 }],
  ['3 best of min-plus', kBest('min-plus', 3), { must: 5, aim: 9 }],
  ['log-sum-exp', logSumExp, { must: 3.4, aim: 8 }],
]

/** Shares of the library's kernel for any int32, in percent. */
const shares: Record<number, Asked> = {
  256: { must: 50, aim: 90 },
  1024: { must: 60, aim: 90 },
  8192: { must: 80, aim: 95 },
}

/** A matrix of small elements. On a device a uint32 is an int32, bit by bit. */
function uploadLane(
  device: Device,
  size: number,
  dtype: LaneType,
  seed: number,
): Promise<DeviceMatrix<Int32Array | Float32Array>> {
  const { data, ...integer } = integers([size, size], seed, { limit: 1000 })
  if (dtype !== 'float32') {
    return device.upload({
      ...integer,
      data: dtype === 'uint32' ? data.map((value) => 1 + (value & 3)) : data,
    })
  }
  const floats = Float32Array.from(data, (value) => value / 100)
  return device.upload(matrix(size, size, floats))
}

async function uploaded(bench: Bench, { dtype }: UserSemiring, size: number, seed: number) {
  const device = await bench.device()
  const types = typeof dtype === 'string' ? [dtype] : dtype
  return Promise.all(types.map((type, at) => uploadLane(device, size, type, seed + at)))
}

async function speed(bench: Bench, size: number, of: string, own: UserSemiring, asked: Asked): Promise<void> {
  const [a, b] = [await uploaded(bench, own, size, 1), await uploaded(bench, own, size, 11)]
  const isOne = a.length === 1
  const samples = await repeat(bench.times(3, 7), 1, async () => {
    const options = { semiring: own } as never
    const { c, timing } = isOne
      ? await mpmm(a[0]!, b[0]!, options)
      : await mpmm(a as never, b as never, options)
    for (const each of [c].flat() as DeviceMatrix[]) each.dispose()
    return (2 * size ** 3) / timing.kernelMs / 1e9
  })
  bench.figure(`${size}³, ${of}`, 'kernel', 'TOPS', samples, bench.ofGpu(asked))
  for (const each of [...a, ...b]) each.dispose()
}

/** Max-plus of any int32, alternately with the library's kernel and with that of the semiring. */
async function besideBuiltIn(bench: Bench, size: number): Promise<void> {
  const device = await bench.device()
  const own = maxPlus()
  using a = await device.upload(integers([size, size], 1, { limit: ANY_INT32 }))
  using b = await device.upload(integers([size, size], 2, { limit: ANY_INT32 }))
  using out = await device.full([size, size], 0)
  const variant = await directVariant(bench, size)
  const samples = await repeat(bench.times(3, 11), 2, async () => {
    const { timing: library } = await mpmm(a, b, { out, variant })
    const { timing: written } = await mpmm(a, b, { out, semiring: own } as never)
    return { library: library.kernelMs, written: written.kernelMs }
  })
  const tops = (ms: number) => (2 * size ** 3) / ms / 1e9
  bench.figures(`${size}³, max-plus of int32`, samples, [
    ['the library’s kernel', 'TOPS', ({ library }) => tops(library), { note: variant }],
    ['kernel', 'TOPS', ({ written }) => tops(written)],
    [
      'share of the library’s speed',
      '%',
      ({ library, written }) => (100 * library) / written,
      { ...bench.ofGpu(shares[size]), moreIsBetter: true },
    ],
  ])
}

/** The variant of so large a product of any int32, in which no ranks are looked for. */
async function directVariant(bench: Bench, size: number): Promise<VariantName> {
  const side = Math.min(size, 4096)
  const [a, b] = [1, 2].map((seed) => integers([side, side], seed, { limit: ANY_INT32 }))
  return (await mpmm(a!, b!, bench.place)).variant
}

/** The first product over a semiring that no process has seen, and the next ones. */
async function firstUse(bench: Bench): Promise<void> {
  const [a, b] = [integers([64, 64], 1), integers([64, 64], 2)]
  const call = (own: UserSemiring) => elapsed(() => mpmm(a, b, { ...bench.place, semiring: own } as never))
  const folder = await mkdtemp(join(tmpdir(), 'mpmml-bench-'))
  const before = process.env.MPMML_CACHE
  process.env.MPMML_CACHE = folder
  try {
    await call(maxPlus())
    const firsts = await repeat(bench.times(2, 5), 0, (index) => call(maxPlus(1 + index)))
    const nexts = await repeat(bench.times(3, 21), 2, () => call(maxPlus()))
    const of = '64³, max-plus of int32'
    bench.figure(of, 'the first call', 'ms', firsts, bench.ofGpu({ must: 400, aim: 250 }))
    bench.figure(of, 'the next calls', 'ms', nexts)
  } finally {
    if (before === undefined) delete process.env.MPMML_CACHE
    else process.env.MPMML_CACHE = before
    await rm(folder, { recursive: true, force: true })
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
        ([of, own, asked]): SuiteCase => [`${size}³, ${of}`, () => speed(bench, size, of, own, asked)],
      ),
    ]
  },
}
