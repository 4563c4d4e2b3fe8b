/** mpmml plan A B */
import { type Command, Option } from 'commander'
import {
  type Matrix,
  type MpmmOptions,
  type OperandArray,
  type Plan,
  plan,
  type Semiring,
} from '../../lib/index.js'
import {
  devicesOption,
  type ProductShape,
  positive,
  productOptions,
  shapes,
  wholeNumber,
} from '../arguments.js'
import { newCommand } from '../commands.js'
import { type CsvFlags, csvOptions } from '../csv-kind.js'
import { hasSums, typesOf } from '../dtype.js'
import { MATRIX_HELP, readOperands } from '../matrix-file.js'
import { duration, labelled, print, printJson, shapeName, shapeText, table, withStatus } from '../output.js'
import { formatOption, openPipes, PIPE_HELP, type PipeFlags } from '../pipes.js'
import {
  type ClusterEstimate,
  type Estimate,
  estimateHost,
  estimateHosts,
  type Machine,
  machine,
} from '../scaling.js'
import { operandsOf, type ValueKind, valueKinds } from '../timing/values.js'

/** Limit of GPUs per host, above what hosts have. */
const MAX_GPUS = 64
const MAX_HOSTS = 4096

type Flags = Pick<MpmmOptions, 'semiring' | 'backend' | 'device' | 'devices' | 'variant' | 'overflow'> & {
  shapes?: ProductShape[]
  values?: ValueKind
  gpus?: number
  hosts?: number
  storage?: number
  json?: true
} & PipeFlags &
  CsvFlags

/** Options that need another one. */
const needed = [
  ['values', 'shapes'],
  ['gpus', 'shapes'],
  ['hosts', 'gpus'],
  ['storage', 'hosts'],
] as const

/** Output of `plan --gpus --json`: one record per product. */
interface ScalingRecord {
  shape: ProductShape
  host: Estimate[]
  hosts: ClusterEstimate[]
}

/** Output of `plan --json`: one record per product. */
interface PlanRecord extends Omit<Plan, 'arithmetic'> {
  /** Name of the arithmetic of the sums. */
  path: string
  a: readonly number[]
  b: readonly number[]
}

export function planCommand(signal: AbortSignal): Command {
  const command = newCommand('plan')
    .argument('[A]', 'M × K, or batch × M × K')
    .argument('[B]', 'K × N, or batch × K × N')
    .option('--shapes <MxKxN,…>', 'instead of files: random matrices of these shapes', shapes)
    .addOption(
      new Option(
        '--values <kind>',
        'what random matrices hold (the first element type of the semiring by default)',
      ).choices(Object.keys(valueKinds)),
    )
    .addOption(
      new Option(
        '--gpus <count>',
        'instead of a plan: how long products of these shapes take on up to so many H200s of a host (estimated)',
      ).argParser(wholeNumber(1, MAX_GPUS)),
    )
    .addOption(
      new Option('--hosts <count>', 'with --gpus: and on up to so many such hosts').argParser(
        wholeNumber(1, MAX_HOSTS),
      ),
    )
    .addOption(
      new Option(
        '--storage <GB/s>',
        'with --hosts: the bandwidth of what they all read from (2.5 by default)',
      ).argParser(positive),
    )
  for (const option of [...productOptions(), devicesOption(), ...csvOptions(), formatOption()])
    command.addOption(option)
  return command
    .option('--json', 'print one JSON value')
    .addHelpText('after', MATRIX_HELP + PIPE_HELP)
    .action(async (aPath: string | undefined, bPath: string | undefined, flags: Flags) => {
      const {
        shapes: requested,
        values,
        json,
        gpus,
        hosts,
        storage,
        format,
        edges,
        matrix,
        ...options
      } = flags
      for (const [name, other] of needed) {
        if (flags[name] !== undefined && flags[other] === undefined)
          command.error(`error: option --${name} needs --${other}`)
      }
      if (
        (aPath === undefined) === (requested === undefined) ||
        (aPath !== undefined && bPath === undefined)
      ) {
        command.error('error: name two files, or shapes with --shapes')
      }
      if (gpus !== undefined) {
        const on = storage === undefined ? machine : { ...machine, disk: storage * 1e9 }
        const estimates = requested!.map((shape) => estimate(shape, gpus, hosts, on))
        return json ? printJson(estimates) : print(estimates.map(describeScaling).join('\n\n'))
      }
      const { semiring = 'max-plus' } = options
      const records: PlanRecord[] = []
      const add = async (a: Matrix<OperandArray>, b: Matrix<OperandArray>) => {
        const { arithmetic, ...planned } = await withStatus('planning', () => plan(a, b, options))
        records.push({ a: [...a.shape], b: [...b.shape], path: arithmetic, ...planned })
      }
      if (requested === undefined) {
        await openPipes(command, { inputs: [aPath, bPath] }, { format }, signal)
        const [a, b] = await readOperands([aPath!, bPath!], { semiring, edges, matrix }, signal)
        await add(a!, b!)
      } else {
        for (const shape of requested) {
          const { a, b } = operandsOf(shape, values ?? typesOf(semiring)[0]!, { semiring })
          await add(a, b)
        }
      }
      await (json
        ? printJson(records)
        : print(records.map((record) => describe(record, semiring)).join('\n\n')))
    })
}

/** Returns the powers of two below `most`, and `most`. */
function doubling(most: number): number[] {
  const counts = []
  for (let count = 1; count < most; count *= 2) counts.push(count)
  return [...counts, most]
}

function estimate(shape: ProductShape, gpus: number, hosts: number | undefined, on: Machine): ScalingRecord {
  return {
    shape,
    host: doubling(gpus).map((count) => estimateHost(shape, count)),
    hosts: hosts === undefined ? [] : doubling(hosts).map((count) => estimateHosts(shape, count, gpus, on)),
  }
}

function describeScaling({ shape, host, hosts }: ScalingRecord): string {
  const one = host[0]!
  const time = (seconds: number) => duration(1000 * seconds)
  const times = (first: number, seconds: number) => `${(first / seconds).toFixed(2)} ×`
  const parts = [
    `${shapeName(shape)}, int32, estimated for H200s: docs/scaling.md says how`,
    table([
      ['GPUs', 'kernels', 'resident', '', 'from and to the host', '', 'limited by'],
      ...host.map(({ gpus, kernelS, residentS, hostS, limit }) => [
        String(gpus),
        time(kernelS),
        time(residentS),
        times(one.residentS, residentS),
        time(hostS),
        times(one.hostS, hostS),
        limit,
      ]),
    ]),
  ]
  if (hosts.length === 0) return parts.join('\n')
  const first = hosts[0]!
  parts.push(
    table([
      ['hosts', 'jobs of a queue', '', 'panels between hosts', '', 'jobs are limited by'],
      ...hosts.map(({ hosts: count, jobsS, panelsS, limit }) => [
        String(count),
        time(jobsS),
        times(first.jobsS, jobsS),
        time(panelsS),
        times(first.panelsS, panelsS),
        limit,
      ]),
    ]),
  )
  return parts.join('\n')
}

function describe({ a, b, backend, variant, parameters, path }: PlanRecord, semiring: Semiring): string {
  const text = Object.entries(parameters).map(([name, value]) => `${name} ${value}`)
  return labelled([
    ['product', `${shapeText(a)} by ${shapeText(b)}`],
    ['backend', backend],
    ['variant', variant],
    ['parameters', text.join(', ')],
    ['path', hasSums(semiring) ? `${path} sums` : path],
  ])
}
