/** Reading and writing one format, whatever the name of the file is. */
import type { Matrix, MatrixLike } from '../matrix.js'
import type { ElementArray } from '../storage.js'
import type { DataType } from '../variant-names.js'
import type { FileFormat } from './names.js'
import { type ArrayTypes, type ReadMatrixOptions, readMatrix } from './read.js'
import { type WriteMatrixOptions, writeMatrix } from './write.js'

/** What reads one format: {@link readMatrix} without the options format and array. */
export interface FormatReader {
  <Type extends DataType>(
    path: string | URL,
    options: Omit<ReadMatrixOptions<Type>, 'format' | 'array'> & { dtype: Type },
  ): Promise<Matrix<ArrayTypes[Type]>>
  (path: string | URL, options?: Omit<ReadMatrixOptions, 'format' | 'array'>): Promise<Matrix<ElementArray>>
}

/** What writes one format: {@link writeMatrix} without the options format, array and compress. */
export type FormatWriter = (
  path: string | URL,
  matrix: MatrixLike<ElementArray>,
  options?: Omit<WriteMatrixOptions, 'format' | 'array' | 'compress'>,
) => Promise<void>

const reader = (format: FileFormat) =>
  ((path: string | URL, options?: ReadMatrixOptions) =>
    readMatrix(path, { ...options, format })) as FormatReader

const writer =
  (format: FileFormat): FormatWriter =>
  (path, matrix, options) =>
    writeMatrix(path, matrix, { ...options, format })

/** {@link readMatrix} of a Matrix Market file. */
export const readMatrixMarket = reader('matrix-market')
/** {@link writeMatrix} to a Matrix Market file. */
export const writeMatrixMarket = writer('matrix-market')
/** {@link readMatrix} of a CSV file. */
export const readCsv = reader('csv')
/** {@link writeMatrix} to a CSV file. */
export const writeCsv = writer('csv')
/** {@link readMatrix} of a TSV file. */
export const readTsv = reader('tsv')
/** {@link writeMatrix} to a TSV file. */
export const writeTsv = writer('tsv')
/** {@link readMatrix} of a DIMACS .gr file. */
export const readDimacs = reader('dimacs')
/** {@link writeMatrix} to a DIMACS .gr file. */
export const writeDimacs = writer('dimacs')
