/** Measures whole calls of interaction and folding of RNA strands. */
import type { BackendName } from '../../lib/index.js'
import { info } from '../../lib/index.js'
import { bpmax, nussinov } from '../../lib/rna.js'
import { gopsOf, strandOf, timeFolding, timeInteraction } from '../future-work.js'
import type { Bench, FigureGoal, Suite, SuiteCase } from './suite.js'

/** Sizes with goals: speed of an interaction in TOPS, or duration of a whole call in ms. */
interface Work {
  interactions: { n: number; m: number; speed?: FigureGoal; ms?: FigureGoal }[]
  foldings: { count: number; n: number; ms?: FigureGoal }[]
}

const onGpu: Work = {
  interactions: [
    { n: 16, m: 750, speed: { must: 4, aim: 8 } },
    { n: 32, m: 1000, speed: { must: 6, aim: 14 } },
    { n: 32, m: 3000, ms: { must: 10_000, aim: 4000 } },
  ],
  foldings: [
    { count: 1000, n: 500, ms: { must: 200, aim: 50 } },
    { count: 1, n: 5000, ms: { must: 1000, aim: 300 } },
  ],
}
const onCpu: Work = {
  interactions: [{ n: 16, m: 256, speed: { must: 0.03, aim: 0.06 } }],
  foldings: [
    { count: 100, n: 500 },
    { count: 1, n: 2000 },
  ],
}
const quickly: Work = { interactions: [{ n: 4, m: 24 }], foldings: [{ count: 5, n: 40 }] }

/** Compares scores with the results of the CPU's kernels. */
async function compare(bench: Bench): Promise<void> {
  const [first, second] = [strandOf(7, 5), strandOf(30, 6)]
  const scores = async (place: { backend: BackendName; device?: number }) => [
    (await bpmax(first, second, place)).score,
    (await bpmax(second, first, place)).score,
    (await nussinov(second, place)).score,
  ]
  const [came, expected] = [await scores(bench.place), await scores({ backend: 'cpu' })]
  // The order of the two strands doesn't affect the score.
  const same = came.every((score, index) => score === expected[index]) && came[0] === came[1]
  if (!same) bench.wrong(`scores are ${came.join(', ')}, and on the CPU ${expected.join(', ')}`)
}

export const rna: Suite = {
  shows: 'BPMax and Nussinov, whole calls; speeds count the steps of the recurrence, per core on the CPU',
  grid(bench) {
    const { interactions, foldings } = bench.pick(quickly, onGpu, onCpu)
    const where = { ...bench.place, repetitions: bench.times(1, 5) }
    const [speedName, cores] = bench.gpu ? ['speed', 1] : ['speed per core', info().cpu.threads]
    return [
      ['scores', () => compare(bench)],
      ...interactions.map(({ n, m, speed, ms }): SuiteCase => {
        const of = `bpmax ${n} × ${m}`
        const measure = async () => {
          const timed = await timeInteraction(n, m, where)
          bench.figure(of, 'the whole call', 'ms', timed.ms, ms)
          const speeds = gopsOf(timed).map((gops) => gops / 1000 / cores)
          bench.figure(of, speedName, 'TOPS', speeds, speed)
        }
        return [of, measure]
      }),
      ...foldings.map(({ count, n, ms }): SuiteCase => {
        const of = `nussinov ${count} × ${n}`
        const measure = async () => {
          bench.figure(of, 'the whole call', 'ms', (await timeFolding(count, n, where)).ms, ms)
        }
        return [of, measure]
      }),
    ]
  },
}
