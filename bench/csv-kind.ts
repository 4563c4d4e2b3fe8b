/**
 * Detects whether a CSV file is a list of edges or a matrix. The detection may be a guess, because both can
 * consist of numbers only.
 */
import { Option } from 'commander'
import { inspectCsv, namedNodeInCsv } from '../lib/command-line.js'
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

/**
 * Returns the result of `read` for a CSV file. If reading fails because nodes have names, the error includes
 * `advice`.
 *
 * @param advice - advice for users whose nodes have names.
 */
export async function namingNodes<T>(name: string, advice: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    const node = await namedNodeInCsv(inputPath(name))
    if (node === undefined) {
      throw new FileError(error.message.replace('keys: true', '--names'), { cause: error })
    }
    const text = `${shownInput(name)} looks like a list of edges whose nodes have names, such as ${node}: ${advice}`
    throw new FileError(text, { cause: error })
  }
}

/** Advice for matrices, whose rows can't have names. */
export const NUMBER_NODES =
  'number them from 0 and say --edges, or ask mpmml paths or mpmml cycle-mean with --names'

/** Prints a note on stderr, such as the assumed kind of a file. */
export const note = (text: string) => process.stderr.write(`mpmml: ${text}\n`)

const listText = (columns: number) => `a list of edges, FROM,TO${columns === 3 ? ',WEIGHT' : ''}`

function sayIfWeightless(name: string, hasWeights: boolean, weighs: boolean): void {
  if (weighs && !hasWeights) note(`the edges of ${shownInput(name)} have no weights: each weighs 1`)
}

/**
 * Returns the kind of a graph's file. Prints a note on stderr if the kind is a guess, or if edges have no
 * weights.
 *
 * @param weighs - whether weights matter.
 * @param counts - whether tokens, in a fourth column, matter.
 */
export async function kindOfGraph(
  name: string,
  { edges, matrix }: CsvFlags,
  weighs: boolean,
  counts: boolean,
): Promise<'edges' | 'matrix'> {
  if (matrix) return 'matrix'
  const found = await inspectCsv(inputPath(name))
  const { columns, rows } = found
  const canBeEdges =
    columns === 0 || columns === 2 || columns === 3 || found.isList || (counts && found.hasTokens)
  const isMatrixFor = (reason: string) => {
    note(`${shownInput(name)} is taken as a matrix of weights, because ${reason}`)
    return 'matrix' as const
  }
  if (!edges && !canBeEdges) return isMatrixFor(`its lines have ${columns} numbers`)
  if (!edges && !found.hasHeading && rows > 0 && columns === rows) {
    if (!found.isNumbered && (await namedNodeInCsv(inputPath(name))) === undefined) {
      return isMatrixFor('its lines begin with numbers that no nodes have')
    }
    note(
      `${shownInput(name)} is taken as ${listText(columns)}; if it is a matrix of ${rows} × ${columns}, say --matrix (or --edges)`,
    )
  }
  sayIfWeightless(name, found.hasWeights, weighs)
  return 'edges'
}

/** Requirements on a matrix, from which the kind of its file is inferred. */
interface MatrixUse {
  /** Whether the matrix must be square. */
  isSquare?: boolean
  /**
   * Whether edges are more likely than a matrix. If true, files with few rows or without weights are read as
   * edges.
   */
  isLikely?: boolean
  /** Whether weights matter. */
  weighs?: boolean
}

/**
 * Returns the flags for the kind of a matrix's file. Prints a note on stderr if the kind is a guess, or if
 * edges have no weights.
 */
export async function kindOfMatrix(
  name: string,
  { edges, matrix }: CsvFlags,
  { isSquare = false, isLikely = false, weighs = true }: MatrixUse = {},
): Promise<CsvFlags> {
  const path = inputPath(name)
  if (matrix || !isCsv(path)) return { matrix: true }
  const { columns, rows, hasHeading, hasWeights, isList, isNumbered } = await inspectCsv(path)
  const canBeEdges = isNumbered && (columns === 2 || columns === 3 || isList)
  const isTooLong = isSquare && canBeEdges && rows !== columns
  if (isTooLong && !edges) {
    note(
      `${shownInput(name)} is taken as ${listText(columns)}, because as a matrix it isn't square; --edges or --matrix says which`,
    )
  }
  if (edges || isTooLong) {
    sayIfWeightless(name, hasWeights, weighs)
    return { edges: true }
  }
  if (canBeEdges && (isLikely || (columns === 3 && (isSquare || hasHeading || rows > 3)))) {
    note(
      `${shownInput(name)} is taken as a matrix of ${columns} columns; if it is a list of edges, say --edges (or --matrix)`,
    )
  }
  return { matrix: true }
}
