/** mpmml occupancy VARIANT */
import type { Command } from 'commander'
import type { VariantName } from '../../lib/index.js'
import {
  type MicrobenchOptions,
  microbenchCommandOptions,
  microbenchNames,
  microbenchOccupancy,
  occupancy,
} from '../../lib/lab.js'
import { libraryOption, optionOf } from '../arguments.js'
import { newCommand } from '../commands.js'
import { describeOccupancy } from '../lab/describe.js'
import { print, printJson } from '../output.js'

/** The parameters that the occupancy of a microbenchmark depends on. */
const parameterNames = ['x', 'y', 'k', 'max', 'm', 'bsi', 'bsj'] as const

interface Flags extends Pick<MicrobenchOptions, (typeof parameterNames)[number]> {
  device: number
  json?: true
}

export function occupancyCommand(): Command {
  const command = newCommand('occupancy')
    .argument('<kernel>', 'a CUDA variant, from mpmml variants, or a microbenchmark')
    .addOption(libraryOption('device').default(0))
  for (const name of parameterNames) {
    command.addOption(optionOf(microbenchCommandOptions[name], 'of a microbenchmark'))
  }
  return command
    .option('--json', 'print one JSON value')
    .action(async (kernel: string, { json, device, ...parameters }: Flags) => {
      const given = Object.keys(parameters)
      const isMicrobench = microbenchNames.includes(kernel)
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
