// Measures the time from an empty folder to the first product, with an empty cache and a registry on this
// machine. The shares of `import 'mpmml'` and of the program's start are printed:
//
//   node test/packages/timings.mjs [package…]    mpmml by default; also '@mpmml/cuda-linux-x64'
import { spawnSync } from 'node:child_process'
import { copyFileSync, rmSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { managers, root, startRegistry } from './registry.mjs'

const runs = 5
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1]
const show = (values) =>
  `${median(values).toFixed(0)} ms (${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)})`

const registry = await startRegistry()
try {
  function run(cwd, args) {
    const start = performance.now()
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd,
      encoding: 'utf8',
      env: registry.environment,
    })
    if (status !== 0) throw new Error(stderr)
    return { ms: performance.now() - start, stdout }
  }
  const requested = ['mpmml', ...process.argv.slice(2)]
  const install = []
  const first = []
  let folder
  for (let index = 0; index < runs; ++index) {
    folder = registry.folder(`timed-${index}`)
    rmSync(join(registry.environment.HOME, '.npm'), { recursive: true, force: true })
    install.push(run(folder, [managers.npm, 'install', '--no-audit', '--no-fund', ...requested]).ms)
    copyFileSync(join(root, 'test', 'packages', 'user.mjs'), join(folder, 'user.mjs'))
    first.push(run(folder, ['user.mjs']).ms)
  }
  const importing =
    'const start = performance.now(); await import("mpmml"); console.log(performance.now() - start)'
  const imports = Array.from({ length: 21 }, () =>
    Number(run(folder, ['--input-type=module', '--eval', importing]).stdout),
  )
  const help = Array.from(
    { length: 21 },
    () => run(folder, [join('node_modules', 'mpmml', 'dist', 'bench', 'cli.js'), '--help']).ms,
  )
  console.log(
    `${cpus()[0].model}, ${cpus().length} threads, Node.js ${process.versions.node}; medians of ${runs} and 21 runs`,
  )
  console.log(`npm install ${requested.join(' ')}, empty cache: ${show(install)}`)
  console.log(`then a program with one product, from start to end: ${show(first)}`)
  console.log(`import 'mpmml': ${show(imports)}`)
  console.log(`mpmml --help: ${show(help)}`)
} finally {
  registry.stop()
}
