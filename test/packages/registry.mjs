// A package registry on this machine, with the packages of dist-packages/ and their dependencies. It contacts no other host.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
export const packages = process.env.MPMML_PACKAGES ?? join(root, 'dist-packages')

/** Folder with the packages of test/packages/package.json, which only these tests need. */
export const modules = fileURLToPath(new URL('node_modules', import.meta.url))

/** Programs of package managers, as arguments of Node.js. */
const npm = join(dirname(realpathSync(which('npm'))), 'npm-cli.js')
export const managers = {
  npm,
  npx: join(dirname(npm), 'npx-cli.js'),
  pnpm: join(modules, 'pnpm', 'bin', 'pnpm.cjs'),
  yarn: join(modules, 'yarn', 'bin', 'yarn.js'),
  berry: join(modules, '@yarnpkg', 'cli-dist', 'bin', 'yarn.js'),
}

function which(name) {
  const found = process.env.PATH.split(':')
    .map((folder) => join(folder, name))
    .find(existsSync)
  if (!found) throw new Error(`${name} was not found on the PATH`)
  return found
}

/** Returns the folder of a package, resolved from another package. */
function find(name, from) {
  for (let folder = from; ; folder = dirname(folder)) {
    const place = join(folder, 'node_modules', name)
    if (existsSync(join(place, 'package.json'))) return place
    if (folder === root) return undefined
  }
}

/** Returns the folders of packages and of all their dependencies. */
function closure(names, from, found = new Map()) {
  for (const name of names) {
    const folder = find(name, from)
    if (!folder) continue
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const id = `${name}@${manifest.version}`
    if (found.has(id)) continue
    found.set(id, folder)
    closure(Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }), folder, found)
  }
  return found
}

/** Starts a registry with all packages; returns { url, environment, folder(name), stop() }. */
export async function startRegistry() {
  if (!existsSync(packages)) throw new Error(`${packages} was not found; make it with: npm run release`)
  const home = mkdtempSync(join(tmpdir(), 'mpmml-registry-'))
  // A thread, because the tests block theirs while a package manager runs.
  const server = new Worker(new URL('registry-server.mjs', import.meta.url))
  const [url] = await once(server, 'message')
  const bin = join(home, 'bin')
  mkdirSync(bin)
  // Programs that package managers call in addition to Node.js. There is no compiler and no CMake.
  for (const name of ['sh', 'env', 'uname'])
    writeFileSync(join(bin, name), `#!/bin/sh\nexec ${which(name)} "$@"\n`, { mode: 0o755 })
  rmSync(join(bin, 'sh'))
  spawnSync('ln', ['-s', which('sh'), join(bin, 'sh')])
  spawnSync('ln', ['-s', process.execPath, join(bin, 'node')])
  const environment = {
    PATH: bin,
    HOME: join(home, 'home'),
    npm_config_registry: url,
    npm_config_update_notifier: 'false',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    YARN_NPM_REGISTRY_SERVER: url,
    YARN_UNSAFE_HTTP_WHITELIST: '127.0.0.1',
    YARN_ENABLE_TELEMETRY: '0',
    YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
    YARN_IGNORE_PATH: '1',
  }
  mkdirSync(environment.HOME)
  // Publishing requires a token, with any value.
  writeFileSync(join(environment.HOME, '.npmrc'), `${url.replace('http:', '')}/:_authToken=anybody\n`)

  const own = readdirSync(packages).filter((file) => file.endsWith('.tgz'))
  const manifests = own.map((file) => {
    const { stdout } = spawnSync('tar', ['-xOf', join(packages, file), 'package/package.json'], {
      encoding: 'utf8',
    })
    return JSON.parse(stdout)
  })
  const needed = manifests.flatMap(({ dependencies }) => Object.keys(dependencies ?? {}))
  const all = [...closure(needed, root).values(), ...own.map((file) => join(packages, file))]
  for (const source of all) {
    const args = [npm, 'publish', source, '--provenance=false', '--ignore-scripts']
    const { status, stderr } = spawnSync(process.execPath, args, {
      encoding: 'utf8',
      env: environment,
      cwd: home,
    })
    if (status !== 0) throw new Error(`${source} was not published: ${stderr}`)
  }
  return {
    url,
    environment,
    names: manifests.map(({ name }) => name),
    /** Returns an empty folder of a user, with a separate cache if `cold`. */
    folder(name) {
      const folder = join(home, 'users', name)
      mkdirSync(folder, { recursive: true })
      writeFileSync(
        join(folder, 'package.json'),
        '{ "name": "user", "version": "1.0.0", "private": true, "type": "module" }\n',
      )
      return folder
    },
    stop() {
      void server.terminate()
      rmSync(home, { recursive: true, force: true })
    },
  }
}
