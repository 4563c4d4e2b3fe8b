// Prepares a Git checkout for npm start and npm test: installs the packages, builds the addons and compiles the TypeScript. Takes a
// second or two and prints nothing if all of these exist.
//
//   node native/setup.mjs [argument…]    arguments go to native/build.mjs
//   node native/setup.mjs javascript     compiles the TypeScript only: npm's script `prepare`
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Error of a failed step, whose own messages have stated the reason. */
class Failure extends Error {
  constructor(message, status = 1) {
    super(message)
    this.status = status
  }
}

/** Runs a step. */
const step = (name, command, ...args) =>
  new Promise((resolve, reject) => {
    spawn(command, args, { cwd: root, stdio: 'inherit' })
      .on('error', (error) => reject(new Failure(`${name} failed: ${error.message}`)))
      .on('exit', (status, signal) => {
        if (status === 0) resolve()
        else reject(new Failure(`${name} failed${signal ? ` with ${signal}` : ''}`, status ?? 1))
      })
  })

function npm(name, ...args) {
  const cli = process.env.npm_execpath
  return cli?.endsWith('npm-cli.js') ? step(name, process.execPath, cli, ...args) : step(name, 'npm', ...args)
}

const packagesOf = (file) =>
  Object.entries(JSON.parse(readFileSync(join(root, file), 'utf8')).packages).filter(([path]) => path !== '')

/** Returns whether node_modules has the packages of package-lock.json; packages of other platforms may be missing. */
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

/** Installs packages as package-lock.json names them. No package needs its scripts here, and those of the clone are steps of their own. */
const install = (command, ...args) =>
  npm(`npm ${command}`, command, ...args, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error')

async function buildJavaScript(isInstalled) {
  if (!isInstalled) await install('install', '--no-save')
  await npm('the TypeScript build', 'run', '--silent', 'build:ts')
}

/** Runs npm's script `prepare`. `npx mpmml` in a Git checkout runs it too, and needs nothing if the command line is compiled. */
async function prepare() {
  if (process.env.npm_command === 'exec' && existsSync(join(root, 'dist', 'bench', 'cli.js'))) return
  await npm('the TypeScript build', 'run', '--silent', 'build:ts')
}

async function setUp() {
  if (Number(process.versions.node.split('.')[0]) < 20) {
    throw new Failure(`Node.js 20 or newer is needed, but this is ${process.versions.node}`)
  }
  const isInstalled = packagesAreThere()
  if (!isInstalled) {
    console.log('mpmml: installing the packages and building the addon; this can take a few minutes')
    // What the native build needs. The other packages come while it compiles.
    await install('ci', '--omit=dev')
  }
  const steps = [
    step('the native build', process.execPath, 'native/build.mjs', '--incremental', ...process.argv.slice(2)),
    buildJavaScript(isInstalled),
  ]
  // When one has failed the other is still writing.
  await Promise.allSettled(steps)
  await Promise.all(steps)
}

try {
  await (process.argv[2] === 'javascript' ? prepare() : setUp())
} catch (error) {
  if (!(error instanceof Failure)) throw error
  console.error(`mpmml: ${error.message}`)
  process.exit(error.status)
}
