/** mpmml convert IN OUT */
import { type Command, Option } from 'commander'
import { type FileFormat, fileFormatOf, isSparseFile, readEntries, writeEntries } from '../../lib/files.js'
import { type DataType, type Semiring, variants } from '../../lib/index.js'
import { newCommand } from '../commands.js'
import { dataTypes, dtypeOf } from '../dtype.js'
import {
  checkMatrixOutputs,
  fileOf,
  MATRIX_FILE,
  MATRIX_HELP,
  readMatrixFile,
  writeMatrixFile,
} from '../matrix-file.js'
import { labelled, print, printJson, shapeText } from '../output.js'
import { withProgress } from '../progress.js'

interface Flags {
  semiring?: Semiring
  dtype?: DataType
  json?: true
}

/** What `convert --json` prints. */
interface ConvertRecord {
  from: string
  to: string
  shape: readonly number[]
  dtype: DataType
  /** Null if the matrix was dense. */
  entries: number | null
}

export function convertCommand(signal: AbortSignal): Command {
  return newCommand('convert')
    .argument('<IN>', MATRIX_FILE)
    .argument('<OUT>', 'the file to write; a sparse one leaves out the zeros of the semiring')
    .addOption(
      new Option('--semiring <name>', 'whose zero is what is missing (max-plus by default)').choices([
        ...new Set(variants().map(({ semiring }) => semiring)),
      ]),
    )
    .addOption(new Option('--dtype <type>', 'the element type to convert to, exactly').choices(dataTypes))
    .option('--json', 'print one JSON value')
    .addHelpText('after', MATRIX_HELP)
    .action(async (from: string, to: string, flags: Flags) => {
      const record = await convert(from, to, flags, signal)
      await (flags.json ? printJson(record) : print(describe(record)))
    })
}

async function convert(
  from: string,
  to: string,
  { semiring, dtype }: Flags,
  signal: AbortSignal,
): Promise<ConvertRecord> {
  await checkMatrixOutputs([to], [from])
  // Sparse matrices may be far too large to be dense.
  const stays = dtype === undefined && semiring === undefined && isSparseFormat(fileFormatOf(fileOf(to).path))
  const { path, array } = fileOf(from)
  if (stays && array === undefined && (await isSparseFile(path))) {
    const entries = await withProgress(`reading ${from}`, (onProgress) =>
      readEntries(from, { signal, onProgress }),
    )
    await withProgress(`writing ${to}`, (onProgress) => writeEntries(to, entries, { signal, onProgress }))
    const { shape, value } = entries
    return { from, to, shape, dtype: dtypeOf(value), entries: value.length }
  }
  const matrix = await readMatrixFile(from, { semiring, dtype }, signal)
  await writeMatrixFile(to, matrix, semiring, signal)
  return { from, to, shape: matrix.shape, dtype: dtypeOf(matrix.data), entries: null }
}

const isSparseFormat = (format: FileFormat) => format === 'matrix-market' || format === 'dimacs'

function describe({ from, to, shape, dtype, entries }: ConvertRecord): string {
  return labelled([
    ['from', from],
    ['to', to],
    ['matrix', `${shapeText(shape)}, ${dtype}`],
    ['entries', entries === null ? undefined : String(entries)],
  ])
}
