/** mpmml microbench NAME */
import { Argument, type Command, Option } from 'commander'
import {
  type MicrobenchOptions,
  type MicrobenchPoint,
  machine,
  microbenches,
  resultsCsv,
} from '../../lib/lab.js'
import { libraryOption, wholeNumber } from '../arguments.js'
import { newCommand } from '../commands.js'
import { describeMicrobench, describePoints } from '../lab/describe.js'
import { runJobs } from '../lab/runner.js'
import { microbenchJobs } from '../lab/sweeps.js'
import { print, printJson } from '../output.js'

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
      const { results, points } = await runJobs(
        {
          jobs: flags.sweep
            ? microbenchJobs(chosen)
            : [{ kind: 'microbench', sweep: chosen, name: chosen, parameters: parametersOf(flags) }],
          device: flags.device,
          repetitions: flags.repetitions ?? null,
          output: flags.output ?? null,
          csv: null,
          again: true,
        },
        signal,
      )
      const single = flags.sweep ? undefined : (points[0] as MicrobenchPoint)
      if (single?.failure !== undefined) throw new Error(single.failure)
      if (flags.json)
        await printJson(single ? { ...single, machine: machine(flags.device) } : { ...results, points })
      else if (flags.csv) await print(resultsCsv({ ...results, points }).trimEnd())
      else await print(single ? describeMicrobench(single) : describePoints(points))
    })
}

function parametersOf(flags: Flags): MicrobenchPoint['parameters'] {
  const given = parameterNames.filter((name) => flags[name] !== undefined).map((name) => [name, flags[name]])
  const constant = flags.const === undefined ? [] : [['constant', flags.const]]
  return Object.fromEntries([...given, ...constant]) as MicrobenchOptions & MicrobenchPoint['parameters']
}
