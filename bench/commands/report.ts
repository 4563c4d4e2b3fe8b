/** mpmml report */

import { basename, extname } from 'node:path'
import { type Command, Option } from 'commander'
import { type Results, readResults } from '../../lib/lab.js'
import { wholeNumbers } from '../arguments.js'
import { newCommand } from '../commands.js'
import { libraryOption } from '../flags.js'
import { defaultSizes, reportJobs } from '../lab/experiments.js'
import { runJobs } from '../lab/runner.js'
import { labelled, print, printJson } from '../output.js'
import { checkOutputs } from '../output-file.js'
import { inputPath, openPipes, PIPE, shownInput, writeOut } from '../pipes.js'
import { verdictCounts } from '../report/claims.js'
import { reportPage } from '../report/page.js'
import { exhibits } from '../report/thesis.js'

interface Flags {
  from?: string
  output: string
  results?: string
  sizes: number[]
  only?: string
  again?: true
  device: number
  json?: true
}

const PAGE = 'report.html'

/** Exhibits by their command-line names, such as "figure-4.1". */
const exhibitFlags = new Map(exhibits.map((name) => [name.toLowerCase().replace(' ', '-'), name]))
const exhibitOf = ({ only }: Flags) => exhibitFlags.get(only ?? '')

export function reportCommand(signal: AbortSignal): Command {
  const command = newCommand('report')
  return command
    .option('--from <results.json>', 'show what this file has, and measure nothing')
    .option('-o, --output <report.html>', 'the page', PAGE)
    .addOption(
      new Option(
        '--results <results.json>',
        'keep what is measured in this file, and reuse what it has (the name of the page with .json by default)',
      ).conflicts('from'),
    )
    .addOption(
      new Option('--sizes <n,…>', 'sizes of the square matrices')
        .argParser(wholeNumbers(1, 10 ** 6))
        .default(defaultSizes)
        .conflicts('from'),
    )
    .addOption(
      new Option('--only <exhibit>', 'measure and show one table or figure of the thesis').choices([
        ...exhibitFlags.keys(),
      ]),
    )
    .addOption(new Option('--again', 'measure what the file has once more').conflicts('from'))
    .addOption(libraryOption('device').default(0))
    .option('--json', 'print one JSON value')
    .action(async ({ json, ...flags }: Flags) => {
      const pipes = { inputs: [flags.from], holds: 'json', texts: [flags.output] }
      await openPipes(command, pipes, { json }, signal)
      const { results, source } = await resultsFor(flags, signal)
      const { page, claims } = reportPage(results, exhibitOf(flags))
      await writeOut(flags.output, page)
      if (flags.output === PIPE) return
      const ofThesis = claims.filter(({ source }) => source === undefined)
      await (json
        ? printJson({ page: flags.output, results: source, gpu: results.machine.gpu.name, claims })
        : print(
            labelled([
              ['page', flags.output],
              ['results', `${shownInput(source)}: ${results.points.length} points`],
              ['GPU', String(results.machine.gpu.name)],
              ['thesis', `${ofThesis.length} statements: this GPU ${verdictCounts(ofThesis)}`],
            ]),
          ))
    })
}

async function resultsFor(flags: Flags, signal: AbortSignal): Promise<{ results: Results; source: string }> {
  const { from, output } = flags
  if (from !== undefined) {
    await checkOutputs([output], [from])
    return { results: await readResults(inputPath(from)), source: from }
  }
  const page = output === PIPE ? PAGE : output
  const extension = extname(basename(page))
  const source = flags.results ?? `${extension ? page.slice(0, -extension.length) : page}.json`
  await checkOutputs([output, source], [])
  const { device, again = false } = flags
  const request = { jobs: reportJobs(flags.sizes, exhibitOf(flags)), device, output: source, again }
  const { results } = await runJobs(request, signal)
  return { results, source }
}
