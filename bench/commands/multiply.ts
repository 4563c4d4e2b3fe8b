/** mpmml multiply A B -o C */
import { type Command, Option } from 'commander'
import type { Semiring } from '../../lib/index.js'
import { devicesOption, productOptions } from '../arguments.js'
import { inMemory } from '../arrays.js'
import { newCommand } from '../commands.js'
import { csvOptions } from '../csv-kind.js'
import { isOwn, orFile } from '../custom-semiring.js'
import { dataTypes } from '../dtype.js'
import { MATRIX_HELP } from '../matrix-file.js'
import { print, printJson } from '../output.js'
import { formatOptions, openPipes, PIPE, PIPE_HELP, type PipeFlags } from '../pipes.js'
import { describeProduct, multiplyFiles, type ProductRequest } from '../product.js'
import { BLOCKS_HELP, type BlocksFlags, blocksOptions, doneByBlocks } from '../queue.js'

type Flags = Omit<ProductRequest, 'a' | 'b' | 'verify'> &
  BlocksFlags &
  PipeFlags & { verify?: true; json?: true }

/** Reports wrong usage if an option was given that products over a semiring from a file don't have. */
function assertForOwn(command: Command, flags: Flags): void {
  for (const name of ['variant', 'overflow', 'dtype', 'verify', 'all', 'edges', 'matrix'] as const) {
    if (flags[name] === undefined) continue
    command.error(`error: --${name} is for the semirings of the library, not for one from a file`)
  }
}

export function multiplyCommand(signal: AbortSignal): Command {
  const command = newCommand('multiply')
    .argument('<A>', 'M × K, or batch × M × K')
    .argument('<B>', 'K × N, or batch × K × N')
    .option('-o, --output <C>', 'write the product to this file (without it a small product is printed)')
    .option('--all', 'print the product, however large')
  const options = [
    ...productOptions(),
    devicesOption(),
    ...csvOptions(),
    ...blocksOptions(),
    ...formatOptions(),
  ]
  for (const option of options) command.addOption(option.long === '--semiring' ? orFile(option) : option)
  return command
    .option('--accumulate <C0>', 'compute C0 ⊕ A⊗B')
    .addOption(new Option('--dtype <type>', 'read the files as this element type').choices(dataTypes))
    .option('--verify', 'compare every element with the naive product')
    .option('--json', 'print one JSON value')
    .addHelpText('after', MATRIX_HELP + PIPE_HELP + BLOCKS_HELP)
    .action(async (a: string, b: string, { json, ...flags }: Flags) => {
      const refused = [
        'devices',
        'variant',
        'accumulate',
        'dtype',
        'verify',
        'format',
        'all',
        'edges',
        'matrix',
      ]
      const blocks = { ...flags, semiring: flags.semiring as Semiring }
      if (await doneByBlocks(command, 'multiply', [a, b], blocks, refused, json === true, signal)) return
      const { output } = flags
      if (isOwn(flags.semiring)) assertForOwn(command, flags)
      const pipes = { inputs: [a, b, flags.accumulate], outputs: [output] }
      await openPipes(command, pipes, { ...flags, json }, signal)
      const request = { ...flags, a, b, verify: flags.verify === true }
      const record = await inMemory(() => multiplyFiles(request, signal))
      if (output === PIPE) return
      await (json ? printJson(record) : print(describeProduct(record, request)))
    })
}
