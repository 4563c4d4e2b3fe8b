/** mpmml show FILE */
import { stat } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import {
  combineDuplicates,
  fileFormatOf,
  isSparseFile,
  npzNames,
  readEntries,
  type SparseEntries,
} from '../../lib/files.js'
import {
  type DataType,
  type ElementArray,
  type Matrix,
  type Semiring,
  variants,
  zeroOf,
} from '../../lib/index.js'
import { newCommand } from '../commands.js'
import { type CsvFlags, csvOptions, kindOfMatrix } from '../csv-kind.js'
import { dtypeOf, typesOf } from '../dtype.js'
import { readEdges } from '../edge-file.js'
import { fileOf, MATRIX_FILE, MATRIX_HELP, readMatrixFile } from '../matrix-file.js'
import { bytes, labelled, print, printJson, shapeText, table } from '../output.js'
import { Pattern } from '../picture.js'
import { formatOption, openPipes, PIPE_HELP, type PipeFlags, shownInput } from '../pipes.js'
import { withProgress } from '../progress.js'
import { Counts, type Range } from '../summary.js'
import { cellText, type JsonNumber, jsonNumber, MAX_PRINTED } from '../values.js'

interface Flags extends PipeFlags, CsvFlags {
  semiring?: Semiring
  all?: true
  picture: boolean
  json?: true
}

/** Output of `show --json` for a matrix; its range excludes elements that are the semiring's zero. */
interface ShownMatrix extends Range {
  array: string | null
  shape: readonly number[]
  dtype: DataType
  /** Number of entries in a sparse file; null for a dense file. */
  entries: number | null
  semiring: Semiring
  /** Number of elements that are the semiring's zero, and their fraction. */
  zeros: number
  shareOfZeros: number
  /** Elements of the first or all rows and columns; null for the semiring's zero. */
  corner: (JsonNumber | null)[][]
}

/** Matrix with a picture of the positions of its elements. */
interface Shown {
  record: ShownMatrix
  pattern: Pattern
}

/** Number of rows and columns that are shown by default. */
const CORNER = 6

export function showCommand(signal: AbortSignal): Command {
  const command = newCommand('show')
  for (const option of csvOptions()) command.addOption(option)
  return command
    .argument('<FILE>', MATRIX_FILE)
    .addOption(
      new Option(
        '--semiring <name>',
        'whose zero counts as no element (max-plus by default, or-and for bytes)',
      ).choices([...new Set(variants().map(({ semiring }) => semiring))]),
    )
    .option('--no-picture', 'leave out the picture of where elements are')
    .option('--all', 'show all rows and columns, and no picture')
    .addOption(formatOption())
    .option('--json', 'print one JSON value')
    .addHelpText('after', MATRIX_HELP + PIPE_HELP)
    .action(async (named: string, flags: Flags) => {
      await openPipes(command, { inputs: [named] }, flags, signal)
      const { size } = await stat(fileOf(named).path).catch(() => ({ size: 0 }))
      const shown = await look(named, flags, signal)
      if (flags.json) {
        return printJson({ file: named, bytes: size, matrices: shown.map(({ record }) => record) })
      }
      const head = labelled([['file', `${shownInput(named)}, ${bytes(size)}`]])
      await print([head, ...shown.map((one) => describe(one, flags))].join('\n\n'))
    })
}

async function look(named: string, flags: Flags, signal: AbortSignal): Promise<Shown[]> {
  const { semiring } = flags
  const corner = flags.all ? Number.POSITIVE_INFINITY : CORNER
  const { path, array } = fileOf(named)
  const { edges } = await kindOfMatrix(named, flags, { weighs: semiring !== 'or-and' })
  if (edges || (array === undefined && (await isSparseFile(path)))) {
    const entries = await withProgress(`reading ${shownInput(named)}`, (onProgress) =>
      edges ? readEdges(named, { signal, onProgress }) : readEntries(path, { signal, onProgress }),
    )
    return [lookAtSparse(entries, semiring, corner)]
  }
  if (array === undefined && fileFormatOf(path) === 'npz') {
    const shown: Shown[] = []
    for (const name of await npzNames(path, { signal })) {
      const matrix = await readMatrixFile(`${path}:${name}`, {}, signal)
      shown.push(lookAtDense(matrix, semiring, name, corner))
    }
    return shown
  }
  return [lookAtDense(await readMatrixFile(named, { semiring }, signal), semiring, array ?? null, corner)]
}

const usual = (dtype: DataType, semiring: Semiring | undefined): Semiring =>
  semiring ?? (dtype === 'uint8' ? 'or-and' : 'max-plus')

/** Matrix whose elements are visited: all of a dense one, and the entries of a sparse one. */
interface Visited extends Pick<ShownMatrix, 'array' | 'shape' | 'dtype' | 'entries' | 'semiring'> {
  /** The semiring's zero in the type of the elements; undefined if the semiring doesn't support the type. */
  zero: number | undefined
  /** Number of elements that aren't visited, which are zeros. */
  missing: number
  visit(see: (value: number, row: number, col: number, item: number) => void): void
}

