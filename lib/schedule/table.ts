/** From the rows of a table to the jobs of a plan: ids, times and predecessors as planners and MS Project write them. */
import { show } from '../describe.js'
import { PER_STEP, type Steps } from '../graph-core/slices.js'
import { limitOf } from './calendar.js'
import type { Columns } from './columns.js'
import type { JobId, LinkType, Plan, PlanJob, PlanLink } from './options.js'
import { timeOf, type Units } from './units.js'

/** The German names are those of MS Project: Ende and Anfang. */
const types: Record<string, LinkType> = {
  FS: 'FS',
  SS: 'SS',
  FF: 'FF',
  SF: 'SF',
  EA: 'FS',
  AA: 'SS',
  EE: 'FF',
  AE: 'SF',
}

/** Id, type and lag, such as 3FS+2d or A10: SS 2. */
const typedLink =
  /^(.+?)\s*:?\s*(FS|SS|FF|SF|EA|AA|EE|AE)(?:\s*([+−–-])?\s*((?:\d+[.,]?\d*|[.,]\d+)\s*(?:\p{L}+\.?|%)?))?$/iu
/** Id and lag, such as 3+2d. */
const plainLink = /^(\d+)()\s*([+−–-])\s*((?:\d+[.,]?\d*|[.,]\d+)\s*(?:\p{L}+\.?|%)?)$/u

/** A row of a table, with its place in messages. */
interface Row {
  readonly job: PlanJob
  readonly links: unknown
  readonly line: number
  readonly level: number
  readonly isSummary: boolean
}

/** Error of a row. */
export type RowError = (line: number, problem: string) => never

/** Collects the rows of a table, and makes a plan of them. */
export class PlanRows {
  readonly #columns: Columns
  readonly #units: Units
  readonly #decimalComma: boolean
  readonly #fail: RowError
  readonly #rows: Row[] = []
  readonly #ids = new Map<string, JobId>()
  /** Ids by name; null for a name of several jobs. */
  readonly #names = new Map<string, JobId | null>()
  readonly #summaries = new Set<string>()

  /** @param decimalComma - whether a comma is a decimal point for certain. */
  constructor(columns: Columns, units: Units, decimalComma: boolean, fail: RowError) {
    this.#columns = columns
    this.#units = units
    this.#decimalComma = decimalComma
    this.#fail = fail
  }

