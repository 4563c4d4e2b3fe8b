/** The thesis' statements, and whether a GPU's measurements agree. Each says by which rule that is decided. */
import { type Data, type MeasuredKernel, percent, percentRange, sizeName, speed, speeds } from './data.js'
import * as thesis from './thesis.js'

export type Verdict = 'agrees' | 'differs' | 'missing'

export interface Claim {
  id: string
  /** What the thesis states, in few words, and where. */
  statement: string
  where: string
  verdict: Verdict
  /** What was measured. */
  measured: string
  /** When it counts as agreement. */
  rule: string
  /** Why it is so, where that is known. */
  why?: string | undefined
}

type Judged = Pick<Claim, 'verdict' | 'measured'> & { why?: string | undefined }

const missing = (what: string): Judged => ({ verdict: 'missing', measured: `${what}: not measured` })
const judge = (agrees: boolean, measured: string, why?: string): Judged => ({
  verdict: agrees ? 'agrees' : 'differs',
  measured,
  why,
})

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

function largeMatrices(data: Data): Judged {
  const points = ['cases', 'patterns', 'tiles', 'blocks']
    .flatMap((sweep) => data.kernels(sweep))
    .filter(({ parameters }) => Number(parameters.m) >= 4096)
  const best = points.sort((x, y) => median(y) - median(x))[0]
  if (!best) return missing('products of 4K and more')
  const { ceiling, machinePeak } = data
  const parts = [
    `${speed(median(best))} at ${sizeName(Number(best.parameters.m))}, by ${best.name}`,
    ceiling
      ? `${percent(median(best) / ceiling)} of the measured ceiling of fused additions and maxima`
      : undefined,
    machinePeak
      ? `${percent(median(best) / machinePeak)} of one operation a clock for each CUDA core`
      : undefined,
  ]
  return judge(
    median(best) >= thesis.largeMatrices.least,
    parts.filter((part) => part !== undefined).join(', '),
    'The thesis’ speeds are more than one operation a clock and core would allow on a GTX 980 (16 × 128 × 1.216 GHz = 2490 ' +
      'GOPS). The machine code that ptxas makes for sm_52 explains it: two maxima of one accumulator become one VMNMX of ' +
      'three operands, so that two max-plus steps (4 operations) take 3 instructions. At 128 instructions a clock and ' +
      'multiprocessor that would allow 3321 GOPS.',
  )
}

function otherCases(data: Data): Judged {
  const found = atLargest(data, 'cases', 4)
  if (!found) return missing('the four cases at one size')
  const { size, points } = found
  const best = points.find((point) => caseName(point) === '00')
  if (!best) return missing('case 00')
  const others = points.filter((point) => point !== best)
  const shares = others.map((point) => median(point) / median(best))
  const list = others.map((point, index) => `case ${caseName(point)} ${percent(shares[index]!)}`).join(', ')
  return judge(
    shares.every((share) => share < 2 / 3),
    `at ${sizeName(size)}, of case 00’s ${speed(median(best))}: ${list}`,
    'An operand that doesn’t go through shared memory is read from global memory by every thread for itself: each element is ' +
      'loaded as often as there are threads along the other side of the block, where the cooperative load takes it once.',
  )
}

function case11Least(data: Data): Judged {
  const found = atLargest(data, 'cases', 4)
  if (!found) return missing('the four cases at one size')
  const least = found.points.reduce((least, point) => (median(point) < median(least) ? point : least))
  return judge(
    caseName(least) === '11',
    `the slowest at ${sizeName(found.size)} is case ${caseName(least)} with ${speed(median(least))}`,
  )
}

const patternName = ({ parameters }: MeasuredKernel) =>
  parameters.Sub_X === parameters.X ? 'block' : parameters.Sub_X === 1 ? 'cyclic' : 'block-cyclic'

