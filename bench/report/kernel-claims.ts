/** Judges the thesis' statements about kernels (chapters 3 to 5). */

import { patternOf } from '../lab/kernel-sweeps.js'
import { greatest, least } from '../min-max.js'
import { type Data, type MeasuredKernel, percent, sizeName, speed, speeds } from './data.js'
import { elsewhere, judge, missing, type Statement, within } from './judge.js'
import * as thesis from './thesis.js'

const median = (point: MeasuredKernel) => point.result.gops.median
const caseName = ({ parameters }: MeasuredKernel) => `${parameters.MEMSEL_A}${parameters.MEMSEL_B}`

/** Returns the points of the four cases for each size that has all four, in ascending order of size. */
const completeCases = (data: Data): { size: number; points: MeasuredKernel[] }[] =>
  data
    .sizes('cases')
    .map((size) => ({ size, points: data.kernels('cases', { m: size }) }))
    .filter(({ points }) => new Set(points.map(caseName)).size === 4)

/** Returns "; occupancy of case 00 25 %, case 01 12.5 %", or '' if the occupancy wasn't measured. */
function occupancyOfCases(data: Data, points: MeasuredKernel[]): string {
  const list = points.flatMap((point) => {
    const found = data.occupancies().find(({ name }) => name === point.name)?.result
    return found ? [`case ${caseName(point)} ${Number(found.occupancyPercent.toFixed(1))}\u00a0%`] : []
  })
  return list.length > 0 ? `; occupancy of ${list.join(', ')}` : ''
}

/** Tolerance around the thesis' speeds on its GPUs. */
const TOLERANCE = 0.1

export const largeMatrices: Statement = {
  id: 'large',
  statement: 'MPMML reaches 3065 to 3631 GOPS for large matrices on GTX 980, Titan X and GTX 1080 Ti',
  where: 'abstract, chapter 5',
  rule:
    'the best kernel of the family from 4K on: on these GPUs 3065 to 3631 GOPS ± 10 %; on others the share of one operation ' +
    `per clock and CUDA core that these speeds can be, ${percent(thesis.largeShares.least)} to ${percent(thesis.largeShares.most)}`,
  judge(data) {
    const best = data.fastestKernel(4096)
    if (!best) return missing('products of 4K and more')
    const gops = median(best)
    const { ceiling, machinePeak } = data
    const parts = [
      `${speed(gops)} at ${sizeName(Number(best.parameters.m))}, by ${best.name}`,
      ceiling
        ? `${percent(gops / ceiling)} of the measured ceiling of fused additions and maxima`
        : undefined,
      machinePeak
        ? `${percent(gops / machinePeak)} of one operation per clock for each CUDA core`
        : undefined,
    ]
    const measured = parts.filter((part) => part !== undefined).join(', ')
    if (data.thesisGpu) return judge(within(gops, thesis.largeMatrices, TOLERANCE), measured)
    if (!machinePeak) return elsewhere(measured)
    return judge(within(gops / machinePeak, thesis.largeShares), measured)
  },
  why:
    'The thesis’ speeds are more than one operation per clock and core would allow on a GTX 980 (16 × 128 × 1.216 GHz = 2490 ' +
    'GOPS). The machine code that ptxas makes for sm_52 explains it: two maxima of one accumulator become one VMNMX of ' +
    'three operands, so that two max-plus steps (4 operations) take 3 instructions. At 128 instructions per clock and ' +
    'multiprocessor that would allow 3320 GOPS.',
}

/** Returns whether the slowest speed is at most 10 % below the fastest. */
const areClose = (speeds: number[]) => 1 - least(speeds) / greatest(speeds) <= 0.1

