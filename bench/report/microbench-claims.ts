/** Judges the thesis' statements about microbenchmarks and occupancy (chapter 2). */
import { type Data, depthsOf, percent, percentRange, speed } from './data.js'
import { elsewhere, judge, missing, type Statement, within } from './judge.js'
import * as thesis from './thesis.js'

/**
 * Returns the best speed of a shared-memory microbenchmark for each K, as a fraction of the best speed of
 * reg-reg.
 */
function shares(data: Data, name: string): { k: number; share: number }[] {
  const register = data.best('reg-reg')?.result.gops.median
  if (register === undefined) return []
  return depthsOf(data.microbenches(name)).map((k) => ({
    k,
    share: data.best(name, { k })!.result.gops.median / register,
  }))
}

const listShares = (list: { k: number; share: number }[]) =>
  list.map(({ k, share }) => `K = ${k}: ${percent(share)}`).join(', ')

export const microbenchStatements: Statement[] = [
  {
    id: 'occupancy',
    statement:
      'Blocks of 1024 threads: X × Y = 4 × 4 takes 32 registers (100 % occupancy), 4 × 6 takes 40 (50 %)',
    where: 'Table 2.1',
    rule: 'the same percentages',
    judge(data) {
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
      )
    },
    why:
      'Blocks of 1024 threads leave 64 registers per thread for one block and 32 for two: the result depends on whether the compiler ' +
      'needs more than 32.',
  },
  {
    id: 'maximum',
    statement: 'The maximum as a macro and as max() makes no difference',
    where: 'section 2.1',
    rule: 'within 3 %',
    judge(data) {
      const pairs = ['reg-reg', 'shared-one', 'shared-both'].flatMap((name) =>
        data.microbenches(name, { max: 'ternary' }).flatMap((ternary) => {
          const same = { ...ternary.parameters, max: 'intrinsic' } as Record<string, number | string>
          const [intrinsic] = data.microbenches(name, same)
          return intrinsic ? [ternary.result.gops.median / intrinsic.result.gops.median] : []
        }),
      )
      if (pairs.length === 0) return missing('both forms of the maximum')
      return judge(
        pairs.every((share) => within(share, { least: 1, most: 1 }, 0.03)),
        `the macro reaches ${percentRange(pairs)} of the speed of max() in ${pairs.length} microbenchmarks`,
      )
    },
    why: 'Compilers make the same instruction from both.',
  },
  {
    id: 'ordering',
    statement: 'Reg-reg is the fastest of the three microbenchmarks',
    where: 'Figure 2.1',
    rule: 'the best of each',
    judge(data) {
      const [register, one, both] = ['reg-reg', 'shared-one', 'shared-both'].map(
        (name) => data.best(name)?.result.gops.median,
      )
      if (register === undefined || one === undefined || both === undefined)
        return missing('the three microbenchmarks')
      return judge(
        register >= one && register >= both,
        `reg-reg ${speed(register)}, one operand in shared memory at most ${speed(one)}, both ${speed(both)}`,
      )
    },
  },
  {
    id: 'peak',
    statement: 'Reg-reg is not at the machine peak',
    where: 'section 2.3',
    rule: 'the best reg-reg below 95 % of one operation per clock for each CUDA core',
    judge(data) {
      const gops = data.best('reg-reg')?.result.gops.median
      if (gops === undefined) return missing('reg-reg')
      const { machinePeak } = data
      if (!machinePeak) return elsewhere(`reg-reg ${speed(gops)}; the number of cores is not known`)
      return judge(
        gops / machinePeak < 0.95,
        `reg-reg ${speed(gops)}, ${((100 * gops) / machinePeak).toFixed(1)}\u00a0% of ${speed(machinePeak)}`,
      )
    },
    why:
      'The peak is one addition or one maximum per clock and core. A GPU that adds and compares in one instruction on half of its ' +
      'cores has that rate, too, and reg-reg keeps these units busy.',
  },
  {
    id: 'one',
    statement: 'One operand in shared memory reaches about half of reg-reg',
    where: 'Figure 2.1',
    rule: '40 to 60 % at K = 1, one read for each use in an iteration',
    judge(data) {
      const list = shares(data, 'shared-one')
      const last = list.at(-1)
      if (!last) return missing('one operand in shared memory')
      return judge(within(last.share, { least: 0.4, most: 0.6 }), `of the best reg-reg, ${listShares(list)}`)
    },
    why:
      'Here an element of A is read once in an iteration and stays in a register for its Y steps, so that shared memory has to ' +
      'deliver one element for Y steps; the effect remains only in small tiles with K = 1. The thesis’ listing reads it within the ' +
      'loop over j; its compiled code isn’t shown.',
  },
  {
    id: 'both',
    statement: 'Both operands in shared memory come very close to reg-reg',
    where: 'Figure 2.1',
    rule: 'at least 85 % at K = 1',
    judge(data) {
      const list = shares(data, 'shared-both')
      const last = list.at(-1)
      if (!last) return missing('both operands in shared memory')
      return judge(last.share >= 0.85, `of the best reg-reg, ${listShares(list)}`)
    },
  },
  {
    id: 'banks',
    statement: 'Bank conflicts play no part',
    where: 'section 2.3',
    rule: 'M = 32 columns reach at least 95 % of M = 33',
    judge(data) {
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
      )
    },
    why:
      'The threads of a warp in different rows of the block, 32 / BS_j of them, read different rows of A, which a stride of 32 ' +
      'words puts into one bank. Whether it shows depends on how many steps each element that is read serves.',
  },
]