function patternsClose(data: Data): Judged {
  const sizes = data.sizes('patterns').filter((size) => size > 1024)
  const gaps = sizes
    .map((size) => ({ size, speeds: data.kernels('patterns', { m: size }).map(median) }))
    .filter(({ speeds }) => speeds.length >= 3)
    .map(({ size, speeds }) => ({ size, gap: 1 - Math.min(...speeds) / Math.max(...speeds) }))
  if (gaps.length === 0) return missing('the three patterns above 1K')
  return judge(
    gaps.every(({ gap }) => gap <= 0.1),
    `the slowest is behind the fastest by ${gaps.map(({ size, gap }) => `${percent(gap)} at ${sizeName(size)}`).join(', ')}`,
    'The patterns differ in which addresses of shared memory the threads of a warp read at once, and in how their results ' +
      'lie in C. Reads of 128 bits need four neighbouring elements, which the cyclic pattern doesn’t have.',
  )
}

function patternsAt1K(data: Data): Judged {
  const points = data.kernels('patterns', { m: 1024 })
  if (points.length < 3) return missing('the three patterns at 1K')
  const medians = points.map(median)
  const shown = speeds(medians)
  const list = points.map((point, index) => `${patternName(point)} ${shown[index]}`).join(', ')
  return judge(
    Math.min(...medians) < 0.98 * Math.max(...medians),
    list,
    'At 1K a GPU with many multiprocessors has less than one block of C for each of them: tiles of 128 × 128 make 64 blocks.',
  )
}

