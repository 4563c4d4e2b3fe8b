/** mpmml rna --nussinov FASTA, and mpmml bpmax QUERY TARGET */
import type { Command } from 'commander'
import { placeOptions } from '../arguments.js'
import { newCommand } from '../commands.js'
import { libraryOption } from '../flags.js'
import { print, printJson } from '../output.js'
import { openPipes } from '../pipes.js'
import {
  describeFoldings,
  type FoldRequest,
  foldFile,
  type InteractionRequest,
  interactFiles,
} from '../rna.js'

const FASTA_HELP = `
FASTA files may have several records, lower case, and T for U. The name - is standard input.`

function withModel(command: Command): Command {
  const model = [libraryOption('weights'), libraryOption('minLoop')]
  for (const option of [...placeOptions(), ...model]) command.addOption(option)
  return command
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
        await openPipes(command, { inputs: [nussinov], holds: 'fasta' }, {}, signal)
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
    .addOption(libraryOption('window'))
    .addOption(libraryOption('top').default(1))
  return withModel(command)
    .option('--json', 'print one JSON value')
    .addHelpText('after', FASTA_HELP)
    .action(async (query: string, target: string, { json, ...flags }: Flags) => {
      await openPipes(command, { inputs: [query, target], holds: 'fasta' }, { json }, signal)
      const { record, text } = await interactFiles({ ...flags, query, target }, signal)
      await (json ? printJson(record) : print(text))
    })
}
