/** mpmml occupancy VARIANT, or --registers */
import { type Command, Option } from 'commander'
import type { VariantName } from '../../lib/index.js'
import {
  calculateOccupancy,
  calculatorGpus,
  type MicrobenchOptions,
  microbenchNames,
  microbenchOccupancy,
  occupancy,
} from '../../lib/lab.js'
import { wholeNumber, wholeNumbers } from '../arguments.js'
import { newCommand } from '../commands.js'
import { libraryOption } from '../flags.js'
import { describeCalculated, describeOccupancy } from '../lab/describe.js'
import { print, printJson } from '../output.js'

/** Parameters that determine the occupancy of a microbenchmark. */
const parameterNames = ['x', 'y', 'k', 'max', 'm', 'bsi', 'bsj'] as const

interface Flags extends Pick<MicrobenchOptions, (typeof parameterNames)[number]> {
  registers?: number[]
  threads?: number
  shared?: number
  gpu?: string
  device: number
  json?: true
}

export function occupancyCommand(): Command {
  const command = newCommand('occupancy')
    .argument('[kernel]', 'a CUDA variant, from mpmml variants, or a microbenchmark; needs a GPU')
    .addOption(libraryOption('device').default(0))
  for (const name of parameterNames) {
    command.addOption(libraryOption(name, 'of a microbenchmark'))
  }
  return command
    .addOption(
      new Option(
        '--registers <count,…>',
        'instead of a kernel, its registers per thread: calculates, without a GPU',
      )
        .argParser(wholeNumbers(1, 255))
        .conflicts(['device', ...parameterNames]),
    )
    .option('--threads <count>', 'with --registers: threads per block', wholeNumber(1, 1024))
    .option(
      '--shared <bytes>',
      'with --registers: bytes of shared memory per block (0)',
      wholeNumber(0, 2 ** 30),
    )
    .addOption(
      new Option('--gpu <architecture>', 'with --registers: the architecture').choices(calculatorGpus),
    )
    .option('--json', 'print one JSON value')
    .addHelpText(
      'after',
      "\nThe thesis' Table 2.1: mpmml occupancy --registers 32,40 --threads 1024 --gpu sm_52",
    )
    .action(async (kernel: string | undefined, flags: Flags) => {
      const { json, device, registers, threads, shared, gpu, ...parameters } = flags
      const wrong = (message: string) => command.error(`error: ${message}`, { exitCode: 2 })
      if (registers !== undefined) {
        if (kernel !== undefined) wrong(`--registers stands in place of a kernel, but there is ${kernel}`)
        if (threads === undefined || gpu === undefined) return wrong('--registers needs --threads and --gpu')
        const all = registers.map((count) => calculateOccupancy({ registers: count, threads, shared, gpu }))
        return json ? printJson(all.length === 1 ? all[0] : all) : print(describeCalculated(all))
      }
      if (kernel === undefined) return wrong("missing required argument 'kernel', or --registers")
      const calculated = Object.entries({ threads, shared, gpu }).find(([, value]) => value !== undefined)
      if (calculated) wrong(`--${calculated[0]} is for --registers, not for a kernel`)
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
