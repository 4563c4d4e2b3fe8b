/** mpmml convert IN OUT */
import { type Command, Option } from 'commander'
import { type FileFormat, fileFormatOf, isSparseFile, readEntries, writeEntries } from '../../lib/files.js'
import { type DataType, type Semiring, variants } from '../../lib/index.js'
import { newCommand } from '../commands.js'
import { type CsvFlags, csvOptions, kindOfMatrix } from '../csv-kind.js'
import { dataTypes, dtypeOf } from '../dtype.js'
import { dense, readEdges } from '../edge-file.js'
import {
  checkMatrixOutputs,
  fileOf,
  MATRIX_FILE,
  MATRIX_HELP,
  outputFileOf,
  readMatrixFile,
  writeMatrixFile,
} from '../matrix-file.js'
import { labelled, print, printJson, shapeText } from '../output.js'
import {
  formatOptions,
  openPipes,
  PIPE,
  PIPE_HELP,
  type PipeFlags,
  passOn,
  shownInput,
  shownOutput,
} from '../pipes.js'
import { withProgress } from '../progress.js'

interface Flags extends PipeFlags, CsvFlags {
  semiring?: Semiring
  dtype?: DataType
  json?: true
}

/** Output of `convert --json`. */
interface ConvertRecord {
  from: string
  to: string
  shape: readonly number[]
  dtype: DataType
  /** Number of stored entries; null if the input was dense. */
  entries: number | null
}

export function convertCommand(signal: AbortSignal): Command {
  const command = newCommand('convert')
  for (const option of [...csvOptions(), ...formatOptions()]) command.addOption(option)
  return command
    .argument('<IN>', MATRIX_FILE)
    .argument('<OUT>', 'the file to write; a sparse one leaves out the zeros of the semiring')
    .addOption(
      new Option('--semiring <name>', 'whose zero is what is missing (max-plus by default)').choices([
        ...new Set(variants().map(({ semiring }) => semiring)),
      ]),
    )
    .addOption(new Option('--dtype <type>', 'the element type to convert to, exactly').choices(dataTypes))
    .option('--json', 'print one JSON value')
    .addHelpText('after', MATRIX_HELP + PIPE_HELP)
    .action(async (from: string, to: string, flags: Flags) => {
      await openPipes(command, { inputs: [from], outputs: [to] }, flags, signal)
      const record = await convert(from, to, flags, signal)
      if (to === PIPE) return
      await (flags.json ? printJson(record) : print(describe(record)))
    })
}

async function convert(
  from: string,
  to: string,
  { semiring, dtype, ...flags }: Flags,
  signal: AbortSignal,
): Promise<ConvertRecord> {
  await checkMatrixOutputs([to], [from])
  const target = outputFileOf(to).path
  const toSparse = isSparseFormat(fileFormatOf(target))
  // Sparse matrices stay sparse where possible, because their dense form may exceed the memory.
  const stays = dtype === undefined && semiring === undefined && toSparse
  const { path, array } = fileOf(from)
  const kind = await kindOfMatrix(from, flags, { isLikely: toSparse, weighs: semiring !== 'or-and' })
  const isList = kind.edges === true
  if (isList || (stays && array === undefined && (await isSparseFile(path)))) {
    const entries = await withProgress(`reading ${shownInput(from)}`, (onProgress) =>
      isList ? readEdges(from, { signal, onProgress }) : readEntries(path, { signal, onProgress }),
    )
    const { shape, value } = entries
    if (!stays) {
      const filled = dense(entries, semiring ?? 'max-plus', dtype)
      await writeMatrixFile(to, filled, semiring, signal)
      return { from, to, shape, dtype: dtypeOf(filled.data), entries: value.length }
    }
    await withProgress(`writing ${shownOutput(to)}`, (onProgress) =>
      writeEntries(target, entries, { signal, onProgress }),
    )
    if (to === PIPE) await passOn()
    return { from, to, shape, dtype: dtypeOf(value), entries: value.length }
  }
  const matrix = await readMatrixFile(from, { semiring, dtype }, signal)
  await writeMatrixFile(to, matrix, semiring, signal)
  return { from, to, shape: matrix.shape, dtype: dtypeOf(matrix.data), entries: null }
}

const isSparseFormat = (format: FileFormat) => format === 'matrix-market' || format === 'dimacs'

function describe({ from, to, shape, dtype, entries }: ConvertRecord): string {
  return labelled([
    ['from', shownInput(from)],
    ['to', to],
    ['matrix', `${shapeText(shape)}, ${dtype}`],
    ['entries', entries === null ? undefined : String(entries)],
  ])
}
