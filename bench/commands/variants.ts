/** mpmml variants */
import { type Command, Option } from 'commander'
import { info, type Variant, variants } from '../../lib/index.js'
import { newCommand } from '../commands.js'
import { oneLine, print, printJson, table } from '../output.js'

type Filters = Partial<Pick<Variant, 'semiring' | 'dtype' | 'backend' | 'family'>>

export function variantsCommand(): Command {
  const values = (key: keyof Filters) => [...new Set(variants().map((variant) => variant[key]))]
  return newCommand('variants')
    .addOption(new Option('--semiring <name>', 'only those of this semiring').choices(values('semiring')))
    .addOption(new Option('--dtype <type>', 'only those of this element type').choices(values('dtype')))
    .addOption(
      new Option('--backend <name>', 'only those of this backend').choices(['cpu', 'cuda', 'webgpu']),
    )
    .addOption(new Option('--family <name>', 'only those of this family').choices(values('family')))
    .option('--json', 'print one JSON value')
    .action(async ({ json, ...filters }: Filters & { json?: true }) => {
      const requested = Object.entries(filters)
      const rows = variants().filter((row) =>
        requested.every(([key, value]) => row[key as keyof Variant] === value),
      )
      if (filters.backend === undefined || filters.backend === 'cuda') sayOtherAddon()
      await (json ? printJson(rows) : print(describe(rows)))
    })
}

/**
 * Prints a note on stderr if another addon has kernels for this machine, with the command that lists them.
 */
export function sayOtherAddon(): void {
  const { addon, cuda } = info()
  const [larger] = addon.larger
  if (larger === undefined) return
  const ofThesis = larger === 'lab' ? ' and those of the thesis' : ''
  const reason = cuda.reason || 'the addon that is loaded lacks them'
  process.stderr.write(
    `mpmml: ${oneLine(`kernels for GPUs${ofThesis} are not listed, because ${reason}: MPMML_ADDON=${larger} lists them`)}\n`,
  )
}

function describe(rows: Variant[]): string {
  if (rows.length === 0) return 'this build has no such variant'
  return table([
    ['variant', 'backend', 'semiring', 'type', 'compiled for'],
    ...rows.map((row) => [row.name, row.backend, row.semiring, row.dtype, row.architectures.join(' ')]),
  ])
}
