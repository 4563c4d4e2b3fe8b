/** Reads a matrix from a file of any format. The code of a format is loaded on first use. */

import { semiringName } from '../built-in-semirings.js'
import { show } from '../describe.js'
import type { ArrayTypes } from '../element-types.js'
import { OptionError } from '../errors.js'
import type { Matrix } from '../matrix.js'
import { addon } from '../native.js'
import { choice, Options, type OptionsOf } from '../options.js'
import { longWorkSet } from '../product/options.js'
import type { ElementArray } from '../storage.js'
import type { DataType, Semiring } from '../variant-names.js'
import { pathOf } from './files.js'
import { type MemoryOptions, maxBytes } from './memory.js'
import { arrayName, type FileFormat, fileFormats, formatOf } from './names.js'
import type { FileOptions } from './progress.js'

/** The options of {@link readMatrix}. `undefined` means the default. */
export interface ReadMatrixOptions<Type extends DataType = DataType> extends FileOptions, MemoryOptions {
  /** Format of the file. Default: by the file's extension. */
  format?: FileFormat | undefined
  /**
   * Semiring whose zero is the value of elements missing in the file. Default: 'max-plus', or 'or-and' for
   * bytes.
   */
  semiring?: Semiring | undefined
  /**
   * Element type. Default: the file's type, or the first of int32, float64 and uint8 that the semiring has
   * and that can represent the values.
   */
  dtype?: Type | undefined
  /** The name of the array in a .npz file that has several. */
  array?: string | undefined
}

const readOptions = new Options({
  format: choice(fileFormats, undefined),
  semiring: semiringName,
  dtype: choice(addon.dataTypes, undefined),
  array: arrayName,
  maxBytes,
  ...longWorkSet,
} satisfies OptionsOf<ReadMatrixOptions>)

/**
 * Reads a matrix from a file. The extension determines the format:
 *
 * | name | file | elements |
 * |---|---|---|
 * | .npy | NumPy's, also of a batch of matrices: see {@link readNpy} | of the file's type |
 * | .npz | an archive of NumPy's: the array that the option names, or the only one | of its type |
 * | .mtx | Matrix Market's, array or coordinate; entries that a coordinate file lacks are the semiring's zero, and several of one place are joined by ⊕ | int32 for integers and patterns (whose entries are 1), float64 for real numbers |
 * | .csv, .tsv | a row per line; `.` and `ε` are the semiring's zero, `inf`, `-inf` and `nan` what they say; the first line may hold headings, lines that begin with # are comments | int32 if all are integers of its range, else float64 |
 * | .gr | a graph in the DIMACS format; pairs of nodes without an arc are the semiring's zero | int32 |
 *
 * The text formats may be compressed by gzip (.mtx.gz). An infinity that is the semiring's zero becomes its
 * zero in int32. If the semiring doesn't have the type, the next one that holds all values is taken. The
 * option `dtype` converts values exactly; only fractions are rounded to float32. A value that the type can't
 * represent is an error that names the value. In text, an integer beyond 2^53 that float64 would round is an
 * error too, unless a decimal point or an exponent makes it a real number.
 *
 * @param path - a regular file.
 * @returns a matrix with data of its own.
 * @throws FileError (ERR_MPMML_FILE) for a file that can't be read, is damaged or has values that the type doesn't hold;
 *   ERR_MPMML_DTYPE if the semiring doesn't have the type; ERR_MPMML_OPTION; LimitError; ERR_MPMML_OUT_OF_MEMORY; AbortedError.
 * @example
 * await writeMatrix('roads.gr', matrix(2, 2, [0, 7, 2 ** 31 - 1, 0]), { semiring: 'min-plus' })
 * const roads = await readMatrix('roads.gr', { semiring: 'min-plus', dtype: 'float64' })
 * console.log(roads.data.join()) // 0,7,Infinity,0
 */
export async function readMatrix<Type extends DataType>(
  path: string | URL,
  options: ReadMatrixOptions<Type> & { dtype: Type },
): Promise<Matrix<ArrayTypes[Type]>>
export async function readMatrix(
  path: string | URL,
  options?: ReadMatrixOptions,
): Promise<Matrix<ElementArray>>
export async function readMatrix(
  path: string | URL,
  options?: ReadMatrixOptions,
): Promise<Matrix<ElementArray>> {
  const { format: given, semiring, dtype, array, maxBytes, ...rest } = readOptions.read(options)
  const name = pathOf(path)
  const format = formatOf(name, given, fileFormats)
  if (array !== undefined && format !== 'npz') {
    throw new OptionError(
      `option array must be the name of an array in a .npz file, but it is ${show(array)} for ${format}`,
    )
  }
  const { DenseEntries, denseRequest } = await import('./dense.js')
  const request = denseRequest(semiring, dtype, maxBytes)
  if (format !== 'npy' && format !== 'npz') {
    const { readTextMatrix } = await import('./text-matrices.js')
    return readTextMatrix(name, format, request, rest)
  }
  const { convertMatrix, bytesOnly } = await import('./convert.js')
  const requested = bytesOnly(request) ? 'uint8' : undefined
  const matrix =
    format === 'npy'
      ? await (await import('./npy.js')).readNpy(path, { dtype: requested, maxBytes, ...rest })
      : await (await import('./npz.js')).readNpzArray(
          path,
          array,
          requested,
          (called) => new DenseEntries(called, request),
          { maxBytes, ...rest },
        )
  // These files specify their type, which is the default.
  return semiring === undefined && dtype === undefined
    ? matrix
    : convertMatrix(matrix, request, name, rest.signal)
}
