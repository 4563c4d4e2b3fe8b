/** mpmml microbench NAME */
import { Argument, type Command, Option } from 'commander'
import { type MicrobenchOptions, type MicrobenchPoint, machine, microbenches } from '../../lib/lab.js'
import { libraryOption, wholeNumber } from '../arguments.js'
import { newCommand } from '../commands.js'
import { describeMicrobench, describePoints, printPoints } from '../lab/describe.js'
import { microbenchJobs } from '../lab/microbench-sweeps.js'
import { runJobs } from '../lab/runner.js'
import { printJson } from '../output.js'

interface Flags {
  x?: number
  y?: number
  k?: number
  max?: 'ternary' | 'intrinsic'
  m?: number
  bsi?: number
  bsj?: number
  gsi?: number
  gsj?: number
  n?: number
  const?: number
  device: number
  repetitions?: number
  sweep?: true
  output?: string
  json?: true
  csv?: true
}

const parameterNames = ['x', 'y', 'k', 'max', 'm', 'bsi', 'bsj', 'gsi', 'gsj', 'n'] as const

export function microbenchCommand(signal: AbortSignal): Command {
  const names = microbenches().map(({ name }) => name)
  const name = new Argument(
    '<name>',
    names.length > 0 ? 'what to run' : 'reg-reg, shared-one, shared-both, …',
  )
  if (names.length > 0) name.choices(names)
  return newCommand('microbench')
    .addArgument(name)
    .option('--x <X>', 'rows of steps of a thread and iteration (compiled in)', wholeNumber())
    .option('--y <Y>', 'columns of them (compiled in)', wholeNumber())
    .option('--k <K>', 'iterations between two reads of shared memory (compiled in)', wholeNumber())
    .addOption(new Option('--max <form>', 'how the maximum is written').choices(['ternary', 'intrinsic']))
    .option('--m <M>', 'columns of the operand in shared memory', wholeNumber(1, 2 ** 20))
    .option('--bsi <BS_i>', 'rows of threads of a block', wholeNumber(1, 1024))
    .option('--bsj <BS_j>', 'columns of threads of a block', wholeNumber(1, 1024))
    .option('--gsi <GS_i>', 'rows of blocks of the grid', wholeNumber(1, 65535))
    .option('--gsj <GS_j>', 'columns of blocks of the grid', wholeNumber(1, 2 ** 20))
    .option('--n <N>', 'iterations of the outermost loop', wholeNumber(1, 2 ** 30))
    .option('--const <Const>', "Const of the thesis' listings", wholeNumber(-(2 ** 31)))
    .option('--repetitions <count>', 'timed launches', wholeNumber(1, 10 ** 6))
    .addOption(libraryOption('device').default(0))
    .addOption(
      new Option('--sweep', 'run it for every X × Y, K and thread block').conflicts([
        ...parameterNames,
        'const',
      ]),
    )
    .option('-o, --output <results.json>', 'keep the results in this file, beside what it has')
    .addOption(new Option('--json', 'print one JSON value').conflicts('csv'))
    .option('--csv', 'print CSV')
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

function parametersOf(flags: Flags): MicrobenchPoint['parameters'] {
  const given = parameterNames.filter((name) => flags[name] !== undefined).map((name) => [name, flags[name]])
  const constant = flags.const === undefined ? [] : [['constant', flags.const]]
  return Object.fromEntries([...given, ...constant]) as MicrobenchOptions & MicrobenchPoint['parameters']
}
