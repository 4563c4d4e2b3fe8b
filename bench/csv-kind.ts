/** Whether a CSV file is a list of edges or a matrix: both have only numbers, so it isn't always to be seen. */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'
import { Option } from 'commander'
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

interface Look {
  /** Cells of the first line of numbers. */
  columns: number
  /** Lines of numbers, of which no more than 4 are counted. */
  rows: number
  /** Whether the columns have names. */
  named: boolean
  /** Whether the fourth of four columns is named tokens. */
  tokens: boolean
}

/** The first lines of a file. What is wrong with it, its reader says. */
async function look(path: string): Promise<Look> {
  const found: Look = { columns: 0, rows: 0, named: false, tokens: false }
  const file = createReadStream(path)
  const text = /\.gz$/i.test(path) ? file.pipe(createGunzip()) : file
  try {
    const lines = createInterface({ input: text, crlfDelay: Number.POSITIVE_INFINITY })
    for await (const line of lines) {
      if (/^\s*(#|$)/.test(line)) continue
      const cells = line.trim().split(/\s*[,;]\s*|\s+/)
      if (found.columns === 0 && !found.named && cells.every((cell) => /^["'\p{L}_]/u.test(cell))) {
        found.named = !cells.every((cell) => /^(ε|nan|inf(inity)?)$/i.test(cell))
        found.tokens = cells.length === 4 && /^"?tokens"?$/i.test(cells[3]!)
        if (found.named) continue
      }
      if (found.rows++ === 0) found.columns = cells.length
      if (found.rows === 4) break
    }
  } catch {
    return found
  } finally {
    file.destroy()
  }
  return found
}

/** Says on stderr what a command has taken a file for. */
const say = (text: string) => process.stderr.write(`mpmml: ${text}\n`)

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
  const { columns, rows, named, tokens } = await look(inputPath(name))
  const canBeEdges = columns === 0 || columns === 2 || columns === 3 || (counts && tokens)
  if (!edges && !canBeEdges) {
    say(`${shownInput(name)} is taken as a matrix of weights, because its lines have ${columns} numbers`)
    return 'matrix'
  }
  if (!edges && !named && columns === rows) {
    say(
      `${shownInput(name)} is taken as a list of edges, FROM,TO${columns === 3 ? ',WEIGHT' : ''}; if it is a matrix of ${rows} × ${columns}, say --matrix (or --edges)`,
    )
  }
  if (weighs && columns === 2) say(`the edges of ${shownInput(name)} have no weights: each weighs 1`)
  return 'edges'
}

/**
 * Says on stderr that a matrix may have been meant as edges.
 *
 * @param isLikely - whether the output is for edges: so few rows, or edges without weights, may be meant as well.
 */
export async function noteMatrix(name: string, isLikely: boolean): Promise<void> {
  const { columns, rows } = await look(inputPath(name))
  if (isLikely ? columns !== 2 && columns !== 3 : columns !== 3 || rows <= 3) return
  say(
    `${shownInput(name)} is taken as a matrix of ${columns} columns; if it is a list of edges, say --edges (or --matrix)`,
  )
}
