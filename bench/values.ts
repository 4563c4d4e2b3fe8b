/** Formats the values of small results as text and JSON. */
import { type DenseMatrix, type ElementArray, type Semiring, zeroOf } from '../lib/index.js'
import { dtypeOf } from './dtype.js'
import { table } from './output.js'

export type JsonNumber = number | 'NaN' | 'Infinity' | '-Infinity'

/** Rows of elements; null for the semiring's zero. A batch is a list of matrices. */
type Rows = (JsonNumber | null)[][]
export type Values = Rows | Rows[]

/** Symbol of the semiring's zero in printed matrices. */
const ZERO = '.'

/** Limits of a small result, which fits on a screen. */
const MAX_COLUMNS = 12
const MAX_ELEMENTS = 144

/** Number of elements, pairs or nodes that are printed: more would fill the memory. */
export const MAX_PRINTED = 2 ** 22

/** Converts a number to JSON, which has no infinities. */
export const jsonNumber = (value: number): JsonNumber =>
  Number.isFinite(value) ? value : (String(value) as JsonNumber)

/**
 * Returns the elements of a result without an output file, if the result is small or all elements were
 * requested; otherwise undefined.
 *
 * @param all - whether --all was given.
 */
export function valuesOf(
  { data, shape }: DenseMatrix<ElementArray>,
  semiring: Semiring,
  all: boolean,
): Values | undefined {
  const [rows, cols] = shape.slice(-2) as [number, number]
  if (data.length === 0 || (!all && (cols > MAX_COLUMNS || data.length > MAX_ELEMENTS))) return undefined
  if (data.length > MAX_PRINTED) {
    throw new Error(
      `the result has ${data.length} elements, more than the ${MAX_PRINTED} that are printed: name a file with -o`,
    )
  }
  const zero = zeroOf(semiring, dtypeOf(data))
  const rowsFrom = (start: number): Rows =>
    Array.from({ length: rows }, (_, i) =>
      Array.from(data.subarray(start + i * cols, start + (i + 1) * cols), (value) =>
        value === zero ? null : jsonNumber(value),
      ),
    )
  if (shape.length === 2) return rowsFrom(0)
  return Array.from({ length: shape[0]! }, (_, item) => rowsFrom(item * rows * cols))
}

type NameOf = (index: number) => number | string

const isBatch = (values: Values): values is Rows[] => Array.isArray(values[0]?.[0])

/** @param whole - whether fractions are printed with all digits. */
export function cellText(value: JsonNumber | null, whole: boolean): string {
  if (value === null) return ZERO
  if (whole || typeof value !== 'number' || Number.isInteger(value)) return String(value)
  return String(Number(value.toPrecision(6)))
}

/**
 * Formats the elements in columns, with `.` for the zero.
 *
 * @param nameOf - returns the name or number of a row or column, if they have any.
 */
function valuesText(values: Values, all: boolean, nameOf?: NameOf): string {
  if (isBatch(values)) return values.map((rows) => valuesText(rows, all)).join('\n\n')
  const cells = values.map((row) => row.map((value) => cellText(value, all)))
  if (nameOf === undefined) return table(cells, 'right')
  const head = ['', ...cells[0]!.map((_, col) => `${nameOf(col)}`)]
  return table([head, ...cells.map((row, index) => [`${nameOf(index)}`, ...row])], 'right')
}

/** Returns the record of a result, followed by its values if they are printed. */
export const withValues = (head: string, values: Values | undefined, all: boolean, nameOf?: NameOf) =>
  values === undefined ? head : `${head}\n\n${valuesText(values, all, nameOf)}`
