/** Columns of plans: the headings of MS Project, Primavera and spreadsheets, in English and German. */
import { formatAny, show, showAll } from '../describe.js'
import type { ColumnRole } from './options.js'
import { type TimeUnit, unitOf } from './units.js'

type Role = ColumnRole | 'more' | 'successors' | 'constraintType' | 'constraintDate' | 'summary' | 'level'

/** Headings in lower case, without blanks and marks, in the order of preference. */
const headings: Record<Exclude<Role, 'duration' | 'more'>, string> = {
  id:
    'id taskid activityid jobid # nr no num number nummer key code taskcode activitycode vorgangsnr vorgangsnummer vorgangsid vorgangid ' +
    'aktivitätsid aktivitätid kennung lfdnr pos position schlüssel wbs wbscode psp pspcode uniqueid uid eindeutigenr eindeutigeid issuekey',
  name:
    'name taskname activityname jobname task activity job title vorgangsname vorgang aktivitätsname aktivität aufgabe aufgabenname ' +
    'bezeichnung titel tätigkeit arbeitspaket arbeitsgang schritt step operation item description beschreibung',
  predecessors:
    'predecessors predecessor preds pred predecessorids predecessorid predecessorslist predecessordetails wbspredecessors ' +
    'immediatepredecessors immediatepredecessor dependencies dependency dependson deps after waitsfor requires prerequisites prerequisite ' +
    'blockedby isblockedby vorgänger vorgaenger vorgängernr vorgängervorgänge vorgängerdetails abhängigkeiten abhängigkeit abhängigvon ' +
    'hängtabvon voraussetzungen voraussetzung nach pspvorgänger uniqueidpredecessors eindeutigenrvorgänger',
  successors: 'successors successor succs succ before blocks nachfolger nachfolgernr nachfolgervorgänge',
  notBefore:
    'notbefore startnoearlierthan startnotbefore releasedate release availablefrom nichtvor nichtfrüherals anfangnichtfrüherals ' +
    'startnichtvor startnichtfrüherals',
  deadline:
    'deadline due duedate dueby finishnolaterthan mustfinishby stichtag termin frist fällig fälligam fälligkeit fälligkeitsdatum ' +
    'fertigbis endenichtspäterals',
  constraintType: 'constrainttype primaryconstraint constraint einschränkungsart einschränkung',
  constraintDate: 'constraintdate primaryconstraintdate einschränkungstermin',
  summary: 'summary sammelvorgang',
  level: 'outlinelevel gliederungsebene',
}

const known = new Map(
  Object.entries(headings).flatMap(([role, names]) =>
    names.split(' ').map((name, rank) => [name, { role: role as Role, rank }] as const),
  ),
)

/** Names of durations, in the order of preference after duration and dauer, with the unit behind them. */
const durationNames =
  'originalduration plannedduration targetdrtn taskduration geplantedauer ursprünglichedauer ursprdauer vorgangsdauer od dur ' +
  'remainingduration takes length time zeit estimate schätzung'
const durations = new RegExp(`^(duration|dauer|${durationNames.replaceAll(' ', '|')})(?:in)?(.*?)(?:cnt)?$`)

/** Headings that a message shows. */
const KNOWN = 'id or nr; name, task or activity; duration, dur or days; and predecessors, depends on or after'

const plain = (heading: string) =>
  heading
    .normalize('NFC')
    .toLowerCase()
    .replace(/[([{,].*$/, '')
    .replace(/[\s_.:/-]+/g, '')

/** Longer texts are no headings. */
const LONGEST = 60

function meaningOf(heading: string): { role: Role; rank: number; unit?: TimeUnit | undefined } | undefined {
  if (heading.length > LONGEST) return undefined
  const text = plain(heading)
  const found = known.get(text)
  if (found) return found
  if (/^(predecessor|pred|vorgänger)\d+$/.test(text)) return { role: 'more', rank: 0 }
  const inMarks = unitOf(/[([{,]\s*([^)\]}]*?)\s*[)\]}]?\s*$/.exec(heading)?.[1] ?? '')
  const unit = text.length > 2 ? unitOf(text) : undefined
  if (unit) return { role: 'duration', rank: 100, unit }
  const [, name, rest = ''] = durations.exec(text) ?? []
  if (name === undefined || (rest !== '' && !unitOf(rest))) return undefined
  return {
    role: 'duration',
    rank: durationNames.split(' ').indexOf(name) + 1,
    unit: inMarks ?? unitOf(rest),
  }
}

