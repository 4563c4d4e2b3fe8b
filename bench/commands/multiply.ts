/** mpmml multiply A B -o C */
import { type Command, Option } from 'commander'
import { devices, productOptions } from '../arguments.js'
import { newCommand } from '../commands.js'
import { dataTypes } from '../dtype.js'
import { MATRIX_HELP } from '../matrix-file.js'
import { print, printJson } from '../output.js'
import { describeProduct, multiplyFiles, type ProductRequest } from '../product.js'

type Flags = Omit<ProductRequest, 'a' | 'b' | 'verify'> & { verify?: true; json?: true }

export function multiplyCommand(signal: AbortSignal): Command {
  const command = newCommand('multiply')
    .argument('<A>', 'M × K, or batch × M × K')
    .argument('<B>', 'K × N, or batch × K × N')
    .option('-o, --output <C>', 'write the product to this file (without it only a summary is printed)')
  for (const option of productOptions()) command.addOption(option)
  command.addOption(
    new Option('--devices <list>', "CUDA devices that compute it together: 'all', or 0,1,…")
      .argParser(devices)
      .conflicts('device'),
  )
  return command
    .option('--accumulate <C0>', 'compute C0 ⊕ A⊗B')
    .addOption(new Option('--dtype <type>', 'read the files as this element type').choices(dataTypes))
    .option('--verify', 'compare every element with the naive product')
    .option('--json', 'print one JSON value')
    .addHelpText('after', MATRIX_HELP)
    .action(async (a: string, b: string, { json, ...flags }: Flags) => {
      const request = { ...flags, a, b, verify: flags.verify === true }
      const record = await multiplyFiles(request, signal)
      await (json ? printJson(record) : print(describeProduct(record, request)))
    })
}