/** Returns a statement about the patterns at 1K on one GPU of the thesis. */
const patternsAt1K = (
  rows: [
    gpu: string,
    figure: string,
    text: string,
    rule: string,
    agrees: (speeds: { block: number; others: number[] }) => boolean,
  ][],
): Statement[] =>
  rows.map(([gpu, figure, text, rule, agrees]) => ({
    id: `patterns1k-${gpu.split(' ').slice(1).join('').toLowerCase()}`,
    statement: `At 1K on the ${gpu}, ${text}`,
    where: `section 4.2, Figure ${figure}`,
    rule: `only on a ${gpu}: ${rule}`,
    judge(data) {
      const points = data.kernels('patterns', { m: 1024 })
      const block = points.find((point) => patternOf(point) === 'block')
      if (!block || points.length < 3) return missing('the three patterns at 1K')
      const shown = speeds(points.map(median))
      const measured = points.map((point, index) => `${patternOf(point)} ${shown[index]}`).join(', ')
      if (data.thesisGpu?.name !== gpu) return elsewhere(`on this GPU ${measured}`)
      const others = points.filter((point) => point !== block).map(median)
      return judge(agrees({ block: median(block), others }), measured)
    },
    why: 'At 1K a GPU with many multiprocessors has less than one block of C for each of them: tiles of 128 × 128 make 64 blocks.',
  }))