function transposeSlower(data: Data): Judged {
  const sizes = data.sizes('transpose')
  const size = sizes.includes(10240) ? 10240 : sizes.at(-1)
  if (size === undefined) return missing('A transposed')
  const pairs = data.kernels('transpose', { m: size, Transpose: 0 }).flatMap((plain) => {
    const { Sub_X, Sub_Y } = plain.parameters
    const [transposed] = data.kernels('transpose', { m: size, Transpose: 1, Sub_X: Sub_X!, Sub_Y: Sub_Y! })
    if (!transposed) return []
    const whole = transposed.result.kernelMs.median + transposed.result.prepareMs.median
    return [
      {
        pattern: patternName(plain),
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
    'Kernels that are near the ceiling of arithmetic aren’t bound by how A is loaded, in whichever layout it is.',
  )
}

function instancesNearLarge(data: Data): Judged {
  const many = data.kernels('instances', { batch: 20 })[0]
  const large = data
    .kernels('instances', { batch: 1 })
    .filter(({ parameters }) => Number(parameters.m) > Number(many?.parameters.m ?? 0))
    .sort((x, y) => median(y) - median(x))[0]
  if (!many || !large) return missing('20 instances beside one large product')
  const one = data.kernels('instances', { batch: 1, m: Number(many.parameters.m) })[0]
  const share = median(many) / median(large)
  const single = one ? `; one of ${sizeName(Number(many.parameters.m))} alone: ${speed(median(one))}` : ''
  return judge(
    share >= 0.7,
    `20 of ${sizeName(Number(many.parameters.m))}: ${speed(median(many))}, ${percent(share)} of one of ` +
      `${sizeName(Number(large.parameters.m))} at ${speed(median(large))}${single}`,
    'The third dimension of the grid fills the multiprocessors that one small product leaves idle.',
  )
}

function ordering(data: Data): Judged {
  const [register, one, both] = ['reg-reg', 'shared-one', 'shared-both'].map(
    (name) => data.best(name)?.result.gops.median,
  )
  if (register === undefined || one === undefined || both === undefined)
    return missing('the three microbenchmarks')
  return judge(
    register >= one && register >= both,
    `reg-reg ${speed(register)}, one operand in shared memory at most ${speed(one)}, both ${speed(both)}`,
  )
}

/** The best speed of a shared-memory microbenchmark for each K as a share of the best reg-reg. */
function shares(data: Data, name: string): { k: number; share: number }[] {
  const register = data.best('reg-reg')?.result.gops.median
  if (register === undefined) return []
  const ks = [...new Set(data.microbenches(name).map(({ parameters }) => Number(parameters.k)))]
  return ks
    .sort((x, y) => y - x)
    .map((k) => ({ k, share: data.best(name, { k })!.result.gops.median / register }))
}

const listShares = (list: { k: number; share: number }[]) =>
  list.map(({ k, share }) => `K = ${k}: ${percent(share)}`).join(', ')

function oneAtHalf(data: Data): Judged {
  const list = shares(data, 'shared-one')
  const last = list.at(-1)
  if (!last) return missing('one operand in shared memory')
  return judge(
    last.share >= 0.4 && last.share <= 0.6,
    `of the best reg-reg, ${listShares(list)}`,
    'Here an element of A is read once in an iteration and stays in a register for its Y steps, so that shared memory has to ' +
      'deliver one element for Y steps; small tiles with K = 1 show what is left of the effect. The thesis’ listing reads it ' +
      'within the loop over j, and doesn’t say what the compiler made of it.',
  )
}

function bothClose(data: Data): Judged {
  const list = shares(data, 'shared-both')
  const last = list.at(-1)
  if (!last) return missing('both operands in shared memory')
  return judge(last.share >= 0.85, `of the best reg-reg, ${listShares(list)}`)
}

function bankConflicts(data: Data): Judged {
  const pairs = ['shared-one', 'shared-both'].flatMap((name) =>
    data.microbenches(name, { m: 33 }).flatMap((odd) => {
      const [even] = data.microbenches(name, {
        ...(odd.parameters as Record<string, number | string>),
        m: 32,
      })
      return even ? [{ point: even, share: even.result.gops.median / odd.result.gops.median }] : []
    }),
  )
  if (pairs.length === 0) return missing('M = 32 beside M = 33')
  const worst = pairs.reduce((worst, pair) => (pair.share < worst.share ? pair : worst))
  const { name, parameters: p } = worst.point
  return judge(
    worst.share >= 0.95,
    `M = 32 columns reach ${percentRange(pairs.map(({ share }) => share))} of the speed of M = 33 in ${pairs.length} ` +
      `microbenchmarks, the least in ${name} with X × Y = ${p.x} × ${p.y}, blocks of ${p.bsi} × ${p.bsj} threads and K = ${p.k}`,
    'The threads of a warp in different rows of the block, 32 / BS_j of them, read different rows of A, which a stride of 32 ' +
      'words puts into one bank. Whether it shows depends on how many steps each element that is read serves.',
  )
}

function formsOfMaximum(data: Data): Judged {
  const pairs = ['reg-reg', 'shared-one', 'shared-both'].flatMap((name) =>
    data.microbenches(name, { max: 'ternary' }).flatMap((ternary) => {
      const same = { ...ternary.parameters, max: 'intrinsic' } as Record<string, number | string>
      const [intrinsic] = data.microbenches(name, same)
      return intrinsic ? [ternary.result.gops.median / intrinsic.result.gops.median] : []
    }),
  )
  if (pairs.length === 0) return missing('both forms of the maximum')
  return judge(
    pairs.every((share) => Math.abs(share - 1) <= 0.03),
    `the macro reaches ${percentRange(pairs)} of the speed of max() in ${pairs.length} microbenchmarks`,
    'Compilers make the same instruction of both.',
  )
}

function occupancies(data: Data): Judged {
  const rows = thesis.occupancy.flatMap((row) => {
    const point = data
      .occupancies()
      .find(({ name, parameters: p }) => name === 'reg-reg' && p.x === row.x && p.y === row.y)
    return point?.result ? [{ row, result: point.result }] : []
  })
  if (rows.length < 2) return missing('occupancy of 4 × 4 and 4 × 6')
  const list = rows.map(
    ({ row, result }) =>
      `${row.x} × ${row.y}: ${result.registersPerThread} registers, ${result.occupancyPercent.toFixed(0)} %`,
  )
  return judge(
    rows.every(({ row, result }) => Math.round(result.occupancyPercent) === row.percent),
    list.join('; '),
    'Blocks of 1024 threads leave 64 registers a thread for one block and 32 for two: what decides is whether the compiler ' +
      'gets by with 32.',
  )
}

/** A statement by its identity, and the function that judges it. */
const statements: [Omit<Claim, 'verdict' | 'measured' | 'why'>, (data: Data) => Judged][] = [
  [
    {
      id: 'large',
      statement: 'MPMML reaches 3065 to 3631 GOPS for large matrices on GTX 980, Titan X and GTX 1080 Ti',
      where: 'abstract, chapter 5',
      rule: 'the best kernel of the family reaches at least 3065 GOPS from 4K on',
    },
    largeMatrices,
  ],
  [
    {
      id: 'occupancy',
      statement:
        'With blocks of 1024 threads, X × Y = 4 × 4 takes 32 registers (100 % occupancy) and 4 × 6 takes 40 (50 %)',
      where: 'Table 2.1',
      rule: 'the same percentages',
    },
    occupancies,
  ],
  [
    {
      id: 'maximum',
      statement: 'The maximum as a macro and as max() makes no difference',
      where: 'section 2.1',
      rule: 'within 3 %',
    },
    formsOfMaximum,
  ],
  [
    {
      id: 'ordering',
      statement: 'Reg-reg is the fastest of the three microbenchmarks',
      where: 'Figure 2.1',
      rule: 'the best of each',
    },
    ordering,
  ],
  [
    {
      id: 'one',
      statement: 'One operand in shared memory reaches about half of reg-reg',
      where: 'Figure 2.1',
      rule: '40 to 60 % at K = 1, one read for each use in an iteration',
    },
    oneAtHalf,
  ],
  [
    {
      id: 'both',
      statement: 'Both operands in shared memory come very close to reg-reg',
      where: 'Figure 2.1',
      rule: 'at least 85 % at K = 1',
    },
    bothClose,
  ],
  [
    {
      id: 'banks',
      statement: 'Bank conflicts play no part',
      where: 'section 2.3',
      rule: 'M = 32 columns reach at least 95 % of M = 33',
    },
    bankConflicts,
  ],
  [
    {
      id: 'cases',
      statement: 'Cases 01, 10 and 11 perform very poorly; case 00 is clearly the fastest',
      where: 'Figure 4.1',
      rule: 'each below two thirds of case 00 at the largest size',
    },
    otherCases,
  ],
  [
    {
      id: 'case11',
      statement: 'Case 11 is predictably the slowest',
      where: 'section 3.1',
      rule: 'the slowest at the largest size',
    },
    case11Least,
  ],
  [
    {
      id: 'patterns',
      statement: 'The patterns perform very close to each other above 1K',
      where: 'Figures 4.2 to 4.4',
      rule: 'within 10 % at every size above 1K',
    },
    patternsClose,
  ],
  [
    {
      id: 'patterns1k',
      statement: 'At 1K the patterns differ, on each GPU in another way',
      where: 'Figures 4.2 to 4.4',
      rule: 'more than 2 % apart at 1K',
    },
    patternsAt1K,
  ],
  [
    {
      id: 'transpose',
      statement: 'Transposing A makes MPMML significantly slower',
      where: 'Figure 4.5',
      rule: 'below 95 % of the speed without, at 10K',
    },
    transposeSlower,
  ],
  [
    {
      id: 'instances',
      statement:
        '20 instances of 1K come close to one large product: 2175 to 2798 GOPS on Maxwell, 3090 on Pascal',
      where: 'Figure 4.6',
      rule: 'at least 70 % of one large product, as the thesis’ own numbers',
    },
    instancesNearLarge,
  ],
]

export const claimsOf = (data: Data): Claim[] =>
  statements.map(([statement, decide]) => ({ ...statement, ...decide(data) }))