/** @param most - limit of the rows and columns of the corner. */
function lookAt({ zero, missing, visit, ...facts }: Visited, most: number): Shown {
  const [rows, cols] = facts.shape.slice(-2) as [number, number]
  const counts = new Counts()
  const pattern = new Pattern(rows, cols)
  const count = facts.shape.reduce((product, size) => product * size, 1)
  const [shownRows, shownCols] = cornerOf(rows, cols, most)
  // An empty batch has no rows to show.
  const corner: (JsonNumber | null)[][] = Array.from({ length: facts.shape[0] === 0 ? 0 : shownRows }, () =>
    Array(shownCols).fill(null),
  )
  let zeros = missing
  visit((value, row, col, item) => {
    if (value === zero) {
      zeros++
      return
    }
    counts.add(value)
    // The picture and the corner show the first matrix of a batch.
    if (item > 0) return
    pattern.add(row, col)
    if (row < shownRows && col < shownCols) corner[row]![col] = jsonNumber(value)
  })
  const shareOfZeros = count > 0 ? zeros / count : 0
  return { record: { ...facts, zeros, shareOfZeros, corner, ...counts.range }, pattern }
}

function lookAtDense(
  { data, shape, strides, offset = 0 }: Matrix<ElementArray>,
  requested: Semiring | undefined,
  array: string | null,
  most: number,
): Shown {
  const dtype = dtypeOf(data)
  const semiring = usual(dtype, requested)
  const zero = typesOf(semiring).includes(dtype) ? zeroOf(semiring, dtype) : undefined
  const [rows, cols] = shape.slice(-2) as [number, number]
  const batch = shape.length === 3 ? shape[0] : 1
  const [down, right] = strides ? (strides.slice(-2) as [number, number]) : [cols, 1]
  const next = strides?.length === 3 ? strides[0] : rows * cols
  const visit: Visited['visit'] = (see) => {
    for (let b = 0; b < batch; b++)
      for (let i = 0; i < rows; i++)
        for (let j = 0; j < cols; j++) see(data[offset + b * next + i * down + j * right]!, i, j, b)
  }
  return lookAt({ array, shape, dtype, entries: null, semiring, zero, missing: 0, visit }, most)
}

function lookAtSparse(entries: SparseEntries, requested: Semiring | undefined, most: number): Shown {
  const { shape } = entries
  const dtype = dtypeOf(entries.value)
  const semiring = usual(dtype, requested)
  const { row, col, value } = combineDuplicates(entries, semiring)
  const types = typesOf(semiring)
  const zero = zeroOf(semiring, types.includes(dtype) ? dtype : types[0]!)
  const visit: Visited['visit'] = (see) => {
    for (let e = 0; e < row.length; e++) see(value[e]!, row[e]!, col[e]!, 0)
  }
  const missing = shape[0] * shape[1] - row.length
  const count = entries.value.length
  return lookAt({ array: null, shape, dtype, entries: count, semiring, zero, missing, visit }, most)
}

/** Returns the number of rows and columns to show. */
function cornerOf(rows: number, cols: number, most: number): [rows: number, cols: number] {
  const shown: [number, number] = [Math.min(rows, most), Math.min(cols, most)]
  if (shown[0] * shown[1] <= MAX_PRINTED) return shown
  throw new Error(
    `there are ${rows} × ${cols} elements, more than the ${MAX_PRINTED} that --all shows: leave it out`,
  )
}

function describe({ record, pattern }: Shown, { picture, all }: Flags): string {
  const { array, shape, dtype, entries, semiring, min, max, zeros, shareOfZeros, nan, infinite, corner } =
    record
  const percent = 100 * shareOfZeros
  const share = percent > 0 && percent < 0.1 ? 'less than 0.1' : Number(percent.toPrecision(3))
  const [rows, cols] = shape.slice(-2) as [number, number]
  const head = labelled([
    ['array', array ?? undefined],
    ['shape', shapeText(shape)],
    ['type', dtype],
    ['entries', entries === null ? undefined : String(entries)],
    ['range', min === null ? 'no finite element' : `${min} … ${max}`],
    ['zeros', zeros > 0 ? `${zeros}, ${share} %, are the zero of ${semiring}` : `none of ${semiring}`],
    ['NaN', nan > 0 ? String(nan) : undefined],
    ['infinite', infinite > 0 ? String(infinite) : undefined],
  ])
  if (corner.length === 0 || cols === 0) return head
  const cells = corner.map((row) => [
    ...row.map((value) => cellText(value, all === true)),
    ...(cols > row.length ? ['…'] : []),
  ])
  const shown = [head, table(cells, 'right') + (rows > corner.length ? '\n…' : '')]
  return (picture && !all ? [...shown, pattern.text()] : shown).join('\n\n')
}
