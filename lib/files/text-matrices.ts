/** Parses dense matrices in text. */
import { semiringName } from '../built-in-semirings.js'
import type { ArrayTypes } from '../element-types.js'
import type { Matrix } from '../matrix.js'
import { addon } from '../native.js'
import { choice, Options, type OptionsOf, readChoice, required, string } from '../options.js'
import type { ElementArray } from '../storage.js'
import type { DataType, Semiring } from '../variant-names.js'
import { csvParser } from './csv.js'
import { DenseEntries, type DenseRequest, denseRequest } from './dense.js'
import { dimacsParser } from './dimacs.js'
import { type ContentOptions, LineFeed, parseText } from './line-feed.js'
import { readText } from './lines.js'
import { matrixMarketParser } from './matrix-market.js'
import { type MemoryOptions, maxBytes } from './memory.js'
import type { FileFormat } from './names.js'
import type { ReadFileOptions } from './progress.js'

/** Formats of matrices in text. */
export type TextFormat = Exclude<FileFormat, 'npy' | 'npz'>

const formats: readonly TextFormat[] = ['matrix-market', 'csv', 'tsv', 'dimacs']

/** The options of {@link parseMatrix}. `undefined` means the default. */
export interface ParseMatrixOptions<Type extends DataType = DataType> extends MemoryOptions, ContentOptions {
  /** Format of the text. */
  format: TextFormat
  /**
   * Semiring whose zero is the value of elements missing in the text. Default: 'max-plus', or 'or-and' for
   * bytes.
   */
  semiring?: Semiring | undefined
  /**
   * The element type; by default the first of int32, float64 and uint8 that the semiring has and that can
   * represent the values.
   */
  dtype?: Type | undefined
}

const parseOptions = new Options({
  format: required((value, name) => formats[readChoice(formats, value, name)]!),
  semiring: semiringName,
  dtype: choice(addon.dataTypes, undefined),
  maxBytes,
  name: string('the matrix'),
} satisfies OptionsOf<ParseMatrixOptions>)

const matrixFeed = (name: string, format: TextFormat, request: DenseRequest) => {
  if (format === 'csv' || format === 'tsv')
    return new LineFeed(name, csvParser(name, request, format === 'tsv'))
  const entries = new DenseEntries(name, request)
  return new LineFeed(name, format === 'dimacs' ? dimacsParser(entries) : matrixMarketParser(entries, true))
}

export const readTextMatrix = (
  name: string,
  format: TextFormat,
  request: DenseRequest,
  options: ReadFileOptions,
) => readText(name, 'a matrix', matrixFeed(name, format, request), options)

/**
 * Reads a matrix from a text, or from its bytes, as {@link readMatrix} reads a file of the format. The call
 * blocks until the text is parsed.
 *
 * @throws FileError (ERR_MPMML_FILE) with the number of the line; ERR_MPMML_DTYPE for content that is neither text nor bytes, and if the semiring
 *   doesn't have the type; ERR_MPMML_OPTION; LimitError; ERR_MPMML_OUT_OF_MEMORY.
 * @example
 * const { data, shape } = parseMatrix('0,7\n3,-inf\n', { format: 'csv' })
 * console.log(data.join(), shape.join(' × ')) // 0,7,3,-2147483648 2 × 2
 */
export function parseMatrix<Type extends DataType>(
  content: Uint8Array | string,
  options: ParseMatrixOptions<Type> & { dtype: Type },
): Matrix<ArrayTypes[Type]>
export function parseMatrix(content: Uint8Array | string, options: ParseMatrixOptions): Matrix<ElementArray>
export function parseMatrix(content: Uint8Array | string, options: ParseMatrixOptions): Matrix<ElementArray> {
  const { format, semiring, dtype, maxBytes, name } = parseOptions.read(options)
  return parseText(content, name, matrixFeed(name, format, denseRequest(semiring, dtype, maxBytes)))
}
