/** mpmml multiply A.npy B.npy -o C.npy */
import { Command } from 'commander'
import { productOptions } from '../arguments.js'
import { print, printJson } from '../output.js'
import { describeProduct, multiplyFiles, type ProductRequest } from '../product.js'

type Flags = Omit<ProductRequest, 'a' | 'b' | 'verify'> & { verify?: true; json?: true }

export function multiplyCommand(signal: AbortSignal): Command {
  const command = new Command('multiply')
    .description('multiply two matrices, or batches of them, from .npy files')
    .argument('<A.npy>', 'M × K, or batch × M × K')
    .argument('<B.npy>', 'K × N, or batch × K × N')
    .option('-o, --output <C.npy>', 'write the product to this file (without it only a summary is printed)')
  for (const option of productOptions()) command.addOption(option)
  return command
    .option('--accumulate <C0.npy>', 'compute C0 ⊕ A⊗B')
    .option('--verify', 'compare every element with the naive product')
    .option('--json', 'print one JSON value')
    .action(async (a: string, b: string, { json, ...flags }: Flags) => {
      const request = { ...flags, a, b, verify: flags.verify === true }
      const record = await multiplyFiles(request, signal)
      await (json ? printJson(record) : print(describeProduct(record, request)))
    })
}
