// Bundles the modules of the library's entry points into a few files. Run by `npm run build:ts` after the compiler.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

/** Writes the licences of the packages whose code is in a bundle's chunks. */
function writeLicences(output, file) {
  const packages = new Set(
    output
      .flatMap((chunk) => Object.keys(chunk.modules ?? {}))
      .map((id) => /^(.*node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(id)?.[1])
      .filter((path) => path !== undefined),
  )
  const licences = [...packages].sort().map((path) => {
    const { name, version, license, author } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
    const file = readdirSync(path).find((entry) => /^licen[cs]e/i.test(entry))
    const text = file
      ? readFileSync(join(path, file), 'utf8').trim()
      : `${license}, ${author?.name ?? author}`
    return `${name} ${version}\n\n${text}\n`
  })
  writeFileSync(file, licences.join(`\n${'-'.repeat(80)}\n\n`))
}

// Finding, reading and linking about 70 small files takes a third of the time of `import 'mpmml'`. Code that
// only some calls need is in separate files in dist/lib/parts. The compiler's unbundled files remain for
// tests of internals.
const root = fileURLToPath(new URL('../', import.meta.url))
const { exports, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const entries = Object.values(exports).flatMap((entry) => (entry.default ? [join(root, entry.default)] : []))
const inner = ['command-line', 'webgpu-thread'].map((name) => join(root, 'dist', 'lib', `${name}.js`))
// The codec thread never loads the addon, so its bundle excludes the library's core.
const codecThread = join(root, 'dist', 'lib', 'codec-thread.js')

// addons.cjs is copied for users' bundlers, because the compiler doesn't emit CommonJS.
cpSync(join(root, 'lib', 'addons.cjs'), join(root, 'dist', 'lib', 'addons.cjs'))
const addons = createRequire(import.meta.url)('../dist/lib/addons.cjs')

/** Returns a module and all modules that it imports statically, directly or indirectly. */
function loadedBy(file, found = new Set()) {
  if (found.has(file)) return found
  found.add(file)
  for (const [, name] of readFileSync(file, 'utf8').matchAll(/^(?:import|export) .*'(\.[^']+)'/gm)) {
    loadedBy(resolve(dirname(file), name), found)
  }
  return found
}
const core = loadedBy(join(root, 'dist', 'lib', 'index.js'))

// Bundle for browsers: each module of lib/browser replaces the module of lib with the same name.
const forBrowsers = Object.values(exports).flatMap((entry) =>
  entry.browser ? [join(root, entry.default)] : [],
)
const inLib = join(root, 'dist', 'lib')
const own = join(inLib, 'browser')
/** Returns the module of lib/browser that replaces a module of lib, or the module itself. */
const forPages = (path) => {
  const instead = join(own, relative(inLib, path))
  return existsSync(instead) ? instead : path
}
const browserLibrary = await rolldown({
  input: Object.fromEntries(forBrowsers.map((file) => [basename(file, '.js'), forPages(file)])),
  platform: 'browser',
  external: '@mpmml/wasm',
  plugins: [
    {
      name: 'browser',
      resolveId(id, importer) {
        if (!id.startsWith('.') || importer === undefined) return null
        return importer.startsWith(own) ? null : forPages(resolve(dirname(importer), id))
      },
    },
  ],
  transform: { define: { MPMML_VERSION: JSON.stringify(version) } },
  checks: { ineffectiveDynamicImport: false },
  logLevel: 'warn',
})
const inBrowsers = join(root, 'dist', 'browser')
rmSync(inBrowsers, { recursive: true, force: true })
const { output: browserOutput } = await browserLibrary.write({
  dir: inBrowsers,
  chunkFileNames: 'parts/[name].js',
  comments: false,
  minify: true,
})
await browserLibrary.close()
writeLicences(browserOutput, join(inBrowsers, 'licences.txt'))

const library = await rolldown({
  input: Object.fromEntries([...entries, ...inner].map((file) => [basename(file, '.js'), file])),
  platform: 'node',
  // Packages and modules of Node.js aren't bundled.
  external: (id) => !id.startsWith('.') && !isAbsolute(id),
  plugins: [
    {
      name: 'addons',
      // addons.cjs stays a separate module. Node.js doesn't load it, because loading takes a millisecond and
      // Node.js resolves the packages itself. The condition node-addons in package.json excludes it for
      // Node.js; bundlers don't set that condition.
      resolveId: (id) => (id.endsWith('/addons.cjs') ? { id: '#addons', external: true } : null),
    },
  ],
  // Constants for lib/package.ts, which can't find package.json inside a user's bundle.
  transform: {
    define: { MPMML_VERSION: JSON.stringify(version), MPMML_ADDONS: JSON.stringify(addons.names) },
  },
  // No warning about modules that are imported both statically and dynamically: these load at startup.
  checks: { ineffectiveDynamicImport: false },
  logLevel: 'warn',
})
const bundled = join(root, 'dist', 'lib-bundled')
await library.write({
  dir: bundled,
  chunkFileNames: 'parts/[name].js',
  comments: false,
  // The core is one chunk, because loading a file takes about a millisecond.
  codeSplitting: {
    groups: [{ name: 'core', test: (id) => core.has(id) }],
  },
})
await library.close()
const thread = await rolldown({
  input: codecThread,
  platform: 'node',
  external: (id) => !id.startsWith('.') && !isAbsolute(id),
  logLevel: 'warn',
})
await thread.write({ file: join(bundled, basename(codecThread)), codeSplitting: false, comments: false })
await thread.close()
rmSync(join(root, 'dist', 'lib', 'parts'), { recursive: true, force: true })
cpSync(bundled, join(root, 'dist', 'lib'), { recursive: true })
rmSync(bundled, { recursive: true })

// All declarations exist once, as CommonJS. TypeScript derives their module system from the nearest
// package.json, and both systems may import CommonJS declarations. Entry points for ES modules re-export
// them.
const typesFolder = join(root, 'dist', 'types')
rmSync(typesFolder, { recursive: true, force: true })
const declared = new Set(entries.map((file) => file.replace(/\.js$/, '.d.ts')))
for (const file of declared) {
  const text = readFileSync(file, 'utf8')
  for (const [, name] of text.matchAll(/(?:from|import) ?\(?['"](\.[^'"]+)\.js['"]/g)) {
    declared.add(resolve(dirname(file), `${name}.d.ts`))
  }
  cpSync(file, join(typesFolder, relative(join(root, 'dist', 'lib'), file)))
}
for (const file of entries) {
  const name = basename(file, '.js')
  writeFileSync(join(typesFolder, `${name}.d.mts`), `export * from './${name}.js'\n`)
}
writeFileSync(join(typesFolder, 'package.json'), '{ "type": "commonjs" }\n')