export const kernelStatements: Statement[] = [
  {
    id: 'cases',
    statement: 'Cases 01, 10 and 11 perform very poorly; case 00 is clearly the fastest',
    where: 'Figure 4.1',
    rule: 'each below two thirds of case 00 at the largest size',
    judge(data) {
      const found = completeCases(data).at(-1)
      if (!found) return missing('the four cases at one size')
      const { size, points } = found
      const best = points.find((point) => caseName(point) === '00')!
      const others = points.filter((point) => point !== best)
      const shares = others.map((point) => median(point) / median(best))
      const list = others
        .map((point, index) => `case ${caseName(point)} ${percent(shares[index]!)}`)
        .join(', ')
      return judge(
        shares.every((share) => share < 2 / 3),
        `at ${sizeName(size)}, of case 00’s ${speed(median(best))}: ${list}${occupancyOfCases(data, points)}`,
      )
    },
    why:
      'An operand that doesn’t go through shared memory is read from global memory by each thread separately: each element is ' +
      'loaded once per thread along the other side of the block, but a cooperative load takes it only once. Its addresses and ' +
      'loads in flight take registers, so that fewer threads fit on a multiprocessor.',
  },
  {
    id: 'case11',
    statement: 'Case 11 is predictably the slowest',
    where: 'section 3.1',
    rule: 'the slowest at every size',
    judge(data) {
      const sizes = completeCases(data).map(({ size, points }) => {
        const [case11, others] = [
          points.filter((point) => caseName(point) === '11'),
          points.filter((point) => caseName(point) !== '11'),
        ].map((some) => least(some.map(median))) as [number, number]
        return { size, points, case11, others }
      })
      const largest = sizes.at(-1)
      if (!largest) return missing('the four cases at one size')
      const slowest = sizes.filter(({ case11, others }) => case11 < others)
      const list = sizes.map(
        ({ size, case11, others }) => `${others.toFixed(0)} and ${case11.toFixed(0)} at ${sizeName(size)}`,
      )
      return judge(
        slowest.length === sizes.length,
        `case 11 is the slowest at ${slowest.length} of ${sizes.length} sizes; GOPS of the slowest other case and of case 11: ` +
          `${list.join(', ')}${occupancyOfCases(data, largest.points)}`,
      )
    },
    why:
      'Cases 10 and 11 read A in the same way and at the same occupancy. Case 11 reads B directly, too, in coalesced loads, and ' +
      'therefore needs no tiles and no synchronization.',
  },
  {
    id: 'patterns',
    statement: 'The patterns perform very close to each other above 1K',
    where: 'Figures 4.2 to 4.4',
    rule: 'within 10 % at every size above 1K',
    judge(data) {
      const sizes = data.sizes('patterns').filter((size) => size > 1024)
      const gaps = sizes
        .map((size) => ({ size, speeds: data.kernels('patterns', { m: size }).map(median) }))
        .filter(({ speeds }) => speeds.length >= 3)
      if (gaps.length === 0) return missing('the three patterns above 1K')
      const list = gaps.map(
        ({ size, speeds }) => `${percent(1 - least(speeds) / greatest(speeds))} at ${sizeName(size)}`,
      )
      return judge(
        gaps.every(({ speeds }) => areClose(speeds)),
        `the slowest is behind the fastest by ${list.join(', ')}`,
      )
    },
    why:
      'The patterns differ in which addresses of shared memory the threads of a warp read at once, and in how their results ' +
      'lie in C. Reads of 128 bits need four neighbouring elements, which the cyclic pattern doesn’t have.',
  },
  ...patternsAt1K([
    [
      'GTX 980',
      '4.2',
      'the patterns perform very close to each other',
      'all within 10 %',
      ({ block, others }) => areClose([block, ...others]),
    ],
    [
      'GTX Titan X',
      '4.3',
      'block is the lowest, and block-cyclic and cyclic are close to each other',
      'block below the others, these within 10 %',
      ({ block, others }) => block < least(others) && areClose(others),
    ],
    [
      'GTX 1080 Ti',
      '4.4',
      'block is the highest, and block-cyclic and cyclic are close to each other',
      'block above the others, these within 10 %',
      ({ block, others }) => block > greatest(others) && areClose(others),
    ],
  ]),
  {
    id: 'transpose',
    statement: 'Transposing A makes MPMML significantly slower',
    where: 'Figure 4.5',
    rule: 'below 95 % of the speed without, at 10K',
    judge(data) {
      const sizes = data.sizes('transpose')
      const size = sizes.includes(10240) ? 10240 : sizes.at(-1)
      if (size === undefined) return missing('A transposed')
      const pairs = data.kernels('transpose', { m: size, Transpose: 0 }).flatMap((plain) => {
        const { Sub_X, Sub_Y } = plain.parameters
        const [transposed] = data.kernels('transpose', {
          m: size,
          Transpose: 1,
          Sub_X: Sub_X!,
          Sub_Y: Sub_Y!,
        })
        if (!transposed) return []
        const whole = transposed.result.kernelMs.median + transposed.result.prepareMs.median
        return [
          {
            pattern: patternOf(plain),
            kernel: median(transposed) / median(plain),
            whole: plain.result.kernelMs.median / whole,
          },
        ]
      })
      if (pairs.length === 0) return missing('A transposed beside A as it is')
      const list = pairs.map(
        ({ pattern, kernel, whole }) =>
          `${pattern} ${percent(kernel)} (${percent(whole)} with the pass that transposes A)`,
      )
      return judge(
        pairs.every(({ kernel }) => kernel < 0.95),
        `speed with A transposed, of that without, at ${sizeName(size)}: ${list.join(', ')}`,
      )
    },
    why: 'Kernels near the ceiling of arithmetic aren’t limited by how A is loaded, in either layout.',
  },
  {
    id: 'instances',
    statement:
      '20 instances of 1K come close to one large product: 2175 to 2798 GOPS on Maxwell, 3090 on Pascal',
    where: 'Figure 4.6',
    rule: 'at least 70 % of one large product, as the thesis’ own numbers; on its GPUs these numbers ± 10 %, too',
    judge(data) {
      const many = data.kernels('instances', { batch: 20 })[0]
      const large = data
        .kernels('instances', { batch: 1 })
        .filter(({ parameters }) => Number(parameters.m) > Number(many?.parameters.m ?? 0))
        .sort((x, y) => median(y) - median(x))[0]
      if (!many || !large) return missing('20 instances beside one large product')
      const one = data.kernels('instances', { batch: 1, m: Number(many.parameters.m) })[0]
      const share = median(many) / median(large)
      const single = one ? `; one of ${sizeName(Number(many.parameters.m))}: ${speed(median(one))}` : ''
      const own = data.thesisGpu?.instances
      return judge(
        share >= 0.7 && (own === undefined || within(median(many), own, TOLERANCE)),
        `20 of ${sizeName(Number(many.parameters.m))}: ${speed(median(many))}, ${percent(share)} of one of ` +
          `${sizeName(Number(large.parameters.m))} at ${speed(median(large))}${single}`,
      )
    },
    why: 'The third dimension of the grid fills the multiprocessors that one small product leaves idle.',
  },
]
