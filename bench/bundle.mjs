// Bundles the plotting library into the one compiled file that uses it, dist/bench/report/plot.js, with its licences
// beside it. Run by `npm run build:ts` after the compiler.
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const folder = fileURLToPath(new URL('../dist/bench/report/', import.meta.url))
const input = join(folder, 'plot.js')

const bundle = await rolldown({ input, platform: 'node', logLevel: 'warn' })
const { output } = await bundle.write({
  file: join(folder, 'plot.bundle.js'),
  minify: true,
  comments: { legal: true },
})
await bundle.close()
renameSync(join(folder, 'plot.bundle.js'), input)

/** The folder of each package that something was taken from. */
const packages = new Set(
  output
    .flatMap((chunk) => Object.keys(chunk.modules ?? {}))
    .map((id) => /^(.*node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(id)?.[1])
    .filter((path) => path !== undefined),
)
const licences = [...packages].sort().map((path) => {
  const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
  const file = readdirSync(path).find((entry) => /^licen[cs]e/i.test(entry))
  const text = file ? readFileSync(join(path, file), 'utf8').trim() : `${license}`
  return `${name} ${version}\n\n${text}\n`
})
writeFileSync(join(folder, 'plot.licences.txt'), licences.join(`\n${'-'.repeat(80)}\n\n`))
