/**
 * Converts the rows of a table to the jobs of a plan: ids, times and predecessors in the notation of MS
 * Project.
 */
import { show } from '../describe.js'
import type { Steps } from '../graph-core/slices.js'
import { limitOf } from './calendar.js'
import type { Columns } from './columns.js'
import type { LinkType, Plan, PlanJob, PlanLink } from './options.js'
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

/** Marks between predecessors. */
const marks = /[;,|\n]|\s(?:and|und|&)\s/i

const ZERO = 48

/** Texts that stand for no predecessor. */
const nothing = /^(-|–|—|none|nil|null|n\/?a|kein|keine)$/i

/** Longer texts are no links: their search takes time with the square of their length. */
const LONGEST_LINK = 500

/** Jobs whose links are read at once: about a millisecond. */
const STEP = 512

/** Error of a row. */
type RowError = (line: number, problem: string) => never

/** Texts of times that are remembered. */
const REMEMBERED = 1024

/** Collects the rows of a table, and makes a plan of them. */
export class PlanRows {
  readonly #columns: Columns
  readonly #units: Units
  readonly #decimalComma: boolean
  readonly #fail: RowError
  readonly #jobs: PlanJob[] = []
  /** Predecessors, line and level of each job. */
  readonly #links: unknown[] = []
  readonly #lines: number[] = []
  readonly #levels: number[] = []
  readonly #ids = new Map<string, PlanJob>()
  /** Jobs by id and name in lower case, null for several; made when a predecessor is no id. */
  #names: Map<string, PlanJob | null> | undefined
  readonly #summaries = new Set<PlanJob>()
  /** Whether an id or a name has a mark that separates predecessors. */
  #hasMarks = false
  /** Whether all ids are numbers, so that no id looks like a link. */
  #isNumbered = true
  readonly #times = new Map<string, number>()
  /** Function that returns a cell of the current row. */
  #value: (column: number) => unknown = () => undefined
  #line = 0
  readonly #refuse = (problem: string): never => this.#fail(this.#line, problem)

  /** @param decimalComma - whether a comma is a decimal point for certain. */
  constructor(columns: Columns, units: Units, decimalComma: boolean, fail: RowError) {
    this.#columns = columns
    this.#units = units
    this.#decimalComma = decimalComma
    this.#fail = fail
  }

