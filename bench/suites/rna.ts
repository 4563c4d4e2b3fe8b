/** The interaction and the folding of strands of RNA: whole calls. */
import { info } from '../../lib/index.js'
import { bpmax, nussinov } from '../../lib/rna.js'
import { gopsOf, strandOf, timeFolding, timeInteraction } from '../needed.js'
import type { Asked, Findings, Suite } from './protocol.js'

interface Interaction {
  n: number
  m: number
  speed?: Asked
  ms?: Asked
}

interface Folding {
  count: number
  n: number
  ms?: Asked
}

const work: Record<'cuda' | 'cpu' | 'quick', { interactions: Interaction[]; foldings: Folding[] }> = {
  cuda: {
    interactions: [
      { n: 16, m: 750, speed: { must: 4, aim: 8 } },
      { n: 32, m: 1000, speed: { must: 6, aim: 14 } },
      { n: 32, m: 3000, ms: { must: 10_000, aim: 4000 } },
    ],
    foldings: [
      { count: 1000, n: 500, ms: { must: 200, aim: 50 } },
      { count: 1, n: 5000, ms: { must: 1000, aim: 300 } },
    ],
  },
  cpu: {
    interactions: [{ n: 16, m: 256, speed: { must: 0.03, aim: 0.06 } }],
    foldings: [
      { count: 100, n: 500 },
      { count: 1, n: 2000 },
    ],
  },
  quick: { interactions: [{ n: 4, m: 24 }], foldings: [{ count: 5, n: 40 }] },
}

/** The host's kernels find the same scores. */
async function compare(backend: 'cuda' | 'cpu', device: number, findings: Findings): Promise<void> {
  const [first, second] = [strandOf(7, 5), strandOf(30, 6)]
  const scores = async (place: { backend: 'cuda' | 'cpu'; device?: number }) => [
    (await bpmax(first, second, place)).score,
    (await bpmax(second, first, place)).score,
    (await nussinov(second, place)).score,
  ]
  const [came, expected] = [await scores({ backend, device }), await scores({ backend: 'cpu' })]
  // Which strand comes first makes no difference.
  const same = came.every((score, index) => score === expected[index]) && came[0] === came[1]
  if (!same) findings.wrong(`scores are ${came.join(', ')}, and on the CPU ${expected.join(', ')}`)
}

export const rna: Suite = {
  shows: 'BPMax and Nussinov, whole calls; speeds count the steps of the recurrence, per core on the CPU',
  async run({ backend, device, quick, repetitions }, findings) {
    const { interactions, foldings } = work[quick ? 'quick' : backend]
    const where = { backend, device, repetitions: repetitions ?? (quick ? 1 : 5) }
    const cores = backend === 'cpu' ? info().cpu.threads : 1
    await compare(backend, device, findings)
    const parts = interactions.length + foldings.length
    for (const [at, { n, m, speed, ms }] of interactions.entries()) {
      findings.progress(`bpmax ${n} × ${m}`, at / parts)
      const timed = await timeInteraction(n, m, where)
      findings.figure(`bpmax ${n} × ${m}`, 'the whole call', 'ms', timed.ms, ms)
      const speeds = gopsOf(timed).map((gops) => gops / 1000 / cores)
      const what = backend === 'cpu' ? 'speed per core' : 'speed'
      findings.figure(`bpmax ${n} × ${m}`, what, 'TOPS', speeds, { ...speed, moreIsBetter: true })
    }
    for (const [at, { count, n, ms }] of foldings.entries()) {
      findings.progress(`nussinov ${count} × ${n}`, (interactions.length + at) / parts)
      const timed = await timeFolding(count, n, where)
      findings.figure(`nussinov ${count} × ${n}`, 'the whole call', 'ms', timed.ms, ms)
    }
  },
}