/** Numbers of the columns of a plan; undefined for columns that don't exist. */
export interface Columns {
  readonly at: { readonly [Each in Role]?: number }
  readonly names: readonly string[]
  /** Unit that the heading of durations names. */
  readonly unit: TimeUnit | undefined
  /** Further columns of predecessors, such as `Predecessor 2`. */
  readonly more: readonly number[]
  /** Whether ids are those of a work breakdown structure, such as 1.2.3, in which 1.2 is a summary. */
  readonly isWbs: boolean
  /** Columns that jobs keep. */
  readonly retained: readonly number[]
}

/** Returns whether cells are headings of a plan: of a duration, and of an id or a name. */
export function areHeadings(cells: readonly string[]): boolean {
  const found = cells.map((cell) => meaningOf(cell)?.role)
  return found.includes('duration') && (found.includes('id') || found.includes('name'))
}

/**
 * Returns the columns that headings name.
 *
 * @param wishes - names of columns that the user gave.
 * @param fail - refuses the headings.
 */
export function columnsOf(
  names: readonly string[],
  wishes: { readonly [Each in ColumnRole]?: string | undefined },
  keep: boolean | readonly string[],
  fail: (problem: string) => never,
): Columns {
  const find = (name: string, option: string) => {
    const column = names.findIndex((each) => each.trim() === name.trim())
    if (column >= 0) return column
    return fail(
      `option ${option} must name a column, but there is no ${show(name)}: the columns are ${showAll(names.slice(0, 12).map(show))}`,
    )
  }
  const at: { [Each in Role]?: number } = {}
  const rank: { [Each in Role]?: number } = {}
  const meanings = names.map(meaningOf)
  for (const [role, name] of Object.entries(wishes)) {
    if (name === undefined) continue
    const column = find(name, `columns.${role}`)
    at[role as Role] = column
    rank[role as Role] = -1
    if (meanings[column]?.role !== role) meanings[column] = undefined
  }
  for (const [column, meaning] of meanings.entries()) {
    if (!meaning || rank[meaning.role] === -1) continue
    const { role } = meaning
    if (role === 'more') continue
    if (meaning.rank === rank[role])
      fail(
        `one column must have the ${role}, but ${formatAny([names[at[role]!]!, names[column]!].map(show))} may: choose one by the option columns, such as columns: { ${role}: ${show(names[column])} }`,
      )
    if (meaning.rank > (rank[role] ?? Infinity)) continue
    at[role] = column
    rank[role] = meaning.rank
  }
  if (at.duration === undefined || (at.id ?? at.name) === undefined)
    fail(
      `the headings must name the ${at.duration === undefined ? 'duration' : 'id or the name'} of jobs, but they are ${showAll(names.slice(0, 12).map(show))}: ${KNOWN} are known, and the option columns names others`,
    )
  const others = [...names.keys()].filter((column) => !Object.values(at).includes(column))
  const retained = Array.isArray(keep) ? keep.map((name) => find(name, 'keep')) : keep === true ? others : []
  const unit = meaningOf(names[at.duration!]!)?.unit
  const more = [...names.keys()].filter((column) => meanings[column]?.role === 'more')
  const isWbs = at.id !== undefined && /^(wbs|psp)/.test(plain(names[at.id]!))
  return { at, names, unit, more, isWbs, retained }
}

/** Returns the columns of a table without headings: id or name, duration, predecessors; or id, name, duration, predecessors. */
export function positionalColumns(cells: readonly string[]): readonly string[] | undefined {
  const isNumber = (at: number) => /^[\d.,]+\s*\p{L}*$/u.test(cells[at] ?? '')
  if (cells.length > 1 && isNumber(1)) return ['name', 'duration', 'predecessors']
  return cells.length > 2 && isNumber(2) ? ['id', 'name', 'duration', 'predecessors'] : undefined
}
