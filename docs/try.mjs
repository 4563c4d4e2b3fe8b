// Makes the page on which people try the library, of docs/try, the library for browsers (npm run build:ts) and the WebAssembly module
// (npm run build:wasm). It needs a web server, but nothing of other hosts: `node docs/try.mjs FOLDER`.
import { cpSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { browserFiles } from '../native/wasm/files.mjs'

const root = fileURLToPath(new URL('../', import.meta.url))
const source = join(root, 'docs', 'try')
const wasm = join(root, 'build', 'Release', 'wasm')

/** Name of the missing build step of the page; '' if none is missing. */
export function missingForPage() {
  if (!existsSync(join(root, 'dist', 'browser', 'index.js'))) return 'npm run build:ts'
  return browserFiles.every((file) => existsSync(join(wasm, file))) ? '' : 'npm run build:wasm'
}

export async function makePage(folder) {
  const bundle = await rolldown({
    input: join(source, 'start.ts'),
    platform: 'browser',
    plugins: [
      {
        name: 'library',
        resolveId(id) {
          if (id === '@mpmml/wasm') return { id: './wasm/browser.mjs', external: true }
          // The tokenizer of texts, which is no entry of the library, needs nothing but this of the runtime.
          if (id.endsWith('/platform.js')) return join(root, 'lib', 'browser', 'platform.ts')
          const [, entry = '/index'] = /^mpmml(\/\w+)?$/.exec(id) ?? [undefined, null]
          return entry && join(root, 'dist', 'browser', `${entry}.js`)
        },
      },
    ],
    logLevel: 'warn',
  })
  await bundle.write({ dir: folder, chunkFileNames: '[name].js', minify: true })
  await bundle.close()
  for (const file of ['index.html', 'style.css']) cpSync(join(source, file), join(folder, file))
  mkdirSync(join(folder, 'wasm'), { recursive: true })
  for (const file of browserFiles) cpSync(join(wasm, file), join(folder, 'wasm', file))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const missing = missingForPage()
  if (missing) throw new Error(`the page needs what ${missing} makes`)
  await makePage(process.argv[2] ?? join(root, 'docs', 'site', 'try'))
}
