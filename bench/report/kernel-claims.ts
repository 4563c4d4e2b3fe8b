/** The thesis' statements about kernels (chapters 3 to 5), judged. */

import { greatest, least } from '../extremes.js'
import { patternOf } from '../lab/kernel-sweeps.js'
import { type Data, type MeasuredKernel, percent, sizeName, speed, speeds } from './data.js'
import { judge, missing, type Statement } from './judge.js'
import * as thesis from './thesis.js'

const median = (point: MeasuredKernel) => point.result.gops.median
const caseName = ({ parameters }: MeasuredKernel) => `${parameters.MEMSEL_A}${parameters.MEMSEL_B}`

/** The points of the sweep's largest size that has at least `count` of them. */
function atLargest(
  data: Data,
  sweep: string,
  count: number,
  above = 0,
): { size: number; points: MeasuredKernel[] } | undefined {
  for (const size of data.sizes(sweep).reverse()) {
    if (size < above) break
    const points = data.kernels(sweep, { m: size })
    if (points.length >= count) return { size, points }
  }
  return undefined
}

export const largeMatrices: Statement = {
  id: 'large',
  statement: 'MPMML reaches 3065 to 3631 GOPS for large matrices on GTX 980, Titan X and GTX 1080 Ti',
  where: 'abstract, chapter 5',
  rule: 'the best kernel of the family reaches at least 3065 GOPS from 4K on',
  judge(data) {
    const best = data.fastestKernel(4096)
    if (!best) return missing('products of 4K and more')
    const { ceiling, machinePeak } = data
    const parts = [
      `${speed(median(best))} at ${sizeName(Number(best.parameters.m))}, by ${best.name}`,
      ceiling
        ? `${percent(median(best) / ceiling)} of the measured ceiling of fused additions and maxima`
        : undefined,
      machinePeak
        ? `${percent(median(best) / machinePeak)} of one operation per clock for each CUDA core`
        : undefined,
    ]
    return judge(
      median(best) >= thesis.largeMatrices.least,
      parts.filter((part) => part !== undefined).join(', '),
    )
  },
  why:
    'The thesis’ speeds are more than one operation per clock and core would allow on a GTX 980 (16 × 128 × 1.216 GHz = 2490 ' +
    'GOPS). The machine code that ptxas makes for sm_52 explains it: two maxima of one accumulator become one VMNMX of ' +
    'three operands, so that two max-plus steps (4 operations) take 3 instructions. At 128 instructions per clock and ' +
    'multiprocessor that would allow 3321 GOPS.',
}

export const kernelStatements: Statement[] = [
  {
    id: 'cases',
    statement: 'Cases 01, 10 and 11 perform very poorly; case 00 is clearly the fastest',
    where: 'Figure 4.1',
    rule: 'each below two thirds of case 00 at the largest size',
    judge(data) {
      const found = atLargest(data, 'cases', 4)
      if (!found) return missing('the four cases at one size')
      const { size, points } = found
      const best = points.find((point) => caseName(point) === '00')
      if (!best) return missing('case 00')
      const others = points.filter((point) => point !== best)
      const shares = others.map((point) => median(point) / median(best))
      const list = others
        .map((point, index) => `case ${caseName(point)} ${percent(shares[index]!)}`)
        .join(', ')
      return judge(
        shares.every((share) => share < 2 / 3),
        `at ${sizeName(size)}, of case 00’s ${speed(median(best))}: ${list}`,
      )
    },
    why:
      'An operand that doesn’t go through shared memory is read from global memory by each thread separately: each element is ' +
      'loaded once per thread along the other side of the block, but a cooperative load takes it only once.',
  },
  {
    id: 'case11',
    statement: 'Case 11 is predictably the slowest',
    where: 'section 3.1',
    rule: 'the slowest at the largest size',
    judge(data) {
      const found = atLargest(data, 'cases', 4)
      if (!found) return missing('the four cases at one size')
      const least = found.points.reduce((least, point) => (median(point) < median(least) ? point : least))
      return judge(
        caseName(least) === '11',
        `the slowest at ${sizeName(found.size)} is case ${caseName(least)} with ${speed(median(least))}`,
      )
    },
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
        .map(({ size, speeds }) => ({ size, gap: 1 - least(speeds) / greatest(speeds) }))
      if (gaps.length === 0) return missing('the three patterns above 1K')
      return judge(
        gaps.every(({ gap }) => gap <= 0.1),
        `the slowest is behind the fastest by ${gaps.map(({ size, gap }) => `${percent(gap)} at ${sizeName(size)}`).join(', ')}`,
      )
    },
    why:
      'The patterns differ in which addresses of shared memory the threads of a warp read at once, and in how their results ' +
      'lie in C. Reads of 128 bits need four neighbouring elements, which the cyclic pattern doesn’t have.',
  },
  {
    id: 'patterns1k',
    statement: 'At 1K the patterns differ, on each GPU in another way',
    where: 'Figures 4.2 to 4.4',
    rule: 'more than 2 % apart at 1K',
    judge(data) {
      const points = data.kernels('patterns', { m: 1024 })
      if (points.length < 3) return missing('the three patterns at 1K')
      const medians = points.map(median)
      const shown = speeds(medians)
      const list = points.map((point, index) => `${patternOf(point)} ${shown[index]}`).join(', ')
      return judge(least(medians) < 0.98 * greatest(medians), list)
    },
    why: 'At 1K a GPU with many multiprocessors has less than one block of C for each of them: tiles of 128 × 128 make 64 blocks.',
  },
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
    rule: 'at least 70 % of one large product, as the thesis’ own numbers',
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
      return judge(
        share >= 0.7,
        `20 of ${sizeName(Number(many.parameters.m))}: ${speed(median(many))}, ${percent(share)} of one of ` +
          `${sizeName(Number(large.parameters.m))} at ${speed(median(large))}${single}`,
      )
    },
    why: 'The third dimension of the grid fills the multiprocessors that one small product leaves idle.',
  },
]
