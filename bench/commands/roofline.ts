/** mpmml roofline */

import { type Command, Option } from 'commander'
import type { DataType, Semiring } from '../../lib/index.js'
import { ceilingName, type Results, readResults, tensorPeak } from '../../lib/lab.js'
import { usage, wholeNumber } from '../arguments.js'
import { newCommand } from '../commands.js'
import { libraryOption } from '../flags.js'
import { laddered } from '../lab/calls.js'
import { addCounters, hasCounters } from '../lab/counters.js'
import { describeTables } from '../lab/describe-ladder.js'
import { rooflineDrawing, rooflineTables, rooflineTitle } from '../lab/describe-roofline.js'
import { type Algebra, algebraOf, algebraOptions, elementTypes } from '../lab/ladder.js'
import { rooflineJobs, rooflines } from '../lab/roofline.js'
import { runJobs, storePoint } from '../lab/runner.js'
import { print, printJson } from '../output.js'
import { checkOutputs } from '../output-file.js'
import { inputPath, openPipes, PIPE, shownInput, writeOut } from '../pipes.js'
import { svgFile } from '../report/plot.js'

interface Flags {
  from?: string
  output?: string
  results?: string
  semiring: Semiring
  dtype?: DataType
  size: number
  counters?: true
  again?: true
  device: number
  json?: true
}

/** Default size, large enough to load every memory level. The slowest kernel takes about a second. */
const SIZE = 4096

export function rooflineCommand(signal: AbortSignal): Command {
  const semirings = laddered.filter((semiring) =>
    elementTypes.some((dtype) => ceilingName(dtype, semiring) !== undefined),
  )
  const command = newCommand('roofline')
    .option('--from <results.json>', 'show what this file has, and measure nothing')
    .option('-o, --output <roofline.svg>', 'draw it in this file')
    .addOption(
      new Option(
        '--results <results.json>',
        'keep what is measured in this file, and reuse what it has',
      ).conflicts('from'),
    )
  for (const option of algebraOptions(semirings)) command.addOption(option)
  command
    .addOption(
      new Option('--size <n>', 'the size of the square matrices')
        .argParser(wholeNumber(64, 65536))
        .default(SIZE)
        .conflicts('from'),
    )
    .addOption(new Option('--counters', 'ask hardware counters too, by ncu').conflicts('from'))
    .addOption(new Option('--again', 'measure what the file has once more').conflicts('from'))
    .addOption(libraryOption('device').default(0))
    .option('--json', 'print one JSON value')
  return command.action(async (flags: Flags) => {
    const algebra = usage(command, () => algebraOf(flags))
    const { semiring, dtype } = algebra
    await openPipes(command, { inputs: [flags.from], holds: 'json', texts: [flags.output] }, flags, signal)
    await checkOutputs([flags.output, flags.results], flags.from === undefined ? [] : [flags.from])
    const { results, note } = await resultsFor(flags, algebra, signal)
    const found = rooflines(results.points, tensorPeak(results.machine)).filter(
      (one) =>
        one.semiring === semiring &&
        one.dtype === dtype &&
        (flags.from !== undefined || one.size === flags.size),
    )
    const [roofline] = found.sort((one, other) => other.size - one.size)
    if (!roofline) {
      throw new Error(
        flags.from === undefined
          ? `there is no roofline of ${semiring} ${dtype}, because its ceilings or all of its kernels could not be measured`
          : `${shownInput(flags.from)} has no roofline of ${semiring} ${dtype}: npx mpmml roofline --results ${flags.from === PIPE ? 'results.json' : flags.from} measures it`,
      )
    }
    const gpu = String(results.machine.gpu.name)
    if (flags.output !== undefined) {
      await writeOut(flags.output, svgFile(rooflineDrawing(roofline), rooflineTitle(roofline, gpu)))
      if (flags.output === PIPE) return
    }
    await (flags.json
      ? printJson({ gpu, ...roofline, svg: flags.output ?? null, note: note ?? null })
      : print(
          [describeTables(rooflineTables(roofline)), note, flags.output && `drawn in ${flags.output}`]
            .filter((text) => text)
            .join('\n\n'),
        ))
  })
}

async function resultsFor(
  flags: Flags,
  algebra: Algebra,
  signal: AbortSignal,
): Promise<{ results: Results; note?: string | undefined }> {
  if (flags.from !== undefined) return { results: await readResults(inputPath(flags.from)) }
  const { device, results: output, again = output === undefined } = flags
  const request = { jobs: rooflineJobs(algebra, flags.size), device, output, again }
  const { results, points } = await runJobs(request, signal)
  if (!flags.counters) return { results }
  const note = await addCounters(points, flags.device, signal)
  // The points were stored before their counters were read, so they are stored again.
  if (flags.results !== undefined) {
    for (const point of points) if (hasCounters(point)) await storePoint(flags.results, results, point)
  }
  return { results, note }
}
