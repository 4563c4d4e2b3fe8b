/** mpmml bench */

import { type Command, Option } from 'commander'
import type { BackendName } from '../../lib/index.js'
import { type DataType, variants } from '../../lib/index.js'
import type { Spread } from '../../lib/lab.js'
import {
  MAX_ROWS,
  type ProductShape,
  shapes,
  someOf,
  squares,
  wholeNumber,
  wholeNumbers,
} from '../arguments.js'
import { type Bar, barsText } from '../bars.js'
import { newCommand } from '../commands.js'
import { dataTypes, typesOf } from '../dtype.js'
import { describeCircumstances } from '../environment.js'
import { type Columns, tableOf, timed } from '../experiment.js'
import { libraryOption } from '../flags.js'
import { labelled, print, printJson, rate, shapeName } from '../output.js'
import { checkOutputs } from '../output-file.js'
import { openPipes, PIPE, writeOut } from '../pipes.js'
import { benchFigure, levelsFigure } from '../report/bench-figures.js'
import { svgFile } from '../report/plot.js'
import { describeSuites } from '../suites/describe.js'
import { type SuiteName, suiteNames } from '../suites/names.js'
import { runSuites, type SuitesRecord } from '../suites/run.js'
import { type BenchRecord, type BenchRequest, runBench, type TrialRecord } from '../timing/bench.js'
import { type ChoiceRecord, type ChoiceRow, choiceShapes, runChoice } from '../timing/choice.js'
import type { Row, TrialCeiling } from '../timing/products.js'
import { type ValueKind, valueKinds } from '../timing/values.js'

interface Flags extends Omit<BenchRequest, 'shapes' | 'dtype' | 'repetitions'> {
  repetitions?: number
  dtype?: DataType
  sizes?: number[]
  shapes?: ProductShape[]
  choice?: true
  suite?: (SuiteName | 'all')[]
  plot?: boolean
  svg?: string
  json?: true
}

export function benchCommand(signal: AbortSignal): Command {
  const command = newCommand('bench')
  return command
    .addOption(
      new Option('--backend <name>', 'auto is the GPU if one can be used, else the CPU; all is both')
        .choices(['auto', 'cuda', 'webgpu', 'cpu', 'all'])
        .default('auto'),
    )
    .addOption(libraryOption('device').default(0))
    .option('--sizes <n,…>', 'square sizes', wholeNumbers(1, MAX_ROWS))
    .option('--shapes <MxKxN,…>', 'shapes: A is M × K, B is K × N; BATCHxMxKxN for a batch', shapes)
    .addOption(
      new Option('--dtype <type>', "the element type (that of the values, or the semiring's first)").choices(
        dataTypes,
      ),
    )
    .addOption(
      new Option('--semiring <name>', 'the semiring')
        .choices([...new Set(variants().map(({ semiring }) => semiring))])
        .default('max-plus'),
    )
    .option(
      '--values <kind,…>',
      `what the operands hold: ${Object.keys(valueKinds).join(', ')} (all of the type by default)`,
      someOf(Object.keys(valueKinds) as ValueKind[]),
    )
    .option(
      '--repetitions <count>',
      'timed repetitions (as many as fill a second by default)',
      wholeNumber(1, 10000),
    )
    .option('--choice', 'compare whole calls with auto with those of each backend; needs a GPU')
    .addOption(
      new Option(
        '--suite <name,…>',
        `instead, what a service meets, beside what an H200 should reach: ${suiteNames.join(', ')}, or all`,
      )
        .argParser(someOf([...suiteNames, 'all' as const]))
        .conflicts(['sizes', 'shapes', 'dtype', 'semiring', 'values', 'choice']),
    )
    .option('--plot', 'draw the speeds as bars below the tables (without --json and in a terminal: yes)')
    .option('--no-plot', 'draw no bars')
    .addOption(
      new Option(
        '--svg <speeds.svg>',
        'draw the speeds in this file, or what the suite levels finds',
      ).conflicts(['choice']),
    )
    .option('--quick', 'few sizes, and no ε; suites with smaller and fewer products')
    .option('--json', 'print one JSON value')
    .action(async (flags: Flags) => {
      const { choice, suite, svg } = flags
      if (svg !== undefined && suite && !suite.some((name) => name === 'levels' || name === 'all')) {
        command.error("error: option '--svg' draws what --suite levels finds: ask for that suite too", {
          exitCode: 2,
        })
      }
      await openPipes(command, { texts: [svg] }, flags, signal)
      await checkOutputs([svg], [])
      if (suite) return benchSuites(suite, flags, signal)
      return choice ? benchChoice(flags, signal) : benchProducts(flags, signal)
    })
}

