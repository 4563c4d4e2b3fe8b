// Bundles what browsers load: browser.mjs, and worker.mjs, which computes for a page. The compiled modules lie beside them.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const here = fileURLToPath(new URL('.', import.meta.url))
const entries = { browser: 'connect.ts', worker: 'browser-worker.ts' }

/** Nothing of Node.js, which bundlers would look for, and nothing of threads, which load the file itself. */
function withoutNode(code) {
  const [module] = code.split(/^var isPthread\b/m)
  return module.replaceAll(/\bENVIRONMENT_IS_NODE\b(?!\s*=[^=])/g, 'false')
}

export async function bundleForBrowsers(folder) {
  for (const [name, entry] of Object.entries(entries)) {
    const bundle = await rolldown({
      input: join(here, entry),
      platform: 'browser',
      plugins: [
        {
          name: 'browsers',
          resolveId(id) {
            // The worker takes from the page's file what both need.
            if (id === './connect.js') return { id: './browser.mjs', external: true }
            const [, glue] = /^\.\/(mpmml-\w+\.js)$/.exec(id) ?? []
            return glue ? join(folder, glue) : null
          },
          transform(code, id) {
            if (/mpmml-\w+\.js$/.test(id)) return withoutNode(code)
            // A page's Content-Security-Policy reports even the question whether text may be evaluated.
            return id.includes('@emnapi') ? code.replaceAll(/new Function\([^)]*\)/g, 'undefined') : null
          },
        },
      ],
      logLevel: 'warn',
    })
    await bundle.write({ file: join(folder, `${name}.mjs`), minify: true, comments: { legal: true } })
    await bundle.close()
  }
}
