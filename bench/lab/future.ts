/**
 * Measures the future work of the thesis: products of triangles compared with products of squares, and the
 * interaction of strands.
 */
import { openDevice } from '../../lib/index.js'
import { spread, type WorkPoint } from '../../lib/lab.js'
import type { Columns } from '../experiment.js'
import { gopsOf, type Timed, timeFolding, timeInteraction, timeProduct, triangles } from '../future-work.js'
import { bars, type Figure, lines, ms } from '../report/charts.js'
import { type Data, type MeasuredWork, sizeName } from '../report/data.js'
import { html } from '../report/html.js'
import type { Section } from '../report/section.js'
import { jobOf, type RunOptions, type WorkJob } from './job.js'

/** Number of tables of 32 bases: 32 · 31 / 2, one per pair of first and last base. */
const TABLES = 496
const LARGEST = 8192

/** Returns jobs for products of squares and triangles, and for BPMax. */
export function futureJobs(sizes: readonly number[]): WorkJob[] {
  const product = (name: 'whole' | 'triangles', n: number, batch = 1) =>
    jobOf('work', 'triangular', name, { n, batch })
  const strands = (name: 'interaction' | 'folding', parameters: WorkJob['parameters']) =>
    jobOf('work', 'bpmax', name, parameters)
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

/** Returns a rough estimate of the job's duration on an H200 in seconds. */
export function costOfWork({ sweep, name, parameters: { n, m, batch } }: WorkJob): number {
  if (sweep === 'bpmax') return name === 'folding' ? 2 : 1 + (n * Number(m)) ** 3 / 1e14
  return 1 + (10 * Number(batch) * n ** 3) / 2e13 + (Number(batch) * n * n) / 1e8
}

const REPETITIONS = 7

export async function runWork(
  job: WorkJob,
  { device, repetitions }: RunOptions,
): Promise<NonNullable<WorkPoint['result']>> {
  const timed = await timeWork(job, device, repetitions ?? REPETITIONS)
  return { ...timed, ms: spread(timed.ms), gops: spread(gopsOf(timed)) }
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

const lineNames: Readonly<Record<string, string>> = {
  whole: 'squares',
  triangles: 'upper × upper, needed steps',
}

const xOf = ({ parameters: { n, batch } }: MeasuredWork) =>
  Number(batch) > 1 ? `${batch} × ${sizeName(Number(n))}` : sizeName(Number(n))

function triangularFigure(data: Data): Figure[] {
  const points = data.work('triangular')
  const shareOfWhole = (point: MeasuredWork) => {
    const whole = points.find((other) => other.name === 'whole' && xOf(other) === xOf(point))
    if (point.name === 'whole' || !whole) return ''
    return (point.result.ms.median / whole.result.ms.median).toFixed(3)
  }
  return lines({
    points,
    x: xOf,
    xs: [...new Set(points.map(xOf))],
    xLabel: 'size',
    line: ({ name }) => lineNames[name]!,
    lines: Object.values(lineNames),
    lineLabel: 'product',
    columns: [
      ['ms', ({ result }) => ms(result.ms.median)],
      ['of the squares’ time', shareOfWhole],
      ['kernel', ({ result }) => result.how],
    ],
    ceiling: data.ceiling,
    description: 'Speed of triangular and square products over sizes',
  })
}

/**
 * Published speed of the whole BPMax program on the study's fastest CPU, in GFLOPS: IEEE TPDS 2024, doi
 * 10.1109/TPDS.2024.3380443.
 */
const PUBLISHED = 312

const isFolding = ({ name }: MeasuredWork) => name === 'folding'

const interactionColumns: Columns<MeasuredWork> = [
  ['ms', ({ result }) => ms(result.ms.median)],
  ['steps', ({ result }) => result.steps.toExponential(2)],
]

const interactionFigure = (data: Data): Figure[] =>
  bars({
    points: data.work('bpmax'),
    label(point) {
      const { n, m, strands } = point.parameters
      return isFolding(point) ? `Nussinov, ${strands} × ${n} bases` : `BPMax, ${n} × ${m} bases`
    },
    series: (point) => (isFolding(point) ? 'Nussinov' : 'BPMax'),
    columns: interactionColumns,
    references: [{ y: PUBLISHED, label: 'best published, CPUs' }],
    description: 'Speed of BPMax and Nussinov, whole calls',
    gpu: data.machine.gpu.name,
  })

export const futureSections = (data: Data): Section[] => [
  {
    title: 'Triangular products',
    caption: html`The thesis leaves triangular matrices as future work. The product of two upper triangles needs a sixth of the
    steps of squares, and only these count in its speed. Kernel time on resident matrices of any int32 values, accumulated; the last
    size is the batch of BPMax’s tables.`,
    body: triangularFigure(data),
    command: 'npx mpmml report',
  },
  {
    title: 'RNA–RNA interaction',
    caption: html`The thesis’ application, the interaction of two strands of RNA (BPMax), and the folding of one (Nussinov). Whole
    calls, with all transfers and the traceback; two operations per step of the recurrence. The line is the best published program for
    CPUs, ${PUBLISHED} GFLOPS (IEEE TPDS, 2024, doi 10.1109/TPDS.2024.3380443).`,
    body: interactionFigure(data),
    command: 'npx mpmml report',
  },
]
