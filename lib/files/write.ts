/** Writes a matrix to a file of any format. The code of a format is loaded on first use. */

import { BorrowedArrays, during } from '../borrowed.js'
import { semiringName } from '../built-in-semirings.js'
import { typeNameOf } from '../elements.js'
import { OptionError } from '../errors.js'
import type { MatrixLike } from '../matrix.js'
import { boolean, choice, Options, type OptionsOf } from '../options.js'
import type { ElementArray } from '../storage.js'
import type { Semiring } from '../variant-names.js'
import { readBack } from '../view.js'
import { pathOf } from './files.js'
import { arrayName, type FileFormat, fileFormats, formatOf } from './names.js'
import { writeNpy } from './npy.js'
import { FileWork, type WriteFileOptions, writeFileSet } from './progress.js'

/** The options of {@link writeMatrix}. `undefined` means the default. */
export interface WriteMatrixOptions extends WriteFileOptions {
  /** Format of the file. Default: by the file's extension. */
  format?: FileFormat | undefined
  /**
   * Semiring whose zero is omitted in sparse files and written as an infinity in CSV. Default: 'max-plus', or
   * 'or-and' for bytes.
   */
  semiring?: Semiring | undefined
  /** Name of the matrix in a .npz file. Default 'arr_0', as in NumPy. */
  array?: string | undefined
  /** Whether a .npz file is compressed; false by default. */
  compress?: boolean | undefined
}

const writeOptions = new Options({
  format: choice(fileFormats, undefined),
  semiring: semiringName,
  array: arrayName,
  compress: boolean(false),
  ...writeFileSet,
} satisfies OptionsOf<WriteMatrixOptions>)

/**
 * Writes a matrix to a file in the format of its extension, as {@link readMatrix} reads it. The file appears
 * under its name only when it is complete. An existing regular file is replaced unless `overwrite` is false;
 * anything else with the name is an error.
 *
 * - .npy and .npz keep the element type, and hold batches of matrices too.
 * - .mtx is a coordinate file if some elements are the semiring's zero, which it leaves out, and an array file if not.
 * - .csv and .tsv have a row per line. Int32 elements that are the semiring's zero are written as the
 *   corresponding infinity.
 * - .gr is a graph: an arc for each element that isn't the semiring's zero. It holds int32 integers only.
 *
 * A text file whose name ends with .gz is compressed.
 *
 * @param matrix - read while the file is written: don't modify it until the promise settles.
 * @throws FileError (ERR_MPMML_FILE) with the system's reason; ERR_MPMML_EXISTS; ERR_MPMML_SHAPE for a shape that the format doesn't hold, and ERR_MPMML_DTYPE
 *   for a value that isn't a matrix, or isn't of a type of the semiring; ERR_MPMML_OPTION; AbortedError.
 * @example
 * await writeMatrix('distances.csv', matrix(2, 2, [0, 7, 2 ** 31 - 1, 0]), { semiring: 'min-plus' })
 * console.log(await readFile('distances.csv', 'utf8'))
 * // 0,7
 * // inf,0
 */
export async function writeMatrix(
  path: string | URL,
  matrix: MatrixLike<ElementArray>,
  options?: WriteMatrixOptions,
): Promise<void> {
  const { format: given, semiring, array, compress, ...rest } = writeOptions.read(options)
  const name = pathOf(path)
  const format = formatOf(name, given, fileFormats)
  if (format === 'npz') {
    const { writeNpz } = await import('./npz.js')
    return writeNpz(path, { [array ?? 'arr_0']: matrix }, { compress, ...rest })
  }
  if (array !== undefined || compress) {
    throw new OptionError(
      `option ${array === undefined ? 'compress' : 'array'} is for .npz files only, but this is ${format}` +
        (format === 'npy' ? '' : '; a name that ends with .gz compresses a text file'),
    )
  }
  if (format === 'npy') return writeNpy(path, matrix, rest)
  const loan = new BorrowedArrays()
  const view = loan.view(readBack(matrix, 'matrix', 'result'), 'matrix')
  await during(loan, async () => {
    const [{ denseRequest }, { writeTextMatrix }] = await Promise.all([
      import('./dense.js'),
      import('./write-text.js'),
    ])
    const usual = typeNameOf(view.type) === 'uint8' ? 'or-and' : 'max-plus'
    const request = denseRequest(semiring ?? usual, undefined)
    await FileWork.run(`writing ${name}`, rest, (work) =>
      writeTextMatrix(name, format, view, request.semiring, work),
    )
  })
}
