/** Judges statements of the publications whose experiments the ladder and the roofline repeat. */
import { type Point, tensorPeak } from '../../lib/lab.js'
import * as k20 from '../lab/k20.js'
import * as m2090 from '../lab/m2090.js'
import { rooflines } from '../lab/roofline.js'
import { type Data, speed } from './data.js'
import { judge, missing, type Statement, within } from './judge.js'

const REPORT = 'J. Sun, “CS 4444 – Report for Homework 5”, 2017'
const TUTORIAL = 'A. Pöpl, “Dense Linear Algebra”, 2016'

/** Algebras of the ladder; the algebra of the publications is first. */
const algebras = [
  { semiring: 'plus-times', dtype: 'float32' },
  { semiring: 'max-plus', dtype: 'int32' },
] as const

type Algebra = (typeof algebras)[number]
type Square = Pick<Point, 'parameters'>

const sizeOf = ({ parameters }: Square) => Number(parameters.m)
const isSquare = ({ parameters: { m, n, k } }: Square) => m === n && m === k

/** Kernels of the ladder with blocks of 32 × 32 threads. */
const kernels = (data: Data, algebra: Algebra, technique: string, order: string) =>
  data.kernels('ladder', { ...algebra, technique, order, tile: 32 })

/**
 * Returns tiles of 32 and another measurement of one product, at the preferred size or the largest size with
 * both.
 */
function besideTiles<Other extends Square>(
  data: Data,
  others: (algebra: Algebra) => Other[],
  preferred: number,
): { size: number; product: string; ms: number; other: Other } | undefined {
  for (const algebra of algebras) {
    const pairs = kernels(data, algebra, 'tiled', 'coalesced')
      .filter(isSquare)
      .flatMap(({ parameters, result }) => {
        const size = Number(parameters.m)
        const other = others(algebra).find((one) => isSquare(one) && sizeOf(one) === size)
        const product = `${algebra.semiring} of ${algebra.dtype}`
        return other ? [{ size, product, ms: result.kernelMs.median, other }] : []
      })
      .sort((one, other) => other.size - one.size)
    if (pairs.length > 0) return pairs.find(({ size }) => size === preferred) ?? pairs[0]
  }
  return undefined
}

const times = (ratio: number) => `${Number(ratio.toPrecision(3))} ×`

/** Tolerance around numbers that the report calls "about" or "almost". */
const TOLERANCE = 0.2

export const otherStatements: Statement[] = [
  {
    id: 'tiles30',
    source: REPORT,
    statement: 'On 10000 × 10000 tiles of 32 in shared memory are about 30 times as fast as the baseline',
    where: 'section 6.1',
    rule: '24 to 36 times as fast at 10000, or at the largest size with both, kernel time',
    judge(data) {
      const baseline = (algebra: Algebra) => kernels(data, algebra, 'naive', 'uncoalesced')
      const pair = besideTiles(data, baseline, k20.BLOCK_SIZE_TABLE)
      if (!pair) return missing('the baseline and tiles of 32 at one size')
      const ratio = pair.other.result.kernelMs.median / pair.ms
      const [slow, fast] = [k20.baseline, k20.sharedMemory].map((table) => table.get(pair.size)?.kernel)
      const theirs = slow && fast ? `; on a Tesla K20c ${times(slow / fast)}` : ''
      return judge(
        within(ratio, { least: 30, most: 30 }, TOLERANCE),
        `${times(ratio)} at ${pair.size} on ${pair.product}${theirs}`,
      )
    },
    why:
      'The baseline’s threads run along columns, so that a warp reads 32 rows of A at once. Newer GPUs keep these lines in the L1 ' +
      'cache for the following steps; the K20c doesn’t cache global memory there.',
  },
  {
    id: 'cpu500',
    source: REPORT,
    statement: 'On 3000 × 3000 the kernel is almost 500 times as fast as the CPU',
    where: 'section 2',
    rule: '400 to 600 times as fast at 3000, or at the largest size with both, kernel time against a call on the CPU',
    judge(data) {
      const calls = (algebra: Algebra) => data.calls('ladder', algebra).filter(({ name }) => name === 'cpu')
      const pair = besideTiles(data, calls, k20.cpu.size)
      if (!pair) return missing('tiles of 32 and the CPU at one size')
      const { totalMs, device } = pair.other.result
      const ratio = totalMs.median / pair.ms
      return judge(
        within(ratio, { least: 500, most: 500 }, TOLERANCE),
        `${times(ratio)} at ${pair.size} on ${pair.product}, against ${device}; in the report ${times(k20.cpu.seconds / k20.sharedMemory.get(k20.cpu.size)!.kernel)}`,
      )
    },
    why: 'The report’s product on the CPU is three plain loops on one core. The library’s uses all cores and their SIMD units.',
  },
  {
    id: 'roofline32',
    source: TUTORIAL,
    statement:
      'With tiles of 32 the limit is arithmetic instead of memory: 8 operations per byte × 177 GB/s are more than the M2090’s ' +
      '1331 GFLOPS',
    where: '“Updated Performance Estimate”',
    rule: '8 operations per byte at the bandwidth of a copy reach the measured ceiling of instructions',
    judge(data) {
      const all = rooflines(data.results.points, tensorPeak(data.machine))
      const found = all.find(({ semiring }) => semiring === 'plus-times') ?? all[0]
      if (!found) return missing('the roofline')
      const { operations, deviceMemory } = found.ceilings
      const memory = m2090.intensity(32) * deviceMemory
      return judge(
        memory >= operations,
        `8 operations per byte × ${deviceMemory.toFixed(0)} GB/s are ${speed(memory)}, the ceiling of instructions is ` +
          `${speed(operations)} (${found.semiring} of ${found.dtype})`,
      )
    },
    why: 'The rate of arithmetic has grown faster than the bandwidth of memory. Caches and tiles in registers make up for that.',
  },
]
