/** Reads and writes the matrix files that commands name. */
import { existsSync } from 'node:fs'
import { fileFormatOf, npzNames, readMatrix, writeMatrix } from '../lib/files.js'
import {
  type DataType,
  type ElementArray,
  FileError,
  type Matrix,
  type MatrixLike,
  type Semiring,
} from '../lib/index.js'
import { type CsvFlags, isCsv, kindOfMatrix, NUMBER_NODES, namingNodes } from './csv-kind.js'
import { dtypeOf } from './dtype.js'
import { dense, readEdges } from './edge-file.js'
import { checkOutputs } from './output-file.js'
import { inputPath, outputPath, PIPE, passOn, shownInput, shownOutput } from './pipes.js'
import { withProgress } from './progress.js'

/** Paragraph for the help of commands. */
export const MATRIX_HELP = `
A matrix is a .npy, .npz, .mtx (Matrix Market), .csv, .tsv or .gr (DIMACS) file; text may be compressed (.mtx.gz). FILE.npz:NAME is
one array of several. Elements that a sparse file doesn't have are the semiring's zero.`

export const MATRIX_FILE = 'a .npy, .npz, .mtx, .csv, .tsv or .gr file'

/** Path of a file, and the name of an array in it. */
interface NamedFile {
  path: string
  array?: string
}

/**
 * Parses the name of an input: "operands.npz:a" is the array a of operands.npz, and "-" is standard input,
 * stored in a temporary file.
 */
export function fileOf(named: string): NamedFile {
  const [, file, array] = /^(.+\.npz):([^:]+)$/i.exec(named) ?? []
  return file === undefined ? { path: inputPath(named) } : { path: file, array: array! }
}

/** Parses the name of an output as fileOf() does; "-" is standard output. */
export const outputFileOf = (named: string): NamedFile =>
  named === PIPE ? { path: outputPath(named) } : fileOf(named)

export interface ReadFlags extends Pick<CsvFlags, 'edges'> {
  semiring?: Semiring | undefined
  dtype?: DataType | undefined
}

/** Reads a matrix and shows the progress. */
export async function readMatrixFile(
  named: string,
  { semiring, dtype, edges }: ReadFlags,
  signal: AbortSignal,
): Promise<Matrix<ElementArray>> {
  const { path, array } = fileOf(named)
  // Unknown formats are rejected before readMatrix, whose message would name an option that commands lack.
  fileFormatOf(path)
  return withProgress(`reading ${shownInput(named)}`, async (onProgress) => {
    if (edges) return dense(await readEdges(named, { signal, onProgress }), semiring ?? 'max-plus', dtype)
    const read = () => readMatrix(path, { semiring, dtype, array, signal, onProgress })
    return isCsv(path) ? namingNodes(named, NUMBER_NODES, read) : read()
  })
}

/** Returns whether the file's format states no element type, so that its numbers determine the type. */
export function isUntyped(named: string): boolean {
  const format = fileFormatOf(fileOf(named).path)
  return format !== 'npy' && format !== 'npz'
}

/**
 * Reads the operands of a product. If some are float64, text files with only integers are read as float64
 * too, because integers in a text file don't imply an integer type.
 */
export async function readOperands(
  named: readonly string[],
  { semiring, dtype, ...flags }: ReadFlags & CsvFlags,
  signal: AbortSignal,
): Promise<Matrix<ElementArray>[]> {
  const matrices: Matrix<ElementArray>[] = []
  const kinds: CsvFlags[] = []
  for (const name of named) {
    const kind = await kindOfMatrix(name, flags, { weighs: semiring !== 'or-and' })
    kinds.push(kind)
    matrices.push(await readMatrixFile(name, { semiring, dtype, ...kind }, signal))
  }
  const types = matrices.map(({ data }) => dtypeOf(data))
  const other = types.find((type) => type !== 'int32')
  for (const [index, name] of named.entries()) {
    if (types[index] !== 'int32' || other === undefined || other === 'uint8' || !isUntyped(name)) continue
    matrices[index] = await readMatrixFile(name, { semiring, dtype: other, ...kinds[index] }, signal)
  }
  return matrices
}

/**
 * Checks the files of matrices before any work, including the checks of {@link checkOutputs}.
 *
 * @param outputs - names of the outputs; undefined for outputs that aren't requested.
 * @throws FileError.
 */
export async function checkMatrixOutputs(
  outputs: readonly (string | undefined)[],
  inputs: readonly string[],
): Promise<void> {
  const files = outputs.filter((named) => named !== undefined).map(outputFileOf)
  for (const { path } of files) fileFormatOf(path)
  await checkOutputs(
    files.map(({ path }) => path),
    inputs.map((input) => fileOf(input).path),
  )
  for (const { path, array } of files) if (array !== undefined) await assertOnlyArray(path, array)
}

/** Throws if a .npz file contains other arrays, because writing replaces the whole file. */
async function assertOnlyArray(path: string, array: string): Promise<void> {
  if (!existsSync(path)) return
  const others = (await npzNames(path).catch(() => [])).filter((name) => name !== array)
  if (others.length === 0) return
  throw new FileError(
    `${path} can't be written: it is replaced as a whole, and holds '${others[0]}'${others.length > 1 ? ' and others' : ''} ` +
      'too: name another output, or remove it first',
  )
}

/** Writes a matrix and shows the progress. */
export async function writeMatrixFile(
  named: string,
  matrix: MatrixLike<ElementArray>,
  semiring: Semiring | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { path, array } = outputFileOf(named)
  await withProgress(`writing ${shownOutput(named)}`, (onProgress) =>
    writeMatrix(path, matrix, { semiring, array, signal, onProgress }),
  )
  if (named === PIPE) await passOn()
}