/** Returns the requested shapes; null: the default shapes. */
const wantedShapes = ({ sizes, shapes }: Flags): ProductShape[] | null =>
  sizes || shapes ? [...squares(sizes ?? []), ...(shapes ?? [])] : null

async function benchChoice(flags: Flags, signal: AbortSignal): Promise<void> {
  const record = await runChoice(
    wantedShapes(flags) ?? choiceShapes,
    flags.values ?? [elementType(flags)],
    flags.semiring,
    flags.device,
    signal,
  )
  await (flags.json ? printJson(record) : print(describeChoice(record)))
}

async function benchProducts(flags: Flags, signal: AbortSignal): Promise<void> {
  const { backend, device, semiring, values, repetitions, quick, plot, svg, json } = flags
  const record = await runBench(
    {
      backend,
      device,
      dtype: elementType(flags),
      semiring,
      shapes: wantedShapes(flags),
      values: values ?? null,
      repetitions: repetitions ?? null,
      quick: quick === true,
    },
    signal,
  )
  if (svg !== undefined) {
    await writeOut(svg, svgFile(benchFigure(record), `Speed of ${record.semiring} on ${record.dtype}`))
  }
  const bars = plot ?? process.stdout.isTTY === true
  if (svg !== PIPE) await (json ? printJson(record) : print(describe(record, bars)))
  const failed = record.trials.flatMap(({ failures }) => failures)
  assertNone(failed.map((failure) => `${shapeName(failure)} ${failure.values}: ${failure.reason}`))
}

/**
 * Throws if there are failures, so that the exit status reports them. Called after all results are printed.
 */
function assertNone(wrong: readonly string[]): void {
  if (wrong.length > 0) throw new Error(wrong[0] + (wrong.length > 1 ? `, and ${wrong.length - 1} more` : ''))
}

async function benchSuites(
  names: (SuiteName | 'all')[],
  { backend, device, quick, repetitions, svg, json }: Flags,
  signal: AbortSignal,
): Promise<void> {
  const record = await runSuites(
    {
      suites: suiteNames.filter((name) => names.includes(name) || names.includes('all')),
      backend,
      device,
      quick: quick === true,
      repetitions: repetitions ?? null,
    },
    signal,
  )
  if (svg !== undefined) await draw(record, svg)
  if (svg !== PIPE) await (json ? printJson(record) : print(describeSuites(record)))
  assertNone(record.suites.flatMap((suite) => suite.wrong.map((message) => `${suite.name}: ${message}`)))
}

async function draw({ suites, gpu, cpu }: SuitesRecord, output: string): Promise<void> {
  const suite = suites.find(({ name }) => name === 'levels')!
  const device = suite.backend === 'cuda' ? gpu!.name : cpu.model
  const figure = levelsFigure(suite.figures)
  if (figure === undefined) return
  const title = `Max-plus products of int32 on ${device}, by the levels of both operands`
  await writeOut(output, svgFile(figure, title))
}

/** Returns the element type of a run. A run has only one, because it measures one peak rate. */
function elementType({ dtype, values, semiring }: Flags): DataType {
  const types = [...new Set((values ?? []).map((kind) => valueKinds[kind].dtype))]
  const possible = typesOf(semiring)
  const type = dtype ?? types[0] ?? possible[0]!
  const other = types.find((found) => found !== type)
  if (other !== undefined)
    throw new Error(`values of ${other} among products of ${type}: time one type at a time`)
  if (!possible.includes(type)) {
    throw new Error(`${semiring} has no ${type}: choose --dtype ${possible.join(' or ')}`)
  }
  return type
}

