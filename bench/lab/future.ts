/** What the thesis leaves as future work, as jobs: triangular products, and the interaction of strands. */
import { openDevice } from '../../lib/index.js'
import { spread, type WorkPoint } from '../../lib/lab.js'
import { gopsOf, type Timed, timeFolding, timeInteraction, timeProduct, triangles } from '../needed.js'

/** `parameters` has the sizes: n, and batch, m or strands. */
export interface WorkJob {
  kind: 'work'
  sweep: 'triangular' | 'bpmax'
  name: 'whole' | 'triangles' | 'interaction' | 'folding'
  parameters: { n: number } & Record<string, number | string>
}

/** The tables of 32 bases, by their first and their last one. */
const TABLES = 496
const LARGEST = 8192

/** Products of squares and of triangles, and BPMax. */
export function futureJobs(sizes: readonly number[]): WorkJob[] {
  const product = (name: 'whole' | 'triangles', n: number, batch = 1): WorkJob => ({
    kind: 'work',
    sweep: 'triangular',
    name,
    parameters: { n, batch },
  })
  const strands = (name: 'interaction' | 'folding', parameters: WorkJob['parameters']): WorkJob => ({
    kind: 'work',
    sweep: 'bpmax',
    name,
    parameters,
  })
  return [
    ...sizes.filter((n) => n <= LARGEST).flatMap((n) => [product('whole', n), product('triangles', n)]),
    product('whole', 1024, TABLES),
    product('triangles', 1024, TABLES),
    strands('interaction', { n: 16, m: 256 }),
    strands('interaction', { n: 16, m: 750 }),
    strands('interaction', { n: 32, m: 1000 }),
    strands('folding', { n: 500, strands: 1000 }),
    strands('folding', { n: 5000, strands: 1 }),
  ]
}

/** Seconds on an H200, roughly. */
export function costOfWork({ sweep, name, parameters: { n, m, batch } }: WorkJob): number {
  if (sweep === 'bpmax') return name === 'folding' ? 2 : 1 + (n * Number(m)) ** 3 / 1e14
  return 1 + (10 * Number(batch) * n ** 3) / 2e13 + (Number(batch) * n * n) / 1e8
}

const REPETITIONS = 7

export async function runWork(
  job: WorkJob,
  device: number,
  asked: number | null,
): Promise<NonNullable<WorkPoint['result']>> {
  const repetitions = asked ?? REPETITIONS
  const timed = await timeWork(job, device, repetitions)
  const { backend, device: name, how, steps } = timed
  return { backend, device: name, how, steps, ms: spread(timed.ms), gops: spread(gopsOf(timed)) }
}

async function timeWork({ name, parameters }: WorkJob, index: number, repetitions: number): Promise<Timed> {
  const { n } = parameters
  const where = { backend: 'cuda', device: index, repetitions } as const
  if (name === 'interaction') return timeInteraction(n, Number(parameters.m), where)
  if (name === 'folding') return timeFolding(Number(parameters.strands), n, where)
  const device = await openDevice({ backend: 'cuda', device: index })
  try {
    const request = { n, batch: Number(parameters.batch), repetitions }
    return await timeProduct(device, name === 'triangles' ? { ...request, structure: triangles } : request)
  } finally {
    await device.close()
  }
}
