/**
 * Headings of CSV edge lists: detects whether the first line has names of columns, and assigns the columns to
 * parts of an edge.
 */
import { formatAny, show, showAll } from '../describe.js'

/** Part of an edge that a column contains. */
export type Role = 'from' | 'to' | 'weight' | 'tokens' | 'none'

const words = (text: string) => new Set(text.split(' '))

/** Parts of names, in lower case and without blanks and marks. A name of a node's column is a beginning and an end. */
const columns: readonly {
  readonly role: Role
  readonly begins: readonly string[]
  readonly ends: Set<string>
}[] = (
  [
    ['from', 'from source src tail start origin orig begin predecessor von quelle u i'],
    ['to', 'to target dst dest destination head end sink successor nach ziel v j'],
  ] as const
).flatMap(([role, begins]) => [
  {
    role,
    begins: begins.split(' '),
    ends: words(
      ' node vertex id nodeid vertexid stop station city place point name key label index idx number nr no',
    ),
  },
  {
    role,
    begins: ['node', 'vertex', 'station', 'stop', 'city'],
    ends: words(role === 'from' ? 'from 1 a u i' : 'to 2 b v j'),
  },
])
/** Names of other columns. */
const tokens = words('token tokens marking')
const weights = words(
  'weight weights w cost costs length lengths len dist distance distances duration durations dur time times traveltime traveltimes ' +
    'runtime runtimes runningtime runningtimes value values val capacity price gewicht kosten länge lange distanz dauer zeit weg seconds ' +
    'milliseconds microseconds nanoseconds minutes hours days km mile miles meter meters metre metres',
)
/** Times with a unit, such as traveltimeinmin. */
const timed = /^(travel)?time(in)?(s|sec|min|h)$/
const nothing = /^(|.*id|index|idx|unnamed\d*|nr|no|#)$/

/** Names of columns that a message shows. */
const KNOWN =
  'from, source, src, tail, u, start or origin; to, target, dst, head, v, end or destination; and weight, cost, length, distance, duration, time or value'

/**
 * Returns a name without its unit: `Distance (km)`, `Weg, km` and `travel_time` are distance, weg and
 * traveltime.
 */
const plain = (name: string) =>
  name
    .toLowerCase()
    .replace(/[([{].*$|,.*$/, '')
    .replace(/[\s_.:-]+/g, '')

/** Most names of columns in a message. */
const MAX_SHOWN = 8

/** Returns the names of columns for a message. */
const showColumns = (cells: readonly string[], columns: readonly number[]) =>
  showAll(columns.slice(0, MAX_SHOWN).map((column) => show(cells[column])))

/** Longer texts are no names of columns. */
const LONGEST_NAME = 60

function roleOf(name: string): Role | undefined {
  // A capital letter is a node rather than a column.
  if (name.length > LONGEST_NAME || /^[A-Z]$/.test(name)) return undefined
  const text = plain(name)
  for (const { role, begins, ends } of columns)
    if (begins.some((begin) => text.startsWith(begin) && ends.has(text.slice(begin.length)))) return role
  if (tokens.has(text)) return 'tokens'
  if (weights.has(text) || timed.test(text)) return 'weight'
  return nothing.test(text) ? 'none' : undefined
}

/** Returns whether a cell can't be meant as a number: it begins with a letter, or is a quoted text. */
export const isWord = (cell: string, quoted = false): boolean =>
  !/^(ε|na|n\/a|null|none|nan|inf(inity)?)$/i.test(cell) &&
  (/^[_\p{L}]/u.test(cell) || (quoted && !/^\s*([-+]?[\d.]|$)/.test(cell)))

/** Returns whether a cell is meant as a number in any notation. */
const isNumberLike = (cell: string) => /^[-+−]?[\d.,]*\d/.test(cell)

/** Returns whether cells name the columns where edges begin and end. */
export function namesColumns(cells: readonly string[]): boolean {
  const found = cells.map(roleOf)
  return found.includes('from') && found.includes('to')
}

/** Options of {@link edgeColumns}. */
export interface ColumnOptions {
  /** Name of the column of weights; null for none, and undefined if the heading decides. */
  readonly weight: string | null | undefined
  /** Whether the cells of nodes are names. */
  readonly named: boolean
  /** Whether edges may have tokens. */
  readonly tokens: boolean
}

/** Result of {@link edgeColumns}. */
export interface EdgeColumns {
  readonly roles: readonly Role[]
  /** Whether the first line names the columns. */
  readonly isHeading: boolean
  /** Names in the first line if it may be an edge instead of headings. */
  readonly doubtful: readonly string[]
}

/**
 * Returns the roles of the columns of an edge list.
 *
 * @param records - the first lines, of which the first may name the columns.
 * @param fail - refuses the first line.
 */
export function edgeColumns(
  records: readonly (readonly string[])[],
  options: ColumnOptions,
  fail: (problem: string) => never,
): EdgeColumns {
  const [cells = []] = records
  const found = cells.map(roleOf)
  const columnsOf = (role: Role) => [...found.keys()].filter((column) => found[column] === role)
  const [from, to] = [columnsOf('from'), columnsOf('to')]
  const hasNumber = cells.some(isNumberLike)
  if (from.length > 0 && to.length > 0) {
    if (hasNumber) {
      fail(
        `it has names of columns, ${show(cells[from[0]!])} and ${show(cells[to[0]!])}, and a number: put a heading such as from,to,weight before it if it is an edge`,
      )
    }
    for (const [role, columns] of [
      ['begin', from],
      ['end', to],
    ] as const) {
      if (columns.length > 1) {
        fail(
          `edges must ${role} in one column, but ${showColumns(cells, columns)} may be it: name one from or to, and rename the others`,
        )
      }
    }
    const tokenColumns = options.tokens ? columnsOf('tokens') : []
    if (tokenColumns.length > 1) {
      fail(
        `the tokens must be one column, but ${showColumns(cells, tokenColumns)} may be it: rename the others`,
      )
    }
    const [tokens] = tokenColumns
    const weight = weightColumn(records, found, options, fail)
    if (weight !== undefined && [from[0], to[0], tokens].includes(weight)) {
      fail(
        `option weight must name a column of weights, but ${show(cells[weight])} has the ${weight === tokens ? 'tokens' : 'nodes'} of edges`,
      )
    }
    const role = (column: number): Role => {
      if (column === from[0]) return 'from'
      if (column === to[0]) return 'to'
      if (column === weight) return 'weight'
      return column === tokens ? 'tokens' : 'none'
    }
    const isDoubtful = options.named && cells.length === 2
    return {
      roles: cells.map((_, column) => role(column)),
      isHeading: true,
      doubtful: isDoubtful ? cells : [],
    }
  }
  if (typeof options.weight === 'string') {
    fail(
      `option weight names the column ${show(options.weight)}, but the first line names no columns: ${KNOWN} are known`,
    )
  }
  const layout: Role[] = ['from', 'to', 'weight', 'tokens']
  const most = options.tokens ? 4 : 3
  const positional = layout
    .slice(0, Math.min(Math.max(cells.length, 2), most))
    .map((role) => (role === 'weight' && options.weight === null ? 'none' : role))
  const isData = options.named
    ? cells.length < 3 || isNumberLike(cells[2]!)
    : !cells.every((cell) => isWord(cell))
  if (isData || cells.length < 2) return { roles: positional, isHeading: false, doubtful: [] }
  // Headings of single letters name no roles, so the columns have the default order.
  if (!options.named && cells.every((cell) => cell.length === 1)) {
    return { roles: positional, isHeading: true, doubtful: [] }
  }
  if (options.named && !isWord(cells[2]!)) return { roles: positional, isHeading: false, doubtful: [] }
  const names = formatAny(cells.slice(0, 4).map((cell) => show(cell)))
  return fail(
    `a heading must name the columns where edges begin and end, but it is ${names}: ${KNOWN} are known${options.named ? '' : '; if these are nodes, read them as names (keys: true)'}`,
  )
}

/** Returns the column of weights; undefined if there is none. */
function weightColumn(
  records: readonly (readonly string[])[],
  found: readonly (Role | undefined)[],
  { weight }: ColumnOptions,
  fail: (problem: string) => never,
): number | undefined {
  if (weight === null) return undefined
  const [cells = []] = records
  const columns = [...cells.keys()]
  if (weight !== undefined) {
    const requested = columns.filter((column) => cells[column] === weight)
    if (requested.length === 1) return requested[0]
    return fail(
      requested.length === 0
        ? `option weight must be the name of a column, but it is ${show(weight)}: the columns are ${showColumns(cells, columns)}`
        : `the weight must be one column, but ${requested.length} are named ${show(weight)}: rename the others`,
    )
  }
  const body = records.slice(1)
  const hasNumbers = (column: number) => body.some((record) => isNumberLike(record[column] ?? ''))
  const exact = columns.filter((column) => cells[column]!.toLowerCase() === 'weight')
  const known = exact.length > 0 ? exact : columns.filter((column) => found[column] === 'weight')
  const possible =
    known.length > 0 ? known : columns.filter((column) => found[column] === undefined && hasNumbers(column))
  if (possible.length < 2) return possible[0]
  return fail(
    `the weight must be one column, but ${showColumns(cells, possible)} may be it: choose one by the option weight, such as weight: ${show(cells[possible[0]!])}`,
  )
}
