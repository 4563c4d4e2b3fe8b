/** mpmml multiply A.npy B.npy -o C.npy */
import { Command, InvalidArgumentError, Option } from 'commander'
import { variants } from '../../lib/index.js'
import { print, printJson } from '../output.js'
import { describeProduct, multiplyFiles, type ProductRequest } from '../product.js'

type Flags = Omit<ProductRequest, 'a' | 'b' | 'verify'> & { verify?: true; json?: true }

export function multiplyCommand(signal: AbortSignal): Command {
  const semirings = [...new Set(variants().map(({ semiring }) => semiring))]
  return new Command('multiply')
    .description('multiply two matrices, or batches of them, from .npy files')
    .argument('<A.npy>', 'M × K, or batch × M × K')
    .argument('<B.npy>', 'K × N, or batch × K × N')
    .option('-o, --output <C.npy>', 'write the product to this file (without it only a summary is printed)')
    .addOption(new Option('--semiring <name>', 'the semiring').choices(semirings).default('max-plus'))
    .addOption(new Option('--backend <name>', 'where to compute').choices(['auto', 'cuda', 'cpu']))
    .option('--device <index>', 'the CUDA device, from 0', deviceIndex)
    .option('--variant <name>', 'a kernel variant, from mpmml variants')
    .addOption(
      new Option('--overflow <policy>', 'what a sum outside the finite int32 range does')
        .choices(['throw', 'saturate', 'wrap'])
        .default('throw'),
    )
    .option('--accumulate <C0.npy>', 'compute C0 ⊕ A⊗B')
    .option('--verify', 'compare every element with the naive product')
    .option('--json', 'print one JSON value')
    .action(async (a: string, b: string, { json, ...flags }: Flags) => {
      const request = { ...flags, a, b, verify: flags.verify === true }
      const record = await multiplyFiles(request, signal)
      await (json ? printJson(record) : print(describeProduct(record, request)))
    })
}

function deviceIndex(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('A device is a whole number from 0.')
  return Number(text)
}
