/** Programs with the library in a bundle, and files that a tracer finds. Uses the output of `npm run build:ts`. */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { rolldown } from 'rolldown'
import { describe, expect, it } from 'vitest'
import * as addons from '../../lib/addons.cjs'
import { root, version } from '../../lib/native.js'
import { useFolder } from '../support/folder.js'
import { PATIENCE } from '../support/patience.js'
import { describeUnless } from '../support/skip.js'

const library = join(root, 'dist', 'lib', 'index.js')
const addon = join(root, 'build', 'Release', 'mpmml.node')
const missing = [library, addon].find((file) => !existsSync(file))
const name = `@mpmml/${process.platform}-${process.arch}${process.platform === 'linux' ? '-gnu' : ''}`

const packages = (await import(new URL('../../native/tools/release/packages.mjs', import.meta.url).href)) as {
  addonPackages: { name: string; file: string }[]
  addonManifest(row: object): object
}
const row = packages.addonPackages.find((row) => row.name === name)

describe('the packages that bundlers and tracers find', () => {
  it('are the published ones, each by a literal require', () => {
    const published = packages.addonPackages.map((row) => row.name)
    expect(addons.names).toEqual(published)
    const source = readFileSync(join(root, 'lib', 'addons.cjs'), 'utf8')
    const literals = [...source.matchAll(/case '([^']+)':\s+return \{ addon: require\('([^']+)'\) \}/g)]
    expect(literals.map(([, requested, required]) => [requested, required])).toEqual(
      published.map((one) => [one, one]),
    )
  })

  it('throw the error code of Node.js if they are missing, and are undefined if they are unknown', () => {
    expect(addons.load('@mpmml/win32-x64')).toMatchObject({ error: { code: 'MODULE_NOT_FOUND' } })
    expect(addons.load('@mpmml/unknown')).toEqual({})
  })
})

const why = missing ? `no ${missing}` : row === undefined ? `there is no package ${name}` : ''

describeUnless(why, 'a bundle', () => {
  const inFolder = useFolder()

  const program = `import { info, matrix, mpmmSync } from ${JSON.stringify(library)}
    const { version, addon } = info()
    console.log(JSON.stringify([version, addon, mpmmSync(matrix(1, 1, [2]), matrix(1, 1, [3])).c.data[0]]))`

  /**
   * Bundles the program. If `installed`, node_modules with the package of the addon is next to the bundle.
   */
  async function bundled(
    place: string,
    format: 'esm' | 'cjs',
    installed: boolean,
    conditions: string[] = [],
  ): Promise<string> {
    const home = inFolder(place)
    mkdirSync(home)
    writeFileSync(join(home, 'program.mjs'), program)
    const bundle = await rolldown({
      input: join(home, 'program.mjs'),
      platform: 'node',
      external: /^(@mpmml|yauzl|yazl)\b/,
      resolve: { conditionNames: conditions },
      logLevel: 'silent',
    })
    await bundle.write({
      dir: join(home, 'out'),
      format,
      entryFileNames: `program.${format === 'esm' ? 'mjs' : 'cjs'}`,
    })
    await bundle.close()
    if (installed) {
      const there = join(home, 'node_modules', name)
      mkdirSync(there, { recursive: true })
      writeFileSync(join(there, 'package.json'), JSON.stringify(packages.addonManifest(row!)))
      cpSync(addon, join(there, row!.file))
    }
    return join(home, 'out', `program.${format === 'esm' ? 'mjs' : 'cjs'}`)
  }

  function run(file: string) {
    const { MPMML_ADDON: _, ...env } = process.env
    return spawnSync(process.execPath, [file], {
      encoding: 'utf8',
      cwd: dirname(file),
      timeout: PATIENCE,
      env,
    })
  }

  it.each(['esm', 'cjs'] as const)('loads the package next to %s', async (format) => {
    const { stdout, stderr } = run(await bundled(`with-${format}`, format, true))
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual([version, expect.objectContaining({ kind: 'cpu', from: name }), 5])
  })

  it.each(['esm', 'cjs'] as const)(
    'states how to install the package, which is missing next to %s',
    async (format) => {
      const { status, stderr } = run(await bundled(`without-${format}`, format, false))
      expect(status).not.toBe(0)
      expect(stderr).toContain('ERR_MPMML_ADDON')
      expect(stderr).toContain(
        `the native addon can't be loaded by this bundle: not installed: ${name}, @mpmml/wasm. `,
      )
      expect(stderr).toContain('make mpmml external in the bundler')
      expect(stderr).toContain(`npm install ${name}@${version}`)
      expect(stderr).not.toContain(root)
    },
  )

  it.each([true, false])(
    'works with a bundler that sets the condition node-addons, installed: %s',
    async (installed) => {
      const file = await bundled(`conditions-${installed}`, 'esm', installed, [
        'node-addons',
        'node',
        'import',
      ])
      const { stdout, stderr } = run(file)
      if (installed) expect(JSON.parse(stdout)).toEqual([version, expect.objectContaining({ from: name }), 5])
      else expect(stderr).toContain(`can't be loaded by this bundle: not installed: ${name}, @mpmml/wasm. `)
    },
  )
})
