/** mpmml rna --nussinov FASTA, and mpmml bpmax QUERY TARGET */
import { type Command, InvalidArgumentError } from 'commander'
import type { PairWeights } from '../../lib/rna.js'
import { placeOptions, wholeNumber, wholeNumbers } from '../arguments.js'
import { newCommand } from '../commands.js'
import { print, printJson } from '../output.js'
import {
  describeFoldings,
  type FoldRequest,
  foldFile,
  type InteractionRequest,
  interactFiles,
} from '../rna.js'

const FASTA_HELP = `
FASTA files may have several records, lower case, and T for U.`

const MOST = 2 ** 20

function weights(text: string): PairWeights {
  const [GC, AU, GU, ...more] = wholeNumbers(0, MOST)(text)
  if (GU === undefined || more.length > 0) {
    throw new InvalidArgumentError('It must be three whole numbers, for GC, AU and GU, such as 3,2,1.')
  }
  return { GC, AU, GU }
}

function withModel(command: Command): Command {
  for (const option of placeOptions()) command.addOption(option)
  return command
    .option('--weights <GC,AU,GU>', 'what pairs are worth; 3,2,1 by default', weights)
    .option(
      '--min-loop <bases>',
      'the fewest bases between two that pair; 3 by default',
      wholeNumber(0, MOST),
    )
}

export function rnaCommand(signal: AbortSignal): Command {
  const command = newCommand('rna').requiredOption('--nussinov <s.fasta>', 'the file')
  return withModel(command)
    .option('--json', 'print one JSON value')
    .addHelpText('after', FASTA_HELP)
    .action(
      async ({
        nussinov,
        json,
        ...model
      }: Omit<FoldRequest, 'fasta'> & { nussinov: string; json?: true }) => {
        const record = await foldFile({ ...model, fasta: nussinov }, signal)
        await (json ? printJson(record) : print(describeFoldings(record)))
      },
    )
}

type Flags = Omit<InteractionRequest, 'query' | 'target'> & { json?: true }

export function bpmaxCommand(signal: AbortSignal): Command {
  const command = newCommand('bpmax')
    .argument('<QUERY>', 'a FASTA file')
    .argument('<TARGET>', 'a FASTA file; both strands from 5′ to 3′')
    .option('--window <bases>', 'only structures within so many bases of the target', wholeNumber(1, MOST))
    .option(
      '--top <n>',
      'show the best n interactions of all records; windows of a record do not overlap',
      wholeNumber(),
      1,
    )
    .option('--svg <file>', 'draw the best one into this file')
  return withModel(command)
    .option('--json', 'print one JSON value')
    .addHelpText('after', FASTA_HELP)
    .action(async (query: string, target: string, { json, ...flags }: Flags) => {
      const { record, text } = await interactFiles({ ...flags, query, target }, signal)
      await (json ? printJson(record) : print(text))
    })
}
