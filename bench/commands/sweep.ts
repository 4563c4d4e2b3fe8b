/** mpmml sweep NAME */
import { Argument, type Command, Option } from 'commander'
import { wholeNumber, wholeNumbers } from '../arguments.js'
import { newCommand } from '../commands.js'
import { libraryOption } from '../flags.js'
import { describePoints, printPoints } from '../lab/describe.js'
import { defaultSizes } from '../lab/experiments.js'
import { type KernelSweep, type KernelSweepName, kernelSweeps } from '../lab/kernel-sweeps.js'
import { runJobs } from '../lab/runner.js'

interface Flags {
  sizes?: number[]
  device: number
  repetitions?: number
  output?: string
  csvOutput?: string
  resume?: true
  json?: true
  csv?: true
}

export function sweepCommand(signal: AbortSignal): Command {
  const names = Object.keys(kernelSweeps) as KernelSweepName[]
  return newCommand('sweep')
    .addArgument(new Argument('<name>', 'which parameter is swept').choices(names))
    .option(
      '--sizes <n,…>',
      `sizes of the square matrices (${defaultSizes.join(',')}; 8192 for space; for borders of C, non-multiples of 32 up to 8100)`,
      wholeNumbers(1, 10 ** 6),
    )
    .option('--repetitions <count>', 'timed launches (by their time by default)', wholeNumber(1, 10 ** 6))
    .addOption(libraryOption('device').default(0))
    .option(
      '-o, --output <results.json>',
      'keep the results in this file after every point, beside what it has',
    )
    .option('--csv-output <results.csv>', 'write all results also as CSV')
    .option('--resume', 'leave out what the file has already')
    .addOption(new Option('--json', 'print one JSON value').conflicts('csv'))
    .option('--csv', 'print CSV')
    .addHelpText(
      'after',
      `\nSweeps:\n${names.map((name) => `  ${name.padEnd(10)} ${kernelSweeps[name].summary}`).join('\n')}`,
    )
    .action(async (name: KernelSweepName, flags: Flags) => {
      const sweep: KernelSweep = kernelSweeps[name]
      const { device, repetitions, output, csvOutput: csv, resume } = flags
      const jobs = sweep.jobs(flags.sizes ?? [...(sweep.sizes ?? defaultSizes)])
      const request = { jobs, device, repetitions, output, csv, again: !resume }
      const found = await runJobs(request, signal)
      await printPoints(found, flags, sweep.describe ?? describePoints)
    })
}
