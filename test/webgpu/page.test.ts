/**
 * WebGPU in Chromium, on its software adapter: the library on a page under the strictest policy, and the
 * backend in a worker. A stand-in for the WebAssembly module has its lists and tables, and only the code of self-tests, because
 * the page computes nothing else on the CPU.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { beforeAll, expect, it, vi } from 'vitest'
import { load } from '../../lib/load.js'
import { root } from '../../lib/native.js'
import { type Addon, nativeCalls, requestAt } from '../../lib/native-interface.js'
import { type Page, startBrowser, withoutChromium } from '../support/browser.js'
import { useFolder } from '../support/folder.js'
import { describeUnless, missingFile } from '../support/skip.js'
import { policy, serveFolder, type WebServer } from '../support/web-server.js'

const reason = withoutChromium ?? missingFile(join(root, 'dist', 'browser', 'index.js'))

const native = load<Addon>().addon

/** Square products over max-plus and min-plus, with which self-tests compare. */
const productText = `(a, b, c, c0, request, report, device, auxiliary) => {
  const isMin = lists.semirings[request[${requestAt.semiring}]].name === 'min-plus'
  const zero = (isMin ? 1 : -1) * (c instanceof Float32Array ? Infinity : isMin ? 2 ** 31 - 1 : 2 ** 31)
  const n = Math.sqrt(c.length)
  for (let i = 0; i < c.length; i++) {
    let [best, at] = [zero, -1]
    for (let k = 0; k < n; k++) {
      const [x, y] = [a[Math.floor(i / n) * n + k], b[k * n + (i % n)]]
      if (x !== zero && y !== zero && (isMin ? x + y < best : x + y > best)) [best, at] = [x + y, k]
    }
    c[i] = best
    if (auxiliary) auxiliary[0][i] = at
  }
}`

/** Module with the addon's lists and tables, and other functions without effect. */
const addonText = `
const lists = ${JSON.stringify(native, (_, value) => (typeof value === 'function' ? undefined : value))}
const names = ${JSON.stringify(Object.keys(nativeCalls))}
export const addon = {
  ...lists,
  ...Object.fromEntries(names.map((name) => [name, () => undefined])),
  multiplySync: ${productText},
  handleKind: () => '',
  explain: () => ({ backend: 'cpu', reason: 'the module is a stand-in' }),
  describe: () => (${JSON.stringify(native.describe())}),
}`

const lib = (name: string) => JSON.stringify(join(root, 'lib', name))
const files: Record<string, string> = {
  'addon.js': addonText,
  'worker.js': `
import { serve } from ${lib('remote/service.ts')}
import { withWebGpuNames } from ${lib('webgpu/names.ts')}
import { gpuFunctions } from ${lib('webgpu/session.ts')}
import { withGpu } from ${lib('webgpu/with-gpu.ts')}
import { addon } from './addon.js'
const named = withWebGpuNames(addon)
serve(globalThis, async () => withGpu(named, gpuFunctions(named, async () => navigator.gpu ?? null)))`,
  'wasm.js': `
import { remote } from ${lib('remote/page.ts')}
import { withWebGpuNames } from ${lib('webgpu/names.ts')}
import { addon } from './addon.js'
export const connect = async () =>
  remote(withWebGpuNames(addon), new Worker('worker.js', { type: 'module' }), { compiled: null, kind: 'single', threads: 1 })`,
  'software.js': `globalThis.MPMML_ENVIRONMENT = { MPMML_WEBGPU_FALLBACK: '1' }`,
  'page.js': `
import './software.js'
import * as mpmml from 'mpmml'
Object.assign(globalThis, mpmml)
globalThis.refused = (promise) => promise.then(() => 'nothing', ({ code, message }) => code + ': ' + message)
document.title = 'ready'`,
}

/** A page in a browser with flags about the GPU. */
async function openPage(
  folder: string,
  flags?: readonly string[],
): Promise<{ server: WebServer; browser: Page }> {
  const server = await serveFolder(folder, policy)
  const browser = await startBrowser(flags)
  await browser.open(`${server.url}/`, 800, 'light')
  await vi.waitFor(
    async () => expect([await browser.evaluate('document.title'), browser.problems]).toEqual(['ready', []]),
    30_000,
  )
  return { server, browser }
}

describeUnless(reason, 'a page', () => {
  const inFolder = useFolder()
  beforeAll(async () => {
    writeFileSync(
      inFolder('index.html'),
      '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script type="module" src="page.js"></script>',
    )
    // Paths as in the package, so that imports of the package's own name resolve.
    const at = (name: string) => join(root, 'test', 'webgpu', name)
    const texts = new Map(Object.entries(files).map(([name, text]) => [at(name), text]))
    const bundle = await rolldown({
      input: { page: at('page.js'), worker: at('worker.js') },
      platform: 'browser',
      plugins: [
        {
          name: 'texts',
          resolveId: (id) =>
            texts.has(id)
              ? id
              : id === '@mpmml/wasm'
                ? at('wasm.js')
                : id.startsWith('./') && texts.has(at(id))
                  ? at(id)
                  : null,
          load: (id) => texts.get(id) ?? null,
        },
      ],
      logLevel: 'warn',
    })
    await bundle.write({ dir: inFolder() })
    await bundle.close()
  })

  it('computes by WebGPU in its worker', async () => {
    const { server, browser } = await openPage(inFolder(), [
      '--enable-unsafe-webgpu',
      '--use-webgpu-adapter=swiftshader',
    ])
    try {
      const found = await browser.evaluate<{
        c: number[]
        witness: number[]
        backend: string
      }>(`(async () => {
        const a = matrix(2, 3, Int32Array.of(1, 6, 2, 8, 3, 4))
        const b = matrix(3, 2, Int32Array.of(2, 5, 3, 3, 1, 6))
        const { c, witness, backend } = await mpmm(a, b, { backend: 'webgpu', witness: true })
        return { c: [...c.data], witness: [...witness.data], backend }
      })()`)
      // K. Stanczyk, Max-Plus Algebra Toolbox for MATLAB, user guide, example 2.12c.
      expect(found).toEqual({ c: [9, 9, 10, 13], witness: [1, 1, 0, 0], backend: 'webgpu' })
      const resident = await browser.evaluate<number[]>(`(async () => {
        const device = await openDevice({ backend: 'webgpu' })
        const a = await device.upload(matrix(2, 2, Float32Array.of(1, 2, 3, 4)))
        const { c } = await mpmm(a, a, { semiring: 'min-plus' })
        const { data } = await c.download()
        await device.close()
        return [...data]
      })()`)
      expect(resident).toEqual([2, 3, 4, 5])
      expect(await browser.evaluate('info().webgpu')).toMatchObject({
        looked: true,
        reason: '',
        adapter: { isFallback: true },
      })
      expect(browser.problems).toEqual([])
    } finally {
      await browser.close()
      await server.close()
    }
  })

  it('reports that no GPU exists if the browser has none', async () => {
    const { server, browser } = await openPage(inFolder())
    try {
      const product = "mpmm(matrix(1, 1, [1]), matrix(1, 1, [2]), { backend: 'webgpu' })"
      expect(await browser.evaluate(`refused(${product})`)).toMatch(
        /^ERR_MPMML_NO_WEBGPU: WebGPU can't be used: /,
      )
      expect(await browser.evaluate('explainBackend().reason')).toMatch(/WebGPU can't be used/)
    } finally {
      await browser.close()
      await server.close()
    }
  })
})