  /** Adds a row, unless all its cells are empty. `value` returns the value of a column. */
  add(value: (column: number) => unknown, line: number): void {
    this.#value = value
    this.#line = line
    const { at, names, retained } = this.#columns
    const ownName = this.#text(at.name)
    const ownId = this.#text(at.id)
    if (ownName === undefined && ownId === undefined) {
      if (this.#given(at.duration) === undefined && this.#given(at.predecessors) === undefined) return
      this.#refuse('the job has neither an id nor a name: give it one')
    }
    const raw = this.#given(at.id)
    const id = typeof raw === 'number' ? raw : (ownId ?? ownName!)
    const name = ownName ?? `${id}`
    const isSummary = at.summary !== undefined && /^(yes|ja|true|wahr|1)$/i.test(this.#text(at.summary) ?? '')
    const job: PlanJob = {
      id,
      name,
      duration: isSummary ? 0 : this.#duration(at.duration, name),
      predecessors: [],
    }
    this.#limit(job, 'notBefore', at.notBefore)
    this.#limit(job, 'deadline', at.deadline)
    if (at.constraintType !== undefined) this.#constraint(job)
    if (retained.length > 0)
      job.columns = Object.fromEntries(retained.map((column) => [names[column]!, this.#text(column) ?? '']))
    const key = `${id}`
    if (this.#ids.has(key))
      this.#refuse(
        at.id === undefined
          ? `there are two jobs ${show(key)}: give each an id, in a column id`
          : `there are two jobs with the id ${show(key)}: give each its own`,
      )
    this.#ids.set(key, job)
    this.#isNumbered &&= /^\d+$/.test(key)
    this.#hasMarks ||= marks.test(key) || marks.test(name)
    if (isSummary) this.#summaries.add(job)
    this.#jobs.push(job)
    this.#links.push(this.#joined(at.predecessors ?? at.successors))
    this.#lines.push(line)
    if (at.level !== undefined) this.#levels.push(Number(this.#text(at.level) ?? 0))
  }

  /** Returns the plan, after the last row. */
  *end(): Steps<Plan> {
    for (const [at, level] of this.#levels.entries())
      if (this.#levels[at + 1]! > level) this.#summaries.add(this.#jobs[at]!)
    if (this.#columns.isWbs) {
      for (const id of this.#ids.keys()) {
        const parent = this.#ids.get(id.slice(0, Math.max(0, id.lastIndexOf('.'))))
        if (parent) this.#summaries.add(parent)
      }
    }
    const { predecessors, successors } = this.#columns.at
    const isReversed = predecessors === undefined && successors !== undefined
    for (const [at, job] of this.#jobs.entries()) {
      this.#line = this.#lines[at]!
      const links = this.#links[at]
      if (links !== undefined && this.#summaries.has(job)) this.#refuseSummary(job)
      // The array is assigned without a copy, because push() to an empty array would reserve space for 17
      // links.
      if (!isReversed) job.predecessors = this.#linksOf(links, job)
      else
        for (const link of this.#linksOf(links, job))
          this.#ids.get(`${link.id}`)!.predecessors.push({ ...link, id: job.id })
      if (at % STEP === STEP - 1) yield
    }
    const jobs =
      this.#summaries.size === 0 ? this.#jobs : this.#jobs.filter((job) => !this.#summaries.has(job))
    if (jobs.length === 0) this.#fail(0, 'a plan must have at least one job, but it has none')
    return { ...this.#units, jobs }
  }

  /** Predecessors of all columns that have some. */
  #joined(first: number | undefined): unknown {
    const { more } = this.#columns
    if (more.length === 0) return this.#given(first)
    const texts = [first, ...more]
      .map((column) => this.#text(column))
      .filter((text) => text && !nothing.test(text))
    return texts.length > 0 ? texts.join(';') : undefined
  }

  /** Value of a column; undefined for an empty cell. */
  #given(column: number | undefined): unknown {
    const found = column === undefined ? undefined : this.#value(column)
    return found === null || (typeof found === 'string' && found.trim() === '') ? undefined : found
  }

  #text(column: number | undefined): string | undefined {
    const found = this.#given(column)
    if (found === undefined || typeof found === 'string') return found?.trim()
    if (typeof found === 'number' || typeof found === 'boolean') return `${found}`
    return this.#refuse(
      `${show(this.#columns.names[column!])} must be text or a number, but it is ${show(found)}`,
    )
  }

  #duration(column: number | undefined, name: string): number {
    const given = this.#given(column)
    if (given === undefined) this.#refuse(`the duration of ${show(name)} is missing: write 0 for a milestone`)
    const duration = this.#time(given, 'the duration of', name)
    if (duration < 0)
      this.#refuse(`the duration of ${show(name)} must be 0 or more, but it is ${show(given)}`)
    return duration
  }

  #limit(job: PlanJob, role: 'notBefore' | 'deadline', column: number | undefined): void {
    const found = this.#given(column)
    if (found !== undefined && !/^(na|nv)$/i.test(`${found}`))
      job[role] = limitOf(found, role, this.#units, this.#decimalComma, this.#refuse)
  }

  /** Reads a constraint of MS Project or Primavera. */
  #constraint(job: PlanJob): void {
    const { at } = this.#columns
    const kind = (this.#text(at.constraintType) ?? '').replace(/[^\p{L}]/gu, '').toLowerCase()
    if (/^(startnoearlierthan|snet|startonorafter|anfangnichtfrüherals)$/.test(kind))
      this.#limit(job, 'notBefore', at.constraintDate)
    else if (/^(finishnolaterthan|fnlt|finishonorbefore|endenichtspäterals)$/.test(kind))
      this.#limit(job, 'deadline', at.constraintDate)
    else if (!/^(assoonaspossible|asap|sofrühwiemöglich|none|keine)?$/.test(kind))
      this.#refuse(
        `the constraint of ${show(job.name)} must be as soon as possible, start no earlier than or finish no later than, but it is ${show(this.#text(at.constraintType))}: use a deadline`,
      )
  }

  /**
   * Reads a time. The message's words are separate arguments, so that valid times need no string
   * concatenation.
   */
  #time(value: unknown, what: string, of: string): number {
    const known = typeof value === 'string' ? this.#times.get(value) : undefined
    if (known !== undefined) return known
    const time = timeOf(value, `${what} ${show(of)}`, this.#units, this.#decimalComma, this.#refuse)
    if (typeof value === 'string' && this.#times.size < REMEMBERED) this.#times.set(value, time)
    return time
  }

  #linksOf(given: unknown, job: PlanJob): PlanLink[] {
    if (given === undefined) return []
    if (typeof given === 'number') return [this.#link(`${given}`, job)]
    if (typeof given === 'string') return this.#parts(given).map((text) => this.#link(text, job))
    if (!Array.isArray(given))
      return this.#refuse(
        `the predecessors of ${show(job.name)} must be text such as '3FS+2d', or a list, but they are ${show(given)}`,
      )
    return given.map((each: unknown) =>
      typeof each === 'string' || typeof each === 'number'
        ? this.#link(`${each}`.trim(), job)
        : this.#object(each, job),
    )
  }

  /** Splits a list of links: at semicolons, line ends or bars, and else at commas. A name may have these marks. */
  #parts(text: string): string[] {
    const isJob = (part: string) => this.#hasMarks && (this.#find(part) ?? this.#named(part)) !== undefined
    const all = text.trim()
    if (/^\d+(\s+\d+)+$/.test(all)) return all.split(/\s+/)
    if (isJob(all)) return [all]
    if (nothing.test(all) && !this.#find(all)) return []
    // A comma within a lag, such as 3FS+2,5d, isn't a separator where commas are decimal points.
    const commas = this.#decimalComma
      ? /(?<![+−–-]\s*\d+),|,(?!\d)|\s(?:and|und|&)\s/i
      : /,|\s(?:and|und|&)\s/i
    const parts: string[] = []
    for (const part of all.split(/[;\n|]/)) {
      const isWhole = !marks.test(part) || isJob(part.trim())
      for (const each of isWhole ? [part] : part.split(commas))
        if (each.trim() !== '') parts.push(each.trim())
    }
    return parts
  }

  /** Returns the job with an id. */
  #find(text: string): PlanJob | undefined {
    const own = this.#ids.get(text)
    if (own || !/^\d/.test(text)) return own
    // Spreadsheets write 3 as 3.0 in columns with empty cells.
    const whole = /^(\d+)[.,]0+$/.exec(text)?.[1]
    if (whole !== undefined) return this.#find(whole)
    if (!/^\d+$/.test(text)) return undefined
    return this.#columns.at.id === undefined ? this.#jobs[Number(text) - 1] : this.#ids.get(`${text}.0`)
  }

  /** Returns the only job with a name, or with an id in another case. */
  #named(text: string): PlanJob | undefined {
    const names = this.#names ?? new Map<string, PlanJob | null>()
    if (!this.#names) {
      this.#names = names
      for (const job of this.#jobs) {
        const id = `${job.id}`.toLowerCase()
        const name = job.name.toLowerCase()
        names.set(id, names.has(id) ? null : job)
        if (name !== id) names.set(name, names.has(name) ? null : job)
      }
    }
    return names.get(text.toLowerCase()) ?? undefined
  }

  /** Reads a link such as 3FS+2d of a table whose ids are numbers, without a search; undefined for any other text. */
  #numbered(text: string): PlanLink | undefined {
    let end = 0
    while (text.charCodeAt(end) - ZERO <= 9 && text.charCodeAt(end) >= ZERO) end++
    const type = types[text.slice(end, end + 2)]
    const sign = text[end + 2]
    if (!type || !(sign === undefined || sign === '+' || sign === '-')) return undefined
    const found = this.#ids.get(text.slice(0, end))
    const lag = sign === undefined ? 0 : this.#times.get(text.slice(end + 3))
    return found && lag !== undefined ? this.#made(found, type, sign === '-' ? 0 - lag : lag) : undefined
  }

  #link(text: string, job: PlanJob): PlanLink {
    const numbered = this.#isNumbered ? this.#numbered(text) : undefined
    if (numbered) return numbered
    const own = this.#find(text)
    if (own) return this.#made(own, 'FS', 0)
    const parts = text.length > LONGEST_LINK ? null : (typedLink.exec(text) ?? plainLink.exec(text))
    const [, first = '', type, sign, time] = parts ?? []
    const found = this.#find(first) ?? this.#named(text) ?? this.#named(first)
    if (!found)
      return this.#refuse(
        `${show(job.name)} must wait for jobs of the plan, but ${show(text)} is none: write an id, and behind it the kind of link and the lag, such as 3FS+2d`,
      )
    if (found.name.toLowerCase() === text.toLowerCase() || `${found.id}`.toLowerCase() === text.toLowerCase())
      return this.#made(found, 'FS', 0)
    const lag = time === undefined ? 0 : this.#time(time, 'the lag of', text)
    const isLead = sign !== undefined && sign !== '+'
    return this.#made(found, types[type?.toUpperCase() || 'FS']!, isLead ? 0 - lag : lag)
  }

  #object(given: unknown, job: PlanJob): PlanLink {
    const { id, type = 'FS', lag = 0 } = (given ?? {}) as Record<string, unknown>
    const own = typeof id === 'string' || typeof id === 'number' ? this.#find(`${id}`) : undefined
    if (!own)
      return this.#refuse(
        `${show(job.name)} must wait for jobs of the plan, but a predecessor has the id ${show(id)}`,
      )
    const known = typeof type === 'string' ? types[type.toUpperCase()] : undefined
    if (known === undefined)
      return this.#refuse(`the type of a link must be 'FS', 'SS', 'FF' or 'SF', but it is ${show(type)}`)
    return this.#made(own, known, this.#time(lag, 'the lag of', `${id}`))
  }

  #made(job: PlanJob, type: LinkType, lag: number): PlanLink {
    if (this.#summaries.size > 0 && this.#summaries.has(job)) this.#refuseSummary(job)
    return { id: job.id, type, lag }
  }

  #refuseSummary({ name }: PlanJob): never {
    return this.#refuse(
      `links must lead between jobs, but ${show(name)} is a summary of others: link the jobs that it stands for`,
    )
  }
}
