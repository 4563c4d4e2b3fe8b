/** Experiments in the order of the report, each with its jobs, tables and figures. */
import { greatest } from '../min-max.js'
import type { Data } from '../report/data.js'
import { html } from '../report/html.js'
import type { Section } from '../report/section.js'
import { globalMemory, occupancy, specifications } from '../report/tables.js'
import { type Exhibit, sweepsOf } from '../report/thesis.js'
import { ladderSections } from './describe-ladder.js'
import { rooflineSections } from './describe-roofline.js'
import { futureJobs, futureSections } from './future.js'
import type { Job } from './job.js'
import { kernelSweeps } from './kernel-sweeps.js'
import { allMicrobenchJobs, microbenchSections, occupancyJobs } from './microbench-sweeps.js'

export const defaultSizes = [1024, 2048, 4096, 8192, 16384]

interface LabExperiment {
  /**
   * Jobs that the report measures, with square products of the given sizes; absent if a separate command
   * measures them.
   */
  jobs?(sizes: number[]): Job[]
  sections(data: Data): Section[]
  /**
   * Whether the experiment is an addition to the thesis' sweeps. Additions are shown only if they were
   * measured.
   */
  beyond?: true
}

const { cases, patterns, transpose, instances, tiles, blocks, space, borders } = kernelSweeps

/** Size in Figure 4.5 of the thesis: 10K × 10K. */
const TRANSPOSE_SIZE = 10240

const experiments: LabExperiment[] = [
  { sections: machineSections },
  { jobs: occupancyJobs, sections: occupancySections },
  { jobs: allMicrobenchJobs, sections: microbenchSections },
  cases,
  patterns,
  {
    ...transpose,
    jobs: (sizes) =>
      transpose.jobs(
        greatest(sizes) >= TRANSPOSE_SIZE
          ? [...new Set([...sizes, TRANSPOSE_SIZE])].sort((x, y) => x - y)
          : sizes,
      ),
  },
  {
    ...instances,
    jobs: (sizes) =>
      instances.jobs([
        ...sizes.slice(0, 1),
        ...sizes.filter((size) => size === 8192 || size === greatest(sizes)),
      ]),
  },
  tiles,
  blocks,
  { ...space, jobs: (sizes) => space.jobs([Math.min(...space.sizes, greatest(sizes))]), beyond: true },
  { sections: ladderSections, beyond: true },
  { ...borders, jobs: () => borders.jobs([...borders.sizes]), beyond: true },
  { sections: rooflineSections, beyond: true },
  { jobs: futureJobs, sections: futureSections, beyond: true },
]

/** Returns the jobs of the whole report, or of one exhibit. */
export function reportJobs(sizes: number[] = defaultSizes, only?: Exhibit): Job[] {
  const all = experiments.flatMap(({ jobs }) => jobs?.(sizes) ?? [])
  const shown: readonly string[] | undefined = only && sweepsOf[only]
  return shown ? all.filter(({ sweep }) => shown.includes(sweep)) : all
}

/** Returns all sections of the report. */
export const sections = (data: Data): Section[] =>
  experiments.flatMap(({ sections, beyond }) =>
    sections(data).filter(({ body }) => !beyond || body.length > 0),
  )

function machineSections(data: Data): Section[] {
  return [
    {
      exhibits: ['Table 1.1'],
      title: 'Global memory',
      caption: html`The thesis’ GPUs, and this one.`,
      body: [globalMemory(data)],
      command: 'npx mpmml report',
    },
    {
      exhibits: ['Table 1.2'],
      title: 'Technical specifications',
      caption: html`The thesis’ GPUs, and what the CUDA runtime says of this one.`,
      body: [specifications(data)],
      command: 'npx mpmml report',
    },
  ]
}

function occupancySections(data: Data): Section[] {
  return [
    {
      exhibits: ['Table 2.1'],
      title: 'Occupancy',
      caption: html`How many threads a multiprocessor holds, from the compiled code: the thesis’ two kernels, reg-reg with
        blocks of 32 × 32 threads for every X × Y, and the MPMML kernels of the figures below.`,
      claims: ['occupancy'],
      body: occupancy(data),
      command: 'npx mpmml occupancy reg-reg --x 4 --y 4 --bsi 32 --bsj 32',
    },
  ]
}
