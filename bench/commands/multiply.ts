/** mpmml multiply A B -o C */
import { type Command, Option } from 'commander'
import { devicesOption, productOptions } from '../arguments.js'
import { inMemory } from '../arrays.js'
import { newCommand } from '../commands.js'
import { dataTypes } from '../dtype.js'
import { MATRIX_HELP } from '../matrix-file.js'
import { print, printJson } from '../output.js'
import { describeProduct, multiplyFiles, type ProductRequest } from '../product.js'
import { BLOCKS_HELP, type BlocksFlags, blocksOptions, doneByBlocks } from '../queue.js'

type Flags = Omit<ProductRequest, 'a' | 'b' | 'verify'> & BlocksFlags & { verify?: true; json?: true }

export function multiplyCommand(signal: AbortSignal): Command {
  const command = newCommand('multiply')
    .argument('<A>', 'M × K, or batch × M × K')
    .argument('<B>', 'K × N, or batch × K × N')
    .option('-o, --output <C>', 'write the product to this file (without it only a summary is printed)')
  const options = [...productOptions(), devicesOption(), ...blocksOptions()]
  for (const option of options) command.addOption(option)
  return command
    .option('--accumulate <C0>', 'compute C0 ⊕ A⊗B')
    .addOption(new Option('--dtype <type>', 'read the files as this element type').choices(dataTypes))
    .option('--verify', 'compare every element with the naive product')
    .option('--json', 'print one JSON value')
    .addHelpText('after', MATRIX_HELP + BLOCKS_HELP)
    .action(async (a: string, b: string, { json, ...flags }: Flags) => {
      const refused = ['devices', 'variant', 'accumulate', 'dtype', 'verify']
      if (await doneByBlocks(command, 'multiply', [a, b], flags, refused, json === true, signal)) return
      const request = { ...flags, a, b, verify: flags.verify === true }
      const record = await inMemory(() => multiplyFiles(request, signal))
      await (json ? printJson(record) : print(describeProduct(record, request)))
    })
}