function describe(record: BenchRecord, bars: boolean): string {
  const webgpu = record.trials.find(({ backend }) => backend === 'webgpu')
  const head = labelled([
    ...describeCircumstances(record),
    ['WebGPU', webgpu?.device],
    ['products', `${record.semiring} on ${record.dtype}`],
    [
      'times',
      'medians, ± half the distance between the quartiles; speeds count 2 operations per step, in kernel time; ' +
        'on the CPU small products are mpmmSync calls',
    ],
  ])
  return [head, ...record.trials.map((trial) => describeTrial(trial, bars))].join('\n\n')
}

function describeTrial(trial: TrialRecord, bars: boolean): string {
  const { backend, rows } = trial
  const where = `CPU, ${trial.threads} ${trial.threads === 1 ? 'thread' : 'threads'}`
  const onTensorCores = rows.some(({ path }) => path.startsWith('exponent')) && trial.tensorGops
  const ceiling =
    (trial.ceiling ? describeCeiling(trial.ceiling) : 'no ceiling') +
    (onTensorCores ? `; that of exponents is ${rate(onTensorCores)}, tensor cores at the highest clock` : '')
  const failures = trial.failures.map(
    (failure) => `${shapeName(failure)} ${failure.values}: ${failure.reason}`,
  )
  const drawn = bars && rows.length > 0 ? ['', barsText(barsOf(trial))] : []
  const head = `${backend === 'cpu' ? where : trial.device}; ${ceiling}`
  return [head, tableOf(columnsOf(backend), rows), ...failures, ...drawn].join('\n')
}

const columnsOf = (backend: BackendName): Columns<TrialRecord['rows'][number]> => [
  ['M×K×N', shapeName],
  ['values', (row) => row.values],
  ['kernel', (row) => timed(row.kernelMs)],
  ['speed', (row) => rate(row.gops.median)],
  [
    'of ceiling',
    ({ percentOfCeiling }) => (percentOfCeiling === null ? '' : `${percentOfCeiling.toFixed(0)} %`),
  ],
  ['whole call', (row) => timed(row.callMs)],
  ...(backend === 'cuda' ? [pinned] : []),
  ['call/kernel', (row) => (row.callMs.median / row.kernelMs.median).toFixed(2)],
  ['variant', (row) => row.variant],
  ['path', (row) => row.path],
]

const pinned = ['pinned', ({ pinnedCallMs }: Row) => (pinnedCallMs ? timed(pinnedCallMs) : '')] as const

function barsOf({ rows, ceiling }: TrialRecord): Bar[] {
  const bars = rows.map((row) => ({
    label: `${shapeName(row)} ${row.values}`,
    value: row.gops.median,
    text: rate(row.gops.median),
  }))
  if (!ceiling) return bars
  return [...bars, { label: 'ceiling', value: ceiling.gops.median, text: rate(ceiling.gops.median) }]
}

const inBits = (bits: number, gops: Spread | null) => (gops ? `, in ${bits} bits ${rate(gops.median)}` : '')

function describeCeiling({ name, gops, clockMHz, halfGops, byteGops, naiveLoopGops }: TrialCeiling): string {
  return [
    `ceiling ${rate(gops.median)}${inBits(16, halfGops)}${inBits(8, byteGops)}: ${name}, only registers`,
    ...(clockMHz === null ? [] : [`at ${Math.round(clockMHz)} MHz`]),
    ...(naiveLoopGops ? [`a plain loop on one core ${rate(naiveLoopGops.median)}`] : []),
  ].join(', ')
}

const choiceColumns: Columns<ChoiceRow> = [
  ['M×K×N', shapeName],
  ['values', ({ values }) => values],
  ['auto', ({ callMs }) => timed(callMs.auto)],
  ['cuda', ({ callMs }) => timed(callMs.cuda)],
  ['cpu', ({ callMs }) => timed(callMs.cpu)],
  ['auto took', ({ taken }) => taken],
  ['auto / faster', ({ ratio }) => ratio.toFixed(2)],
]

const describeChoice = ({ device, rows }: ChoiceRecord) =>
  `${device} and the CPU; whole calls, medians\n${tableOf(choiceColumns, rows)}`
