/** mpmml plan A B */
import { Command, Option } from 'commander'
import {
  type Matrix,
  type MpmmOptions,
  type OperandArray,
  type Plan,
  plan,
  type Semiring,
} from '../../lib/index.js'
import { type ProductShape, productOptions, shapes } from '../arguments.js'
import { hasSums, typesOf } from '../dtype.js'
import { MATRIX_HELP, readOperands } from '../matrix-file.js'
import { labelled, print, printJson, shapeText, withStatus } from '../output.js'
import { operandsOf, type ValueKind, valueKinds } from '../timing/values.js'

type Flags = Pick<MpmmOptions, 'semiring' | 'backend' | 'device' | 'variant' | 'overflow'> & {
  shapes?: ProductShape[]
  values?: ValueKind
  json?: true
}

/** What `plan --json` prints: one for each product. */
interface PlanRecord extends Plan {
  a: readonly number[]
  b: readonly number[]
}

export function planCommand(signal: AbortSignal): Command {
  const command = new Command('plan')
    .description('show which kernel a product would take and how it stays exact, without computing it')
    .argument('[A]', 'M × K, or batch × M × K')
    .argument('[B]', 'K × N, or batch × K × N')
    .option('--shapes <MxKxN,…>', 'instead of files: random matrices of these shapes', shapes)
    .addOption(
      new Option(
        '--values <kind>',
        'what random matrices hold (the first element type of the semiring by default)',
      ).choices(Object.keys(valueKinds)),
    )
  for (const option of productOptions()) command.addOption(option)
  return command
    .option('--json', 'print one JSON value')
    .addHelpText('after', MATRIX_HELP)
    .action(async (aPath: string | undefined, bPath: string | undefined, flags: Flags) => {
      const { shapes: asked, values, json, ...options } = flags
      if ((aPath === undefined) === (asked === undefined) || (aPath !== undefined && bPath === undefined)) {
        command.error('error: name two files, or shapes with --shapes')
      }
      const { semiring = 'max-plus' } = options
      const records: PlanRecord[] = []
      const add = async (a: Matrix<OperandArray>, b: Matrix<OperandArray>) =>
        records.push({
          a: [...a.shape],
          b: [...b.shape],
          ...(await withStatus('planning', () => plan(a, b, options))),
        })
      if (asked === undefined) {
        const [a, b] = await readOperands([aPath!, bPath!], { semiring }, signal)
        await add(a!, b!)
      } else {
        for (const shape of asked) {
          const { a, b } = operandsOf(shape, values ?? typesOf(semiring)[0]!, { semiring })
          await add(a, b)
        }
      }
      await (json
        ? printJson(records)
        : print(records.map((record) => describe(record, semiring)).join('\n\n')))
    })
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
