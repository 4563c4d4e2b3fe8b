// Adds what a clone needs before it can run (npm start and npm test call it): the packages, the addons, the JavaScript. Arguments
// go to native/build.mjs.
// If nothing is missing it takes a second or two and prints nothing.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

const fail = (message, status = 1) => {
  console.error(`mpmml: ${message}`)
  process.exit(status)
}

if (Number(process.versions.node.split('.')[0]) < 20) {
  fail(`Node.js 20 or newer is needed, but this is ${process.versions.node}`)
}

/** Runs a step; its own messages are enough when it fails. */
function step(name, command, ...args) {
  const { status, signal, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (error) fail(`${name} failed: ${error.message}`)
  if (status !== 0) fail(`${name} failed${signal ? ` with ${signal}` : ''}`, status ?? 1)
}

function npm(name, ...args) {
  const cli = process.env.npm_execpath
  if (cli?.endsWith('npm-cli.js')) step(name, process.execPath, cli, ...args)
  else step(name, 'npm', ...args)
}

const packagesOf = (file) =>
  Object.entries(JSON.parse(readFileSync(join(root, file), 'utf8')).packages).filter(([path]) => path !== '')

/** Whether node_modules has what package-lock.json asks for; packages of other platforms may be missing. */
function packagesAreThere() {
  const record = 'node_modules/.package-lock.json'
  if (!existsSync(join(root, record))) return false
  const wanted = new Map(packagesOf('package-lock.json'))
  const present = new Map(packagesOf(record))
  return (
    [...wanted].every(
      ([path, { optional }]) => optional || (present.has(path) && existsSync(join(root, path))),
    ) && [...present].every(([path, { version }]) => wanted.get(path)?.version === version)
  )
}

const started = Date.now()
if (!packagesAreThere()) {
  console.log('mpmml: installing the packages and building the addon (npm ci); this can take a few minutes')
  npm('npm ci', 'ci', '--no-audit', '--no-fund', '--loglevel=error')
}
step('the native build', process.execPath, 'native/build.mjs', '--incremental', ...process.argv.slice(2))
// npm ci has built the JavaScript too, unless npm is told to run no scripts.
const built = statSync(join(root, 'dist/lib/index.js'), { throwIfNoEntry: false })
if (!(built?.mtimeMs >= started)) npm('the TypeScript build', 'run', '--silent', 'build:ts')
