/** Reading of plans: CSV, JSON, lists of objects, and XML of MS Project. */
import { isUint8Array } from '../array-types.js'
import { assertOrdinaryArray } from '../borrowed.js'
import { show, typeName } from '../describe.js'
import { DTypeError, FileError, ValueError } from '../errors.js'
import { cellsOfLine, stepsUntilUnfinished, untilUnfinished } from '../files/cells.js'
import { decideDialect, isTsvName } from '../files/dialect.js'
import { parseLines, parseText, type TextFeed } from '../files/line-feed.js'
import type { LineParser, TextReader } from '../files/text.js'
import { assertSaxes } from '../graph/saxes.js'
import { atOnce, type Steps } from '../graph-core/slices.js'
import { Options, type OptionsOf, string } from '../options.js'
import { areHeadings, type Columns, columnsOf, positionalColumns } from './columns.js'
import {
  type JobList,
  type ParsePlanOptions,
  type Plan,
  planOptions,
  planSet,
  type ReadPlanSet,
} from './options.js'
import { ProjectXml } from './project-xml.js'
import { PlanRows } from './table.js'
import type { Units } from './units.js'

const parseOptions = new Options({
  ...planSet,
  name: string('the plan'),
} satisfies OptionsOf<ParsePlanOptions>)

const COMMENT = '#'.charCodeAt(0)

const unitsOf = ({ unit, hoursPerDay, daysPerWeek }: ReadPlanSet, columns: Columns): Units => ({
  unit: unit ?? columns.unit ?? 'days',
  hoursPerDay,
  daysPerWeek,
})

/** Parser of a plan in CSV. */
export function csvPlan(name: string, options: ReadPlanSet): LineParser<Plan> {
  const isTsv = isTsvName(name)
  let rows: PlanRows | undefined
  let width = 0
  /** Rows below the headings. */
  let count = 0

  /** Reads the lines up to the headings; returns undefined if the window ends before. */
  const begin = function* (reader: TextReader): Steps<PlanRows> {
    const records = yield* decideDialect(reader, isTsv, false)
    const cells: string[][] = []
    // Titles may stand above the headings, and # may be one of these.
    const isHeading = (record: readonly string[]) =>
      Object.keys(options.columns).length > 0
        ? names.every((each) => record.includes(each))
        : areHeadings(record)
    const names = Object.values(options.columns).filter((each) => each !== undefined)
    const { position, line } = reader
    while (cells.length <= records.length && reader.nextContent()) {
      const at = { position: reader.position, line: reader.line }
      const record = cellsOfLine(reader)
      if (isHeading(record)) return start(record, reader)
      if (record[0]!.startsWith('#')) continue
      cells.push(record)
      if (cells.length > 1) continue
      Object.assign(first, at)
    }
    Object.assign(reader, cells.length > 0 ? first : { position, line })
    const headings = positionalColumns(cells[0] ?? [])
    if (headings) {
      const described = start([...headings, ...cells[0]!.slice(headings.length).map(() => '')], reader)
      width = 0
      return described
    }
    return start(cellsOfLine(reader), reader)
  }
  const first = { position: 0, line: 1 }

  const start = (headings: readonly string[], reader: TextReader) => {
    const line = reader.line
    const columns = columnsOf(headings, options.columns, options.keep, (problem) => {
      reader.line = line - 1
      return reader.fail(problem)
    })
    width = headings.length
    return new PlanRows(columns, unitsOf(options, columns), reader.decimalComma, (at, problem) => {
      throw new FileError(at > 0 ? `${name}, line ${at}: ${problem}` : `${name}: ${problem}`)
    })
  }

  const record = (reader: TextReader, known: PlanRows, isFirst: boolean) => {
    const { line } = reader
    const cells = cellsOfLine(reader)
    // Primavera writes the headings twice: the fields' names, and titles.
    if (isFirst && areHeadings(cells)) return true
    if (width > 0 && cells.length > width && cells.slice(width).some((cell) => cell !== '')) {
      reader.line = line
      reader.fail(
        `the row has ${cells.length} cells, but there are ${width} headings: enclose a cell that has the separator in quotation marks`,
      )
    }
    known.add((column) => cells[column], line)
    return true
  }

  return {
    *lines(reader) {
      while (reader.nextContent()) {
        if (!rows) {
          rows = yield* stepsUntilUnfinished(reader, begin(reader))
          if (!rows) return
          continue
        }
        const known = rows
        const { bytes, position } = reader
        if (bytes[position] === COMMENT && (reader.ends(position + 1) || bytes[position + 1] === COMMENT)) {
          reader.nextLine()
          continue
        }
        if (!untilUnfinished(reader, () => record(reader, known, count === 0))) return
        if (++count % 256 === 0) yield
      }
    },
    *end() {
      if (!rows) throw new FileError(`${name}: a plan must have headings and jobs, but it has no lines`)
      return yield* rows.end()
    },
  }
}

/** Returns a property of a record, but none that every object inherits, such as `__proto__`. */
const ownValueOf = (record: Record<string, unknown>, name: string) =>
  name in Object.prototype && !Object.hasOwn(record, name) ? undefined : record[name]

