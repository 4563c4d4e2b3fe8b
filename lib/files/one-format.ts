/** Reading and writing one format, whatever the name of the file is. */

import type { ArrayTypes } from '../element-types.js'
import type { Matrix, MatrixLike } from '../matrix.js'
import { Options, without } from '../options.js'
import type { ElementArray } from '../storage.js'
import type { DataType } from '../variant-names.js'
import type { FileFormat } from './names.js'
import { type ReadMatrixOptions, readMatrix, readSet } from './read.js'
import { type WriteMatrixOptions, writeMatrix, writeSet } from './write.js'

/** What reads one format: {@link readMatrix} without the options format and array. It rejects with the same errors. */
export interface FormatReader {
  <Type extends DataType>(
    path: string | URL,
    options: Omit<ReadMatrixOptions<Type>, 'format' | 'array'> & { dtype: Type },
  ): Promise<Matrix<ArrayTypes[Type]>>
  (path: string | URL, options?: Omit<ReadMatrixOptions, 'format' | 'array'>): Promise<Matrix<ElementArray>>
}

/**
 * What writes one format: {@link writeMatrix} without the options format, array and compress. It rejects with the same
 * errors.
 */
export type FormatWriter = (
  path: string | URL,
  matrix: MatrixLike<ElementArray>,
  options?: Omit<WriteMatrixOptions, 'format' | 'array' | 'compress'>,
) => Promise<void>

// readMatrix and writeMatrix read them again, with the format.
const readOptions = new Options(without(readSet, 'format', 'array'))
const writeOptions = new Options(without(writeSet, 'format', 'array', 'compress'))

const reader = (format: FileFormat) =>
  (async (path: string | URL, options?: ReadMatrixOptions) =>
    readMatrix(path, { ...readOptions.read(options), format })) as FormatReader

const writer =
  (format: FileFormat): FormatWriter =>
  async (path, matrix, options) =>
    writeMatrix(path, matrix, { ...writeOptions.read(options), format })

/**
 * {@link readMatrix} of a Matrix Market file.
 *
 * @example
 * await writeMatrixMarket('steps.txt', matrix(2, 2, [0, 7, 3, 0]))
 * // Such a file has columns: they stay as they are, and the strides say so.
 * const { data, strides } = await readMatrixMarket('steps.txt')
 * console.log(data.join(), strides.join()) // 0,3,7,0 1,2
 */
export const readMatrixMarket = reader('matrix-market')
/**
 * {@link writeMatrix} to a Matrix Market file.
 *
 * @example
 * await writeMatrixMarket('steps.txt', matrix(2, 2, [0, 7, 3, EPSILON]))
 * console.log(await readFile('steps.txt', 'utf8'))
 * // %%MatrixMarket matrix coordinate integer general
 * // 2 2 3
 * // 1 1 0
 * // 1 2 7
 * // 2 1 3
 */
export const writeMatrixMarket = writer('matrix-market')
/**
 * {@link readMatrix} of a CSV file.
 *
 * @example
 * await writeCsv('steps.txt', matrix(2, 2, [0, 7, 3, 0]))
 * console.log((await readCsv('steps.txt')).data.join()) // 0,7,3,0
 */
export const readCsv = reader('csv')
/**
 * {@link writeMatrix} to a CSV file.
 *
 * @example
 * await writeCsv('steps.txt', matrix(2, 2, [0, 7, 3, EPSILON]))
 * console.log(await readFile('steps.txt', 'utf8'))
 * // 0,7
 * // 3,-inf
 */
export const writeCsv = writer('csv')
/**
 * {@link readMatrix} of a TSV file.
 *
 * @example
 * await writeTsv('steps.txt', matrix(2, 2, [0, 7, 3, 0]))
 * console.log((await readTsv('steps.txt')).data.join()) // 0,7,3,0
 */
export const readTsv = reader('tsv')
/**
 * {@link writeMatrix} to a TSV file.
 *
 * @example
 * await writeTsv('steps.txt', matrix(2, 2, [0, 7, 3, EPSILON]))
 * console.log(JSON.stringify(await readFile('steps.txt', 'utf8'))) // "0\t7\n3\t-inf\n"
 */
export const writeTsv = writer('tsv')
/**
 * {@link readMatrix} of a DIMACS .gr file.
 *
 * @example
 * await writeDimacs('steps.txt', matrix(2, 2, [0, 7, 3, 0]))
 * console.log((await readDimacs('steps.txt')).data.join()) // 0,7,3,0
 */
export const readDimacs = reader('dimacs')
/**
 * {@link writeMatrix} to a DIMACS .gr file.
 *
 * @example
 * await writeDimacs('steps.txt', matrix(2, 2, [0, 7, 3, EPSILON]))
 * console.log(await readFile('steps.txt', 'utf8'))
 * // p sp 2 3
 * // a 1 1 0
 * // a 1 2 7
 * // a 2 1 3
 */
export const writeDimacs = writer('dimacs')
