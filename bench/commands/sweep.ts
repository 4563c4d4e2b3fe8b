/** mpmml sweep NAME */
import { Argument, type Command, Option } from 'commander'
import { resultsCsv } from '../../lib/lab.js'
import { libraryOption, wholeNumber, wholeNumbers } from '../arguments.js'
import { newCommand } from '../commands.js'
import { describePoints } from '../lab/describe.js'
import { describeBorders } from '../lab/describe-ladder.js'
import { runJobs } from '../lab/runner.js'
import { defaultSizes, type KernelSweep, kernelSweeps } from '../lab/sweeps.js'
import { print, printJson } from '../output.js'

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
  const names = Object.keys(kernelSweeps) as KernelSweep[]
  return newCommand('sweep')
    .addArgument(new Argument('<name>', 'which parameter is swept').choices(names))
    .option(
      '--sizes <n,…>',
      `sizes of the square matrices (${defaultSizes.join(',')}; for borders of C, non-multiples of 32 up to 8100)`,
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
    .action(async (name: KernelSweep, flags: Flags) => {
      const sweep = kernelSweeps[name]
      const { results, points } = await runJobs(
        {
          jobs: sweep.jobs(flags.sizes ?? ('sizes' in sweep ? [...sweep.sizes] : defaultSizes)),
          device: flags.device,
          repetitions: flags.repetitions ?? null,
          output: flags.output ?? null,
          csv: flags.csvOutput ?? null,
          again: !flags.resume,
        },
        signal,
      )
      if (flags.json) await printJson({ ...results, points })
      else if (flags.csv) await print(resultsCsv({ ...results, points }).trimEnd())
      else await print(name === 'borders' ? describeBorders(points) : describePoints(points))
    })
}
