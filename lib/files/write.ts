/** Writing a matrix to a file of any format. What a format needs is loaded when it is asked for. */

import { during, Loan } from '../borrowed.js'
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
  /** Elements that are its zero are left out of sparse files, and are infinities in CSV; 'max-plus' if left out, and 'or-and' for bytes. */
  semiring?: Semiring | undefined
  /** Name of the matrix in a .npz file. Default 'arr_0', as in NumPy. */
  array?: string | undefined
  /** Whether a .npz file is compressed; false by default. */
  compress?: boolean | undefined
}

export const writeSet = {
  format: choice(fileFormats, undefined),
  semiring: semiringName,
  array: arrayName,
  compress: boolean(false),
  ...writeFileSet,
} satisfies OptionsOf<WriteMatrixOptions>
const writeOptions = new Options(writeSet)

/**
 * Writes a matrix to a file; the end of its name says in which format, as for {@link readMatrix}. The file appears under its
 * name only when it is complete; what had the name before is replaced if it is a regular file and `overwrite` isn't false, and refused
 * otherwise.
 *
 * - .npy and .npz keep the element type, and hold batches of matrices too.
 * - .mtx is a coordinate file if some elements are the semiring's zero, which it leaves out, and an array file if not.
 * - .csv and .tsv have a row per line. Int32 elements that are the semiring's zero are written as the infinity that they mean.
 * - .gr is a graph: an arc for each element that isn't the semiring's zero. It holds int32 integers only.
 *
 * A text file whose name ends with .gz is compressed.
 *
 * @param matrix - is read while the file is written: leave it alone until the promise settles.
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
  const loan = new Loan()
  const view = loan.view(readBack(matrix, 'matrix', 'result'), 'matrix')
  await during(loan, async () => {
    const [{ wantedOf }, { writeTextMatrix }] = await Promise.all([
      import('./dense.js'),
      import('./write-text.js'),
    ])
    const usual = typeNameOf(view.type) === 'uint8' ? 'or-and' : 'max-plus'
    const wanted = wantedOf(semiring ?? usual, undefined)
    await FileWork.run(`writing ${name}`, rest, (work) =>
      writeTextMatrix(name, format, view, wanted.semiring, work),
    )
  })
}
