/** mpmml microbench NAME */
import { Argument, type Command, Option } from 'commander'
import {
  type MicrobenchOptions,
  type MicrobenchPoint,
  machine,
  microbenchKernels,
  microbenchNames,
} from '../../lib/lab.js'
import { wholeNumber } from '../arguments.js'
import { newCommand } from '../commands.js'
import { libraryOption, parameterNames } from '../flags.js'
import { describeMicrobench, describePoints, printPoints } from '../lab/describe.js'
import { microbenchJobs } from '../lab/microbench-sweeps.js'
import { runJobs } from '../lab/runner.js'
import { printJson } from '../output.js'

interface Flags extends Omit<MicrobenchOptions, 'constant' | 'device' | 'warmup'> {
  const?: number
  device: number
  sweep?: true
  output?: string
  json?: true
  csv?: true
}

const kernels = Object.entries(microbenchKernels)
  .map(([name, { summary, tiles, depths, maxima }]) => {
    const choices = [
      `X×Y ${tiles.join(' ')}`,
      depths.length > 1 && `K ${depths.join(' ')}`,
      maxima.length > 1 && `max ${maxima.join(' ')}`,
    ]
    return `  ${name.padEnd(16)} ${summary}\n${' '.repeat(19)}${choices.filter(Boolean).join('; ')}`
  })
  .join('\n')

export function microbenchCommand(signal: AbortSignal): Command {
  const name = new Argument('<name>', 'what to run').choices(microbenchNames)
  const command = newCommand('microbench').addArgument(name)
  for (const parameter of parameterNames) command.addOption(libraryOption(parameter))
  return command
    .option('--repetitions <count>', 'timed launches', wholeNumber(1, 10 ** 6))
    .addOption(libraryOption('device').default(0))
    .addOption(
      new Option('--sweep', 'run it for every X × Y, K and thread block').conflicts(
        parameterNames.map(attributeOf),
      ),
    )
    .option('-o, --output <results.json>', 'keep the results in this file, beside what it has')
    .addOption(new Option('--json', 'print one JSON value').conflicts('csv'))
    .option('--csv', 'print CSV')
    .addHelpText('after', `\nKernels that are compiled in:\n${kernels}`)
    .action(async (chosen: string, flags: Flags) => {
      const { device, repetitions, output } = flags
      const one = {
        kind: 'microbench',
        sweep: chosen,
        name: chosen,
        parameters: parametersOf(flags),
      } as const
      const jobs = flags.sweep ? microbenchJobs(chosen) : [one]
      const found = await runJobs({ jobs, device, repetitions, output, again: true }, signal)
      if (flags.sweep) return printPoints(found, flags, describePoints)
      const single = found.points[0] as MicrobenchPoint
      if (single.failure !== undefined) throw new Error(single.failure)
      if (flags.json) return printJson({ ...single, machine: machine(device) })
      await printPoints(found, flags, () => describeMicrobench(single))
    })
}

/**
 * Returns the property name of a parameter in the parsed flags. It differs for `--const`, because `const` is
 * a reserved word.
 */
const attributeOf = (name: (typeof parameterNames)[number]) => (name === 'constant' ? 'const' : name)

function parametersOf(flags: Flags): MicrobenchPoint['parameters'] {
  const given = parameterNames.map((name) => [name, flags[attributeOf(name)]] as const)
  return Object.fromEntries(given.filter(([, value]) => value !== undefined)) as MicrobenchOptions &
    MicrobenchPoint['parameters']
}
