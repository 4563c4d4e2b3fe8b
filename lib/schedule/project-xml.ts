/**
 * Plans in the XML of MS Project: https://learn.microsoft.com/office-project/xml-data-interchange/project-xml-data-interchange-schema-reference
 * Tasks with their durations in hours of work (PT8H0M0S), and links with lags in tenths of minutes.
 */
import { show } from '../describe.js'
import type { TextFeed } from '../files/line-feed.js'
import type { Saxes } from '../graph/saxes.js'
import { type XmlHandler, XmlReader } from '../graph/xml.js'
import type { Steps } from '../graph-core/slices.js'
import { readDate } from './calendar.js'
import type { Columns } from './columns.js'
import type { Plan, ReadPlanSet } from './options.js'
import { PlanRows } from './table.js'
import { inUnit, type Units } from './units.js'

const types = ['FF', 'FS', 'SF', 'SS']
/** Formats of lags that are percentages of durations. */
const percent = new Set(['19', '20', '51', '52'])
/** Formats of lags in elapsed time: minutes, hours, days, weeks and months, and their estimates. */
const elapsed = new Set(['4', '6', '8', '10', '12', '36', '38', '40', '42', '44'])

/** Limits of jobs by the types of their constraints. */
const constraints = new Map([
  ['4', 'notBefore'],
  ['7', 'deadline'],
])

type Fields = Record<string, string>

const columns: Columns = {
  at: { id: 0, name: 1, duration: 2, predecessors: 3, notBefore: 4, deadline: 5, summary: 6 },
  names: ['UID', 'Name', 'Duration', 'PredecessorLink', 'ConstraintDate', 'Deadline', 'Summary'],
  unit: undefined,
  more: [],
  isWbs: false,
  retained: [],
}

/** Parser of one document, which comes in chunks. */
export class ProjectXml implements TextFeed<Plan>, XmlHandler {
  readonly #xml: XmlReader
  readonly #options: ReadPlanSet
  /** Local names of the open elements. */
  readonly #path: string[] = []
  #project: Fields = {}
  #task: Fields = {}
  #link: Fields = {}
  #links: Fields[] = []
  readonly #tasks: { fields: Fields; links: Fields[]; line: number }[] = []

  constructor(name: string, saxes: Saxes, options: ReadPlanSet) {
    this.#xml = new XmlReader(name, saxes, this)
    this.#options = options
  }

  *characters(text: string): Steps<void> {
    yield* this.#xml.write(text)
  }

  open(qualified: string): void {
    const tag = qualified.slice(qualified.indexOf(':') + 1)
    if (this.#path.length === 0 && tag !== 'Project')
      this.#xml.fail(`the document must be that of MS Project, but its first element is <${qualified}>`)
    this.#path.push(tag)
    const elementPath = this.#path.join('/')
    if (elementPath === 'Project/Tasks/Task') {
      this.#task = {}
      this.#links = []
    } else if (elementPath === 'Project/Tasks/Task/PredecessorLink') this.#link = {}
    else if (this.#fields()) this.#xml.keepText()
  }

  /** Returns the record that has the open element as a field. */
  #fields(): Fields | undefined {
    const elementPath = this.#path.slice(0, -1).join('/')
    if (elementPath === 'Project') return this.#project
    if (elementPath === 'Project/Tasks/Task') return this.#task
    return elementPath === 'Project/Tasks/Task/PredecessorLink' ? this.#link : undefined
  }

  text(text: string): void {
    this.#fields()![this.#path.at(-1)!] = text.trim()
  }

  close(): void {
    const elementPath = this.#path.join('/')
    if (elementPath === 'Project/Tasks/Task')
      this.#tasks.push({ fields: this.#task, links: this.#links, line: this.#xml.line })
    else if (elementPath === 'Project/Tasks/Task/PredecessorLink') this.#links.push(this.#link)
    this.#path.pop()
  }

  *end(): Steps<Plan> {
    this.#xml.end()
    const { MinutesPerDay, MinutesPerWeek, StartDate } = this.#project
    const perDay = Number(MinutesPerDay ?? 60 * this.#options.hoursPerDay)
    const perWeek = Number(MinutesPerWeek ?? perDay * this.#options.daysPerWeek)
    if (!(perDay > 0 && perDay <= 1440 && perWeek > 0 && perWeek <= 10_080))
      this.#xml.fail(
        `MinutesPerDay must be above 0, up to 1440, and MinutesPerWeek above 0, up to 10080, but they are ${show(MinutesPerDay ?? perDay)} and ${show(MinutesPerWeek ?? perWeek)}`,
      )
    const unit = this.#options.unit ?? 'days'
    const units: Units = { unit, hoursPerDay: perDay / 60, daysPerWeek: perWeek / perDay }
    const rows = new PlanRows(columns, units, false, (line, problem) => this.#xml.fail(problem, line))
    for (const [at, { fields, links, line }] of this.#tasks.entries()) {
      const {
        UID,
        ID,
        Name,
        Duration,
        Summary,
        Active,
        IsNull,
        ConstraintType = '0',
        ConstraintDate,
        Deadline,
      } = fields
      // The first task stands for the project.
      if (IsNull === '1' || Active === '0' || ID === '0' || (UID === '0' && Summary === '1')) continue
      const limits = constraints.get(ConstraintType)
      if (!limits && ConstraintType !== '0')
        this.#xml.fail(
          `the constraint of ${show(Name ?? UID)} must be as soon as possible, start no earlier than or finish no later than, but its type is ${show(ConstraintType)}: use a deadline`,
          line,
        )
      const values = [
        UID,
        Name,
        Summary === '1' ? '0' : this.#duration(Duration, units, line),
        links.map((link) => this.#linkOf(link, units, line)),
        limits === 'notBefore' ? ConstraintDate : undefined,
        Deadline ?? (limits === 'deadline' ? ConstraintDate : undefined),
        Summary,
      ]
      rows.add(
        (column) => (Array.isArray(values[column]) && links.length === 0 ? undefined : values[column]),
        line,
      )
      if (at % 512 === 511) yield
    }
    const plan = yield* rows.end()
    const start = StartDate && readDate(StartDate, 'StartDate', (problem) => this.#xml.fail(problem))
    return start ? { ...plan, start } : plan
  }

  #duration(text: string | undefined, units: Units, line: number): number | undefined {
    if (text === undefined) return undefined
    const [, hours, minutes = '0', seconds = '0'] = /^PT(\d+)H(?:(\d+)M)?(?:(\d+)S)?$/.exec(text) ?? []
    if (hours === undefined)
      this.#xml.fail(`the duration of a task must be hours such as PT8H0M0S, but it is ${show(text)}`, line)
    return inUnit(60 * Number(hours) + Number(minutes) + Number(seconds) / 60, 'minutes', units)
  }

  #linkOf(
    { PredecessorUID, Type = '1', LinkLag = '0', LagFormat = '7' }: Fields,
    units: Units,
    line: number,
  ) {
    const tenths = Number(LinkLag)
    if (tenths !== 0 && (percent.has(LagFormat) || elapsed.has(LagFormat)))
      this.#xml.fail(
        `the lag of a link must be working time, but it is ${percent.has(LagFormat) ? 'a percentage' : 'elapsed time'}: write the working time in it`,
        line,
      )
    return {
      id: PredecessorUID,
      type: types[Number(Type)] ?? Type,
      lag: inUnit(tenths / 10, 'minutes', units),
    }
  }
}
