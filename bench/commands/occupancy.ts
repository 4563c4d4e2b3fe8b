/** mpmml occupancy VARIANT */
import { type Command, Option } from 'commander'
import type { VariantName } from '../../lib/index.js'
import { microbenches, microbenchOccupancy, occupancy } from '../../lib/lab.js'
import { libraryOption, wholeNumber } from '../arguments.js'
import { newCommand } from '../commands.js'
import { describeOccupancy } from '../lab/describe.js'
import { print, printJson } from '../output.js'

interface Flags {
  device: number
  x?: number
  y?: number
  k?: number
  max?: 'ternary' | 'intrinsic'
  m?: number
  bsi?: number
  bsj?: number
  json?: true
}

export function occupancyCommand(): Command {
  return newCommand('occupancy')
    .argument('<kernel>', 'a CUDA variant, from mpmml variants, or a microbenchmark')
    .addOption(libraryOption('device').default(0))
    .option('--x <X>', 'of a microbenchmark', wholeNumber())
    .option('--y <Y>', 'of a microbenchmark', wholeNumber())
    .option('--k <K>', 'of a microbenchmark', wholeNumber())
    .addOption(new Option('--max <form>', 'of a microbenchmark').choices(['ternary', 'intrinsic']))
    .option('--m <M>', 'of a microbenchmark', wholeNumber(1, 2 ** 20))
    .option('--bsi <BS_i>', 'of a microbenchmark', wholeNumber(1, 1024))
    .option('--bsj <BS_j>', 'of a microbenchmark', wholeNumber(1, 1024))
    .option('--json', 'print one JSON value')
    .action(async (kernel: string, { json, device, ...parameters }: Flags) => {
      const given = Object.keys(parameters)
      const known = microbenches()
      // A build without the laboratory knows none of them; then parameters say that one is meant.
      const isMicrobench = known.length === 0 ? given.length > 0 : known.some(({ name }) => name === kernel)
      if (!isMicrobench && given.length > 0) {
        throw new Error(`${kernel} is no microbenchmark, so --${given[0]} means nothing for it`)
      }
      const result = isMicrobench
        ? await microbenchOccupancy(kernel, { ...parameters, device })
        : await occupancy(kernel as VariantName, { device })
      await (json
        ? printJson({ kernel, ...parameters, ...result })
        : print(describeOccupancy(kernel, result)))
    })
}
