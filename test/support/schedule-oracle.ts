/** Schedules by definition: repeated relaxation over the starts and finishes of jobs. Shares no code with the library. */

export type Kind = 'FS' | 'SS' | 'FF' | 'SF'

/** A job in whole numbers; links are [predecessor, kind, lag]. */
export interface OracleJob {
  duration: number
  links: [first: number, kind: Kind, lag: number][]
  notBefore?: number
  deadline?: number
}

export interface OracleSchedule {
  end: number
  earliest: number[]
  latest: number[]
  free: number[]
}

/** Margin of a link for the starts of both jobs: 0 or more if the link is satisfied. */
function margin(
  jobs: readonly OracleJob[],
  starts: readonly number[],
  job: number,
  link: OracleJob['links'][0],
): number {
  const [first, kind, lag] = link
  const from = starts[first]! + (kind === 'FS' || kind === 'FF' ? jobs[first]!.duration : 0)
  const to = starts[job]! + (kind === 'FF' || kind === 'SF' ? jobs[job]!.duration : 0)
  return to - (from + lag)
}

/** Returns null if jobs wait for themselves. */
export function scheduleByDefinition(jobs: readonly OracleJob[]): OracleSchedule | null {
  const earliest = jobs.map(({ notBefore = 0 }) => Math.max(0, notBefore))
  const relax = (): boolean => {
    let changed = false
    for (const [job, { links }] of jobs.entries()) {
      for (const link of links) {
        const missing = -margin(jobs, earliest, job, link)
        if (missing <= 0) continue
        earliest[job]! += missing
        changed = true
      }
    }
    return changed
  }
  for (let round = 0; relax(); round++) if (round > jobs.length) return null
  const end = Math.max(...jobs.map(({ duration }, job) => earliest[job]! + duration))
  const latest = jobs.map(
    ({ duration, deadline = Number.POSITIVE_INFINITY }) => Math.min(end, deadline) - duration,
  )
  for (let changed = true; changed; ) {
    changed = false
    for (const [job, { links }] of jobs.entries()) {
      for (const link of links) {
        const missing = -margin(jobs, latest, job, link)
        if (missing <= 0 || link[0] === job) continue
        latest[link[0]]! -= missing
        changed = true
      }
    }
  }
  // Free float: a single job is delayed while every link stays satisfied and the end doesn't change.
  const free = jobs.map(({ duration }, moved) => {
    const isKept = (starts: number[]) =>
      starts[moved]! + duration <= end &&
      jobs.every(
        ({ links }, job) => job === moved || links.every((link) => margin(jobs, starts, job, link) >= 0),
      )
    let by = 0
    while (isKept(earliest.map((start, job) => (job === moved ? start + by + 1 : start)))) by++
    return by
  })
  return { end, earliest, latest, free }
}

/** Returns whether jobs, in order, are a chain that decides the end. */
export function isCriticalPath(
  jobs: readonly OracleJob[],
  { end, earliest }: OracleSchedule,
  path: readonly number[],
): boolean {
  const [first = -1] = path
  const last = path.at(-1) ?? -1
  return (
    earliest[first] === Math.max(0, jobs[first]!.notBefore ?? 0) &&
    earliest[last]! + jobs[last]!.duration === end &&
    path.slice(1).every((job, at) => {
      const before = path[at]!
      return jobs[job]!.links.some((link) => link[0] === before && margin(jobs, earliest, job, link) === 0)
    })
  )
}
