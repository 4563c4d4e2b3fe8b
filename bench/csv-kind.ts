/** Whether a CSV file is a list of edges or a matrix: both have only numbers, so it isn't always to be seen. */
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'
import { Option } from 'commander'
import { FileError } from '../lib/index.js'
import { inputPath, shownInput } from './pipes.js'

export interface CsvFlags {
  edges?: true | undefined
  matrix?: true | undefined
}

export const csvOptions = () => [
  new Option(
    '--edges',
    'a .csv or .tsv file is a list of edges: FROM,TO,WEIGHT, with nodes from 0',
  ).conflicts('matrix'),
  new Option('--matrix', 'a .csv or .tsv file is a matrix: a row per line'),
]

export const isCsv = (path: string) => /\.[ct]sv(\.gz)?$/i.test(path)

/** A line that is no comment, and whether it names the columns. */
interface Line {
  cells: string[]
  isHeading: boolean
}

/** Readers look at the first bytes too, whatever the name is. */
async function isGzip(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0)
    return buffer.readUInt16BE() === 0x1f8b
  } finally {
    await file.close()
  }
}

async function* linesOf(path: string): AsyncGenerator<Line> {
  const isPacked = await isGzip(path)
  if (!isPacked && /\.gz$/i.test(path)) return
  const file = createReadStream(path)
  const text = isPacked ? file.pipe(createGunzip()) : file
  let separator: string | RegExp | undefined
  try {
    for await (const line of createInterface({ input: text, crlfDelay: Number.POSITIVE_INFINITY })) {
      if (/^\s*(#|$)/.test(line)) continue
      const isFirst = separator === undefined
      separator ??= separatorOf(line)
      const cells = line
        .trim()
        .split(separator)
        .map((cell) => cell.trim())
      yield { cells, isHeading: isFirst && cells.every(isWord) }
    }
  } finally {
    file.destroy()
  }
}

/** As the readers take it: commas between digits are decimal ones if there are semicolons. */
function separatorOf(line: string): string | RegExp {
  if (line.includes(';') && !/(^|\D),|,(\D|$)/.test(line)) return ';'
  return [',', ';'].find((each) => line.includes(each)) ?? /\s+/
}

/** Whether a cell can't be meant as a number. */
const isWord = (cell: string) => /^["'\p{L}_]/u.test(cell) && !/^(ε|nan|inf(inity)?)$/i.test(cell)

interface Look {
  /** Cells of the first line of numbers. */
  columns: number
  /** Lines of numbers, of which no more than 4 are counted. */
  rows: number
  /** Whether the columns have names. */
  named: boolean
  /** Whether the fourth of four columns is named tokens. */
  tokens: boolean
  /** Whether each of these lines begins as an edge does: with two whole numbers from 0. */
  numbered: boolean
}

const NOTHING: Look = { columns: 0, rows: 0, named: false, tokens: false, numbered: true }

/** The first lines of a file; nothing if it can't be read, which its reader says. */
async function look(path: string): Promise<Look> {
  const found = { ...NOTHING }
  try {
    for await (const { cells, isHeading } of linesOf(path)) {
      if (isHeading) {
        found.named = true
        found.tokens = cells.length === 4 && /^"?tokens"?$/i.test(cells[3]!)
        continue
      }
      if (found.rows++ === 0) found.columns = cells.length
      if (cells.length < 2 || !cells.slice(0, 2).every((cell) => /^\d+$/.test(cell))) found.numbered = false
      if (found.rows === 4) break
    }
  } catch {
    return NOTHING
  }
  return found
}

/** The first node of a list of edges that has a name and no number. */
async function namedNode(path: string): Promise<string | undefined> {
  try {
    for await (const { cells, isHeading } of linesOf(path)) {
      if (isHeading) continue
      if (cells.length < 2 || cells.length > 3) return undefined
      const name = cells.slice(0, 2).find((cell) => cell !== '' && !/^[-+]?[.\d]/.test(cell))
      if (name !== undefined) return /^ε$|^[-+]?(nan|inf(inity)?)$/i.test(name) ? undefined : name
    }
  } catch {}
  return undefined
}

/**
 * What `read` gives of a CSV file. If it can't be read because its nodes have names, the error says so.
 *
 * @param advice - what to do about that.
 */
export async function namingNodes<T>(name: string, advice: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    const node = error instanceof FileError ? await namedNode(inputPath(name)) : undefined
    if (node === undefined) throw error
    const text = `${shownInput(name)} looks like a list of edges whose nodes have names, such as ${node}: ${advice}`
    throw new FileError(text, { cause: error })
  }
}

/** For matrices, which have no names. */
export const NUMBER_NODES =
  'number them from 0 and say --edges, or ask mpmml paths or mpmml cycle-mean with --names'

/** Says on stderr what a command has taken a file for. */
const say = (text: string) => process.stderr.write(`mpmml: ${text}\n`)

const listText = (columns: number) => `a list of edges, FROM,TO${columns === 3 ? ',WEIGHT' : ''}`

function sayIfWeightless(name: string, columns: number, weighs: boolean): void {
  if (weighs && columns === 2) say(`the edges of ${shownInput(name)} have no weights: each weighs 1`)
}

/**
 * What a graph's file is, and a line on stderr if that is a guess, or if edges have no weights.
 *
 * @param weighs - whether weights matter.
 * @param counts - whether tokens do: a fourth column.
 */
export async function kindOfGraph(
  name: string,
  { edges, matrix }: CsvFlags,
  weighs: boolean,
  counts: boolean,
): Promise<'edges' | 'matrix'> {
  if (matrix) return 'matrix'
  const { columns, rows, named, tokens, numbered } = await look(inputPath(name))
  const canBeEdges = columns === 0 || columns === 2 || columns === 3 || (counts && tokens)
  const isMatrixFor = (reason: string) => {
    say(`${shownInput(name)} is taken as a matrix of weights, because ${reason}`)
    return 'matrix' as const
  }
  if (!edges && !canBeEdges) return isMatrixFor(`its lines have ${columns} numbers`)
  if (!edges && !named && rows > 0 && columns === rows) {
    if (!numbered && (await namedNode(inputPath(name))) === undefined) {
      return isMatrixFor('its lines begin with numbers that no nodes have')
    }
    say(
      `${shownInput(name)} is taken as ${listText(columns)}; if it is a matrix of ${rows} × ${columns}, say --matrix (or --edges)`,
    )
  }
  sayIfWeightless(name, columns, weighs)
  return 'edges'
}

/** What decides what a matrix's file is. */
interface MatrixUse {
  /** Whether only a square matrix has a use. */
  isSquare?: boolean
  /** Whether edges are likely to be meant: few rows, or edges without weights, may be edges too. */
  isLikely?: boolean
  /** Whether weights matter. */
  weighs?: boolean
}

/** The flags that say what a matrix's file is, and a line on stderr if that is a guess, or if edges have no weights. */
export async function kindOfMatrix(
  name: string,
  { edges, matrix }: CsvFlags,
  { isSquare = false, isLikely = false, weighs = true }: MatrixUse = {},
): Promise<CsvFlags> {
  const path = inputPath(name)
  if (matrix || !isCsv(path)) return { matrix: true }
  const { columns, rows, named, numbered } = await look(path)
  const canBeEdges = numbered && (columns === 2 || columns === 3)
  const isTooLong = isSquare && canBeEdges && rows !== columns
  if (isTooLong && !edges) {
    say(
      `${shownInput(name)} is taken as ${listText(columns)}, because as a matrix it isn't square; --edges or --matrix says which`,
    )
  }
  if (edges || isTooLong) {
    sayIfWeightless(name, columns, weighs)
    return { edges: true }
  }
  if (canBeEdges && (isLikely || (columns === 3 && (isSquare || named || rows > 3)))) {
    say(
      `${shownInput(name)} is taken as a matrix of ${columns} columns; if it is a list of edges, say --edges (or --matrix)`,
    )
  }
  return { matrix: true }
}
