/** mpmml measure VARIANT */
import type { Command } from 'commander'
import { type Variant, type VariantName, variants } from '../../lib/index.js'
import { MAX_ROWS, wholeNumber } from '../arguments.js'
import { newCommand } from '../commands.js'
import { type Columns, tableOf, timed } from '../experiment.js'
import { libraryOption } from '../flags.js'
import { duration, labelled, print, printJson, rate, shapeName, withStatus } from '../output.js'
import { valueKinds } from '../timing/values.js'
import { measureVariant, type VariantRecord } from '../timing/variant.js'
import { sayOtherAddon } from './variants.js'

interface Flags {
  m: number
  n?: number
  k?: number
  ninst: number
  repetitions?: number
  device: number
  json?: true
}

export function measureCommand(signal: AbortSignal): Command {
  const size = wholeNumber(1, MAX_ROWS)
  return newCommand('measure')
    .argument('[variant]', 'a name from mpmml variants; without it the families are listed')
    .option('--m <M>', 'rows of A and C (A Height)', size, 1024)
    .option('--n <N>', 'columns of B and C (B Width); M by default', size)
    .option('--k <K>', 'columns of A and rows of B (A Width); M by default', size)
    .option('--ninst <Ninst>', 'products in one launch, the third dimension of the grid', size, 1)
    .option(
      '--repetitions <count>',
      'timed repetitions (as many as fill a second by default)',
      wholeNumber(1, 10000),
    )
    .addOption(libraryOption('device').default(0))
    .option('--json', 'print one JSON value')
    .action(async (name: string | undefined, { json, ...flags }: Flags) => {
      if (name === undefined) {
        sayOtherAddon()
        return json ? printJson(families()) : print(tableOf(familyColumns, families()))
      }
      const { m, n = m, k = m, ninst, device, repetitions = null } = flags
      const shape = { batch: ninst, m, n, k }
      const request = { variant: name as VariantName, shape, device, repetitions, wantsCeiling: !json }
      const record = await withStatus(`measuring ${name}`, () => measureVariant(request, signal))
      const { kernelMs, gops } = record
      await (json
        ? printJson({
            variant: name,
            m,
            n,
            k,
            ninst,
            kernelMs: kernelMs.median,
            gops: gops.median,
            verified: true,
          })
        : print(describe(record)))
    })
}

interface Family extends Pick<Variant, 'family' | 'backend'> {
  variants: number
  semirings: string[]
  example: VariantName
}

/** Returns the kernel families of this build. */
function families(): Family[] {
  const groups = new Map<string, Variant[]>()
  for (const row of variants()) {
    const key = `${row.family} ${row.backend}`
    groups.set(key, [...(groups.get(key) ?? []), row])
  }
  return [...groups.values()].map((rows) => ({
    family: rows[0]!.family,
    backend: rows[0]!.backend,
    variants: rows.length,
    semirings: [...new Set(rows.map(({ semiring }) => semiring))],
    example: rows[0]!.name,
  }))
}

const familyColumns: Columns<Family> = [
  ['family', ({ family }) => family],
  ['backend', ({ backend }) => backend],
  ['variants', (row) => String(row.variants)],
  ['one of them', ({ example }) => example],
  ['semirings', ({ semirings }) => semirings.join(', ')],
]

function describe(record: VariantRecord): string {
  const { variant, shape, values, device, kernelMs, prepareMs, gops, ceilingGops, verified } = record
  return labelled([
    ['variant', variant.name],
    ['product', `${shapeName(shape)}, ${variant.semiring} on ${valueKinds[values].summary}`],
    ['on', device],
    ['kernel', timed(kernelMs)],
    ['before it', prepareMs && prepareMs.median > 0 ? duration(prepareMs.median) : undefined],
    ['speed', rate(gops.median)],
    [
      'ceiling',
      ceilingGops === null
        ? 'not known for this semiring and type'
        : `${rate(ceilingGops)} on registers; ${((100 * gops.median) / ceilingGops).toFixed(0)} % of it`,
    ],
    ['verified', `as ${verified.variant} in ${verified.rows} of ${shape.m} rows`],
  ])
}
