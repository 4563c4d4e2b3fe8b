/** mpmml demo, which `npm start` runs. */

import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import type { Command } from 'commander'
import { newCommand } from '../commands.js'
import { print } from '../output.js'
import { describeProduct, multiplyFiles, type ProductRequest } from '../product.js'

const data = join(dirname(createRequire(import.meta.url).resolve('mpmml/package.json')), 'bench', 'data')

export function demoCommand(signal: AbortSignal): Command {
  return newCommand('demo').action(async () => {
    const file = (name: string) => relative(process.cwd(), join(data, name))
    const request: ProductRequest = {
      a: file('a.npy'),
      b: file('b.npy'),
      output: undefined,
      accumulate: undefined,
      verify: true,
      semiring: 'max-plus',
      overflow: 'throw',
      backend: undefined,
      device: undefined,
      variant: undefined,
    }
    const record = await multiplyFiles(request, signal)
    await print(
      'The longest chains through 160 + 256 + 192 tasks: C[i, j] is the minutes from the end of task j of the first\n' +
        'stage to the end of task i of the third, along the slowest way through the second (bench/data/README.md).\n\n' +
        describeProduct(record, request),
    )
  })
}
