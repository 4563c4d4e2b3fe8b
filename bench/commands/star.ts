/** mpmml star A -o S */

import type { Command } from 'commander'
import { plus, star } from '../../lib/algebra.js'
import type { BackendName, DataType, MpmmOptions, Semiring } from '../../lib/index.js'
import { closureOptions } from '../arguments.js'
import { newCommand } from '../commands.js'
import { type CsvFlags, csvOptions, kindOfMatrix } from '../csv-kind.js'
import { dtypeOf } from '../dtype.js'
import { namingCycles } from '../graph.js'
import { checkMatrixOutputs, MATRIX_HELP, readMatrixFile, writeMatrixFile } from '../matrix-file.js'
import { duration, labelled, print, printJson, shapeText } from '../output.js'
import { formatOptions, openPipes, PIPE, PIPE_HELP, type PipeFlags } from '../pipes.js'
import { why } from '../place.js'
import { withProgress } from '../progress.js'
import {
  describeValues,
  type FileRecord,
  fileText,
  overflowOf,
  type ResultRecord,
  resultRecord,
  resultText,
  semiringText,
} from '../summary.js'
import { withValues } from '../values.js'

const semirings = ['max-plus', 'min-plus', 'max-min', 'min-max', 'max-times', 'or-and'] as const

interface Flags
  extends PipeFlags,
    CsvFlags,
    Pick<MpmmOptions, 'overflow' | 'backend' | 'device' | 'devices'> {
  output?: string
  all?: true
  plus?: true
  semiring: (typeof semirings)[number]
  json?: true
}

/** Output of `star --json`. */
interface StarRecord {
  a: FileRecord
  /** Summary of the closure, with its values if they are printed. */
  c: ResultRecord
  operation: 'star' | 'plus'
  semiring: Semiring
  dtype: DataType
  /** Overflow policy; null if nothing can overflow. */
  overflow: string | null
  backend: BackendName
  device: string
  timing: { totalMs: number; kernelMs: number }
}

export function starCommand(signal: AbortSignal): Command {
  const command = newCommand('star')
    .argument('<A>', 'N × N, or batch × N × N')
    .option('-o, --output <S>', 'write the star to this file (without it a small star is printed)')
    .option('--all', 'print the star, however large')
    .option('--plus', 'compute A ⊕ A² ⊕ … instead, of walks with at least one edge')
  for (const option of [...csvOptions(), ...closureOptions(semirings, 'max-plus'), ...formatOptions()])
    command.addOption(option)
  return command
    .option('--json', 'print one JSON value')
    .addHelpText('after', MATRIX_HELP + PIPE_HELP)
    .action(async (path: string, flags: Flags) => {
      await openPipes(command, { inputs: [path], outputs: [flags.output] }, flags, signal)
      const record = await compute(path, flags, signal)
      if (flags.output === PIPE) return
      await (flags.json ? printJson(record) : print(describe(record, flags)))
    })
}

async function compute(path: string, flags: Flags, signal: AbortSignal): Promise<StarRecord> {
  const { output, semiring, overflow, backend, device, devices } = flags
  await checkMatrixOutputs([output], [path])
  const kind = await kindOfMatrix(path, flags, { isSquare: true, weighs: semiring !== 'or-and' })
  const a = await readMatrixFile(path, { semiring, ...kind }, signal)
  const dtype = dtypeOf(a.data)
  const operation = flags.plus ? 'plus' : 'star'
  const options = { semiring, overflow, backend, device, devices, signal }
  const { c, ...how } = await withProgress(
    `computing the ${operation} of ${shapeText(a.shape)}`,
    (onProgress) =>
      namingCycles({ path, firstNode: 0 }, () => (flags.plus ? plus : star)(a, { ...options, onProgress })),
  )
  if (output !== undefined) await writeMatrixFile(output, c, semiring, signal)
  return {
    a: { path, shape: a.shape },
    c: resultRecord(c, semiring, output, flags.all === true),
    operation,
    semiring,
    dtype,
    overflow: overflowOf(semiring, dtype, overflow),
    ...how,
  }
}

function describe(record: StarRecord, flags: Flags): string {
  const { a, c, operation, semiring, dtype, timing } = record
  const head = labelled([
    ['A', fileText(a)],
    [operation === 'star' ? 'A*' : 'A+', resultText(c)],
    ['values', describeValues(c, c.shape, semiring, dtype)],
    ['semiring', semiringText(record)],
    ['backend', `${record.backend}, ${record.device}: ${why(record, flags)}`],
    ['kernel', duration(timing.kernelMs)],
    ['total', duration(timing.totalMs)],
  ])
  return withValues(head, c.values, flags.all === true)
}
