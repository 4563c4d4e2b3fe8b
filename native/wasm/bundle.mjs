// Bundles what browsers load: browser.mjs, worker.mjs, which computes for a page, and shared.mjs, which both
// need. The compiled modules lie beside them. The worker doesn't import browser.mjs: that names the worker,
// and bundlers would go round in a circle.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const here = fileURLToPath(new URL('.', import.meta.url))

/**
 * Emscripten's JavaScript without what is for Node.js, which bundlers would look for, without what is for
 * threads, which load the file itself, and without the script's address: a module has none.
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
          // A page's Content-Security-Policy reports even the question whether text may be evaluated.
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