/** Makes a plan of a list of objects, or of an object with the list `jobs` or `tasks`. */
export function* readingRecords(given: unknown, options: ReadPlanSet, name = 'the plan'): Steps<Plan> {
  const { jobs, tasks, ...own } = (Array.isArray(given) ? { jobs: given } : (given ?? {})) as Record<
    string,
    unknown
  >
  const list = jobs ?? tasks
  if (!Array.isArray(list))
    throw new DTypeError(
      `${name} must be text, bytes, a list of jobs or an object with the list jobs, but it is ${typeName(given)}`,
    )
  const headings = new Map<string, number>()
  for (const [at, each] of list.entries()) {
    if (typeof each !== 'object' || each === null || Array.isArray(each))
      throw new DTypeError(
        `jobs[${at}] of ${name} must be an object such as { id, duration, predecessors }, but it is ${show(each)}`,
      )
    for (const key in each) if (!headings.has(key)) headings.set(key, headings.size)
    if (at % 4096 === 4095) yield
  }
  const fail = (problem: string): never => {
    throw new ValueError(`${name}: ${problem}`)
  }
  const names = [...headings.keys()]
  if (list.length === 0) fail('a plan must have at least one job, but it has none')
  const read = planOptions.read(
    Object.fromEntries(
      ['unit', 'hoursPerDay', 'daysPerWeek'].flatMap((each) =>
        own[each] === undefined ? [] : [[each, own[each]]],
      ),
    ),
  )
  const wishes = Array.isArray(given) ? options : { ...options, ...read, unit: options.unit ?? read.unit }
  const columns = columnsOf(names, wishes.columns, wishes.keep, fail)
  const rows = new PlanRows(columns, unitsOf(wishes, columns), false, (at, problem) =>
    fail(at > 0 ? `jobs[${at - 1}]: ${problem}` : problem),
  )
  for (const [at, each] of (list as Record<string, unknown>[]).entries()) {
    rows.add((column) => ownValueOf(each, names[column]!), at + 1)
    if (at % 1024 === 1023) yield
  }
  const plan = yield* rows.end()
  return typeof own.start === 'string' ? { ...plan, start: own.start } : plan
}

/** A text that is parsed as a whole: JSON. */
export class JsonPlan implements TextFeed<Plan> {
  readonly #name: string
  readonly #options: ReadPlanSet
  #text = ''

  constructor(name: string, options: ReadPlanSet) {
    this.#name = name
    this.#options = options
  }

  *characters(text: string): Steps<void> {
    yield
    this.#text += text
  }

  *end(): Steps<Plan> {
    return yield* readingRecords(parsedJson(this.#text, this.#name), this.#options, this.#name)
  }
}

function parsedJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw new FileError(
      `${name} must be JSON, but it has an error (${(error as Error).message}): correct it`,
      {
        cause: error,
      },
    )
  }
}

/**
 * Reads a plan from a text, from its bytes, or from a list of objects: a table with a row for each job. Headings name the columns, in any
 * order: id, name, duration and predecessors in the usual spellings of MS Project, Primavera and spreadsheets, in English and German. A table
 * may also have columns of deadlines and of times not before. CSV is read as spreadsheets write it, with commas, semicolons or tabs, decimal
 * points or commas, and quoted cells. JSON is a list of objects with these names, and XML is that of MS Project.
 *
 * Predecessors are ids or names, with a kind of link and a lag as MS Project writes them: `3`, `3FS+2d`, `5SS`, `4FF-1d` or `2SF`, several with
 * commas or semicolons between them. The German EA, AA, EE and AE are FS, SS, FF and SF. A row that summarizes others is left out.
 *
 * @param content - text, bytes or a list of objects.
 * @throws FileError (ERR_MPMML_FILE) for a wrong text, with the number of the line; ArgumentError (ERR_MPMML_VALUE) for a wrong object;
 *   ERR_MPMML_DTYPE; ERR_MPMML_OPTION; ERR_MPMML_PACKAGE if the XML parser is not installed.
 * @example
 * const { jobs } = parsePlan('Nr;Vorgang;Dauer;Vorgänger\n1;Bau;5,5;\n2;Test;2;1EA+1t\n')
 * console.log(jobs[0].duration, jobs[1].predecessors) // 5.5 [ { id: '1', type: 'FS', lag: 1 } ]
 */
export function parsePlan(
  content: string | Uint8Array | JobList | { readonly jobs: JobList },
  options?: ParsePlanOptions,
): Plan {
  const { name, ...read } = parseOptions.read(options)
  if (typeof content !== 'string' && !isUint8Array(content))
    return atOnce(readingRecords(content, read, name))
  assertOrdinaryArray(content, `the bytes of ${name}`)
  const first =
    typeof content === 'string' ? content.slice(0, 256) : new TextDecoder().decode(content.subarray(0, 256))
  const start = first.replace(/[\0\uFEFF\uFFFD]/g, '').trimStart()[0]
  if (start !== '<' && start !== '[' && start !== '{') return parseLines(content, name, csvPlan(name, read))
  const feed = start === '<' ? new ProjectXml(name, assertSaxes(), read) : new JsonPlan(name, read)
  return parseText(content, name, feed)
}
