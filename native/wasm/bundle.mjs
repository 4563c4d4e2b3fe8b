// Bundles the files for browsers: browser.mjs, worker.mjs, which computes for a page, and shared.mjs, which
// both import. The compiled modules are in the same folder. The worker doesn't import browser.mjs, because
// browser.mjs refers to the worker and bundlers don't support the cycle.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const here = fileURLToPath(new URL('.', import.meta.url))

/**
 * Returns Emscripten's JavaScript without three parts: the code for Node.js, whose imports bundlers would
 * resolve; the code for threads, which load the file itself; and the script's address, which a module doesn't
 * have.
 */
function forModules(code) {
  const [module] = code.split(/^var isPthread\b/m)
  return module
    .replace(/^ *var _scriptName = [\s\S]*?(?= *return \()/m, '')
    .replaceAll('_scriptName', 'undefined')
    .replaceAll(/\bENVIRONMENT_IS_NODE\b(?!\s*=[^=])/g, 'false')
}

export async function bundleForBrowsers(folder) {
  const bundle = await rolldown({
    input: { browser: join(here, 'connect.ts'), worker: join(here, 'browser-worker.ts') },
    platform: 'browser',
    plugins: [
      {
        name: 'browsers',
        resolveId(id) {
          const [, glue] = /^\.\/(mpmml-\w+\.js)$/.exec(id) ?? []
          return glue ? join(folder, glue) : null
        },
        transform(code, id) {
          if (/mpmml-\w+\.js$/.test(id)) return forModules(code)
          // A page's Content-Security-Policy reports even a test for the permission to evaluate text.
          return id.includes('@emnapi') ? code.replaceAll(/new Function\([^)]*\)/g, 'undefined') : null
        },
      },
    ],
    logLevel: 'warn',
  })
  await bundle.write({
    dir: folder,
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name].mjs',
    codeSplitting: { groups: [{ name: 'shared', minShareCount: 2 }] },
    minify: true,
    comments: { legal: true },
  })
  await bundle.close()
}
