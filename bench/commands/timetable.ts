/** mpmml timetable GRAPH */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { readGraph } from '../../lib/graph.js'
import { type DelayResult, delay, drawDelay, type RecoveryTimes, recoveryTimes } from '../../lib/schedule.js'
import { positive } from '../arguments.js'
import { newCommand } from '../commands.js'
import { chainText } from '../graph.js'
import { exact, labelled, print, printJson, table, withStatus } from '../output.js'
import { checkOutputs } from '../output-file.js'
import { inputPath, openPipes, PIPE, shownInput, shownOutput, writeOut } from '../pipes.js'

interface Flags {
  period: number
  delay: { at: string; by: number }
  rounds?: number
  weight?: string
  recovery?: true
  svg?: string
  json?: true
}

/** Parses a delay such as "AB=10". */
function readDelay(text: string): Flags['delay'] {
  const [, at, by] = /^(.+)=([^=]+)$/.exec(text) ?? []
  if (at === undefined) throw new InvalidArgumentError('It must be DEPARTURE=TIME, such as AB=10.')
  return { at, by: positive(by!) }
}

export function timetableCommand(signal: AbortSignal): Command {
  const command = newCommand('timetable')
  return command
    .argument(
      '<GRAPH>',
      'connections of departures: a .csv file with the columns from, to, minutes and tokens',
    )
    .addOption(
      new Option('--period <time>', 'time between two rounds').argParser(positive).makeOptionMandatory(),
    )
    .addOption(
      new Option('--delay <departure=time>', 'departure that is late in round 0')
        .argParser(readDelay)
        .makeOptionMandatory(),
    )
    .addOption(new Option('--rounds <count>', 'most rounds; 1000 by default').argParser(positive))
    .option('--weight <name>', 'column of the .csv that has the times')
    .option('--recovery', 'print the recovery times between all departures')
    .option('--svg <file>', 'draw the delays of each round')
    .option('--json', 'print one JSON value')
    .addHelpText(
      'after',
      `
Each line of the .csv is a departure that waits, the one that it waits for, the least time between both, and the rounds between them (tokens).`,
    )
    .action(async (path: string, flags: Flags) => {
      await openPipes(
        command,
        { inputs: [path], holds: 'csv', texts: [flags.svg] },
        { json: flags.json },
        signal,
      )
      await checkOutputs([flags.svg], [path])
      const edges = await withStatus(`reading ${shownInput(path)}`, () =>
        readGraph(inputPath(path), { format: 'csv', keys: true, tokens: true, weight: flags.weight, signal }),
      )
      const { period, rounds } = flags
      const found = await delay(edges, { period, rounds, ...flags.delay, signal })
      if (flags.svg !== undefined) await writeOut(flags.svg, drawDelay(found))
      const recovery = flags.recovery && rowsOf(await recoveryTimes(edges, { period, signal }))
      if (flags.json) await printJson({ ...found, recovery })
      else if (flags.svg !== PIPE) await print(describe(found, recovery, path, flags))
    })
}

/** Returns the rows of recovery times; null replaces Infinity, which JSON lacks. */
const rowsOf = ({ data, shape: [rows, cols] }: RecoveryTimes) =>
  Array.from({ length: rows }, (_, row) =>
    Array.from(data.subarray(row * cols, (row + 1) * cols), (time) => (time === Infinity ? null : time)),
  )

type Recovery = ReturnType<typeof rowsOf> | undefined

function describe(
  found: DelayResult,
  recovery: Recovery,
  path: string,
  { period, delay: { at, by }, svg }: Flags,
): string {
  const { leastPeriod, criticalCircuit, margin, stabilityMargin, late, goneBy, connections } = found
  const names = (list: readonly unknown[]) => chainText(list.map((each) => `${each}`))
  const head = labelled([
    [
      'timetable',
      `${found.departures.length} departures, ${connections.length} connections  ${shownInput(path)}`,
    ],
    [
      'period',
      `${exact(period)}${leastPeriod === null ? '' : `; at least ${exact(leastPeriod)}, so ${exact(margin!)} to spare`}`,
    ],
    [
      'stable',
      stabilityMargin === null
        ? undefined
        : `if each connection takes at most ${exact(stabilityMargin)} longer`,
    ],
    ['critical', names([...criticalCircuit, ...criticalCircuit.slice(0, 1)])],
    ['delay', `${at} by ${exact(by)}; ${goneBy === null ? 'it stays' : `gone by round ${goneBy}`}`],
    ['drawing', svg && shownOutput(svg)],
  ])
  const slack = connections.map(({ departure, waitsFor, tokens, slack }) => [
    `${departure}`,
    `${waitsFor}`,
    `${tokens}`,
    exact(slack),
  ])
  const rows = late.map(({ round, departure, delay, because }) => [
    `${round}`,
    `${departure}`,
    exact(delay),
    `${because ?? ''}`,
  ])
  const departures = found.departures.map(({ departure }) => `${departure}`)
  const matrix = recovery?.map((row, at) => [
    departures[at]!,
    ...row.map((time) => (time === null ? '' : exact(time))),
  ])
  return [
    head,
    table([['departure', 'waits for', 'tokens', 'slack'], ...slack]),
    table([['round', 'late', 'by', 'because of'], ...rows]),
    ...(matrix ? [table([['recovery', ...departures], ...matrix])] : []),
  ].join('\n\n')
}