  /** Adds a row, unless all its cells are empty. `value` returns the value of a column. */
  add(value: (column: number) => unknown, line: number): void {
    const { at, names, kept } = this.#columns
    const fail = (problem: string) => this.#fail(line, problem)
    const given = (column: number | undefined) => {
      const found = column === undefined ? undefined : value(column)
      return found === null || (typeof found === 'string' && found.trim() === '') ? undefined : found
    }
    const text = (column: number | undefined) => {
      const found = given(column)
      if (found === undefined || typeof found === 'string') return found?.trim()
      if (typeof found === 'number' || typeof found === 'boolean') return `${found}`
      return fail(`${show(names[column!])} must be text or a number, but it is ${show(found)}`)
    }
    const ownName = text(at.name)
    if (ownName === undefined && text(at.id) === undefined) {
      if (given(at.duration) === undefined && given(at.predecessors) === undefined) return
      fail('the job has neither an id nor a name: give it one')
    }
    const raw = given(at.id)
    const id: JobId = typeof raw === 'number' ? raw : (text(at.id) ?? ownName!)
    const what = `the duration of ${show(ownName ?? id)}`
    const isSummary = /^(yes|ja|true|wahr|1)$/i.test(text(at.summary) ?? '')
    const duration = given(at.duration)
    if (duration === undefined && !isSummary) fail(`${what} is missing: write 0 for a milestone`)
    const job: PlanJob = {
      id,
      name: ownName ?? `${id}`,
      duration: isSummary ? 0 : this.#time(duration, what, line),
      predecessors: [],
    }
    if (job.duration < 0) fail(`${what} must be 0 or more, but it is ${show(duration)}`)
    const limit = (role: 'notBefore' | 'deadline', column: number | undefined) => {
      const found = given(column)
      if (found !== undefined && !/^(na|nv)$/i.test(`${found}`))
        job[role] = limitOf(found, role, this.#units, this.#decimalComma, fail)
    }
    limit('notBefore', at.notBefore)
    limit('deadline', at.deadline)
    const constraint = text(at.constraintType)
      ?.replace(/[^\p{L}]/gu, '')
      .toLowerCase()
    if (constraint !== undefined && at.constraintDate !== undefined) {
      if (/^(startnoearlierthan|snet|startonorafter|anfangnichtfrüherals)$/.test(constraint))
        limit('notBefore', at.constraintDate)
      else if (/^(finishnolaterthan|fnlt|finishonorbefore|endenichtspäterals)$/.test(constraint))
        limit('deadline', at.constraintDate)
      else if (!/^(assoonaspossible|asap|sofrühwiemöglich|none|keine)?$/.test(constraint))
        fail(`the constraint ${show(text(at.constraintType))} is not supported: use not before and deadline`)
    }
    if (kept.length > 0)
      job.columns = Object.fromEntries(kept.map((column) => [names[column]!, text(column) ?? '']))
    const key = `${id}`
    if (this.#ids.has(key))
      fail(
        at.id === undefined
          ? `there are two jobs ${show(key)}: give each an id, in a column id`
          : `there are two jobs with the id ${show(key)}: give each its own`,
      )
    this.#ids.set(key, id)
    this.#names.set(job.name, this.#names.has(job.name) ? null : id)
    const links = given(at.predecessors ?? at.successors)
    this.#rows.push({ job, links, line, level: Number(text(at.level) ?? 0), isSummary })
  }

  /** Returns the plan, after the last row. */
  *end(): Steps<Plan> {
    const rows = this.#rows
    const isSummary = (row: Row, next: Row | undefined) => row.isSummary || (next?.level ?? 0) > row.level
    for (const [at, row] of rows.entries())
      if (isSummary(row, rows[at + 1])) this.#summaries.add(`${row.job.id}`)
    const { predecessors, successors } = this.#columns.at
    const isReversed = predecessors === undefined && successors !== undefined
    const byId = new Map(rows.map(({ job }) => [`${job.id}`, job]))
    const jobs: PlanJob[] = []
    let looked = 0
    for (const { job, links, line } of rows) {
      if (this.#summaries.has(`${job.id}`)) {
        if (links !== undefined) this.#refuseSummary(`${job.id}`, line)
        continue
      }
      jobs.push(job)
      for (const link of this.#links(links, job, line)) {
        if (isReversed) byId.get(`${link.id}`)!.predecessors.push({ ...link, id: job.id })
        else job.predecessors.push(link)
        if (++looked % 1024 === 0) yield
      }
      if (jobs.length % (PER_STEP / 8) === 0) yield
    }
    if (jobs.length === 0) this.#fail(0, 'a plan must have at least one job, but it has none')
    return { ...this.#units, jobs }
  }

  #time(value: unknown, what: string, line: number): number {
    return timeOf(value, what, this.#units, this.#decimalComma, (problem) => this.#fail(line, problem))
  }

  *#links(given: unknown, job: PlanJob, line: number): Generator<PlanLink, void, void> {
    if (given === undefined) return
    if (typeof given === 'number') yield this.#link(`${given}`, job, line)
    else if (typeof given === 'string')
      for (const text of this.#parts(given)) yield this.#link(text, job, line)
    else if (Array.isArray(given)) {
      for (const each of given) {
        if (typeof each === 'string' || typeof each === 'number') yield this.#link(`${each}`, job, line)
        else yield this.#object(each, job, line)
      }
    } else {
      this.#fail(
        line,
        `the predecessors of ${show(job.name)} must be text such as '3FS+2d', or a list, but they are ${show(given)}`,
      )
    }
  }

  /** Splits a list of links: at semicolons, line ends or bars, and else at commas. A name may have these marks. */
  *#parts(text: string): Generator<string, void, void> {
    if (/^\d+$/.test(text) || this.#find(text.trim()) !== undefined) return yield text.trim()
    if (/^\s*\d+(\s+\d+)+\s*$/.test(text)) return yield* text.trim().split(/\s+/)
    for (const part of text.split(/[;\n|]/)) {
      const whole = part.trim()
      if (whole === '') continue
      if (!whole.includes(',') || this.#find(whole) !== undefined) {
        yield whole
        continue
      }
      // A comma within a lag, such as 3FS+2,5d, isn't a separator where commas are decimal points.
      const commas = this.#decimalComma ? /(?<![+−–-]\s*\d+),|,(?!\d)/ : /,/
      for (const each of whole.split(commas)) if (each.trim() !== '') yield each.trim()
    }
  }

  /** Returns the id that a text names; undefined for no job. */
  #find(text: string): JobId | undefined {
    const own = this.#ids.get(text) ?? this.#names.get(text)
    if (own !== undefined && own !== null) return own
    // Spreadsheets with empty cells make 3.0 of 3.
    const whole = /^(\d+)[.,]0+$/.exec(text)?.[1]
    if (whole !== undefined) return this.#find(whole)
    if (!/^\d+$/.test(text)) return undefined
    const { job } = this.#columns.at.id === undefined ? (this.#rows[Number(text) - 1] ?? {}) : {}
    return job?.id ?? this.#ids.get(`${text}.0`)
  }

  #link(text: string, job: PlanJob, line: number): PlanLink {
    const own = this.#find(text)
    if (own !== undefined) return this.#checked({ id: own, type: 'FS', lag: 0 }, line)
    const [, first = '', type, sign, time] = typedLink.exec(text) ?? plainLink.exec(text) ?? []
    const id = this.#find(first)
    if (id === undefined) {
      return this.#fail(
        line,
        `${show(job.name)} must wait for jobs of the plan, but ${show(text)} is none: write an id, and behind it the kind of link and the lag, such as 3FS+2d`,
      )
    }
    const what = `the lag of ${show(text)}`
    const lag = time === undefined ? 0 : this.#time(time, what, line)
    const isLead = sign !== undefined && sign !== '+'
    return this.#checked({ id, type: types[type?.toUpperCase() || 'FS']!, lag: isLead ? 0 - lag : lag }, line)
  }

  #object(given: unknown, job: PlanJob, line: number): PlanLink {
    const { id, type = 'FS', lag = 0 } = (given ?? {}) as Record<string, unknown>
    const own = typeof id === 'string' || typeof id === 'number' ? this.#find(`${id}`) : undefined
    if (own === undefined)
      this.#fail(
        line,
        `${show(job.name)} must wait for jobs of the plan, but a predecessor has the id ${show(id)}`,
      )
    const known = typeof type === 'string' ? types[type.toUpperCase()] : undefined
    if (known === undefined)
      return this.#fail(line, `the type of a link must be 'FS', 'SS', 'FF' or 'SF', but it is ${show(type)}`)
    return this.#checked(
      { id: own!, type: known, lag: this.#time(lag, `the lag of ${show(id)}`, line) },
      line,
    )
  }

  #checked(link: PlanLink, line: number): PlanLink {
    if (this.#summaries.has(`${link.id}`)) this.#refuseSummary(`${link.id}`, line)
    return link
  }

  #refuseSummary(id: string, line: number): never {
    return this.#fail(
      line,
      `links must lead between jobs, but ${show(id)} is a summary of others: link the jobs that it stands for`,
    )
  }
}
