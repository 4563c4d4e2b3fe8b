/**
 * The library in a browser, with and without shared memory, under the strictest content security policy that
 * it supports.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { root, version } from '../../lib/native.js'
import { type Page, startBrowser, withoutChromium } from '../support/browser.js'
import { useFolder } from '../support/folder.js'
import { named } from '../support/skip.js'
import { isolated, policy, serveFolder, type WebServer } from '../support/web-server.js'
import { copyWasm, missingForBrowsers } from './support.js'

const missing = missingForBrowsers()
const why = withoutChromium ?? missing

/**
 * Program with all exports for pages; `counted` is the number of turns of the page's event loop during a
 * call.
 */
const program = `
import * as mpmml from 'mpmml'
import * as algebra from 'mpmml/algebra'
import * as files from 'mpmml/files'
import * as graph from 'mpmml/graph'
import * as rna from 'mpmml/rna'
Object.assign(globalThis, mpmml, algebra, files, graph, rna)
globalThis.ownSemirings = () => import('mpmml/semirings')
const random = (seed) => () => (seed = (Math.imul(seed, 1664525) + 1013904223) | 0) >> 16
globalThis.values = (length, seed) => Int32Array.from({ length }, random(seed))
globalThis.slowly = (n, a, b) => {
  const c = new Int32Array(n * n).fill(-(2 ** 31))
  for (let i = 0; i < n; i++) for (let k = 0; k < n; k++) for (let j = 0; j < n; j++)
    c[i * n + j] = Math.max(c[i * n + j], a[i * n + k] + b[k * n + j])
  return c
}
globalThis.refused = (promise) => promise.then(() => 'nothing', ({ code, message }) => code + ': ' + message)
globalThis.counted = async (promise) => {
  let turns = 0
  const timer = setInterval(() => turns++, 0)
  const result = await promise
  clearInterval(timer)
  return { result, turns }
}
document.title = 'ready'`

describe.skipIf(why).each([
  { name: 'alone', headers: policy, threads: false },
  { name: 'isolated', headers: { ...policy, ...isolated }, threads: true },
])(named('a page that is $name', why), ({ headers, threads }) => {
  const inFolder = useFolder()
  let server: WebServer
  let browser: Page
  const ask = <T>(expression: string) => browser.evaluate<T>(expression)

  beforeAll(async () => {
    writeFileSync(
      inFolder('index.html'),
      '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script type="module" src="program.js"></script>',
    )
    // The program's path is inside the package, so that `mpmml` resolves to this package.
    const input = join(root, 'test', 'browser', 'program.js')
    const bundle = await rolldown({
      input,
      platform: 'browser',
      plugins: [
        {
          name: 'program',
          resolveId: (id) =>
            id === input ? id : id === '@mpmml/wasm' ? { id: './wasm/browser.mjs', external: true } : null,
          load: (id) => (id === input ? program : null),
        },
      ],
      logLevel: 'warn',
    })
    const { output } = await bundle.write({ dir: inFolder() })
    await bundle.close()
    const ofLibrary = output.flatMap((chunk) => ('moduleIds' in chunk ? chunk.moduleIds : []))
    expect(
      ofLibrary.filter(
        (id) => id !== input && !id.startsWith('\0') && !id.startsWith(join(root, 'dist', 'browser')),
      ),
    ).toEqual([])
    copyWasm(inFolder('wasm'))
    server = await serveFolder(inFolder(), headers)
    browser = await startBrowser()
    await browser.open(`${server.url}/`, 800, 'light')
    await vi.waitFor(
      async () => expect([await ask('document.title'), browser.problems]).toEqual(['ready', []]),
      30_000,
    )
  })

  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })

  it('loads the suitable module, and violates no rule of the policy', async () => {
    expect(await ask('crossOriginIsolated')).toBe(threads)
    expect(await ask('info()')).toMatchObject({
      version,
      addon: { kind: 'wasm', from: '@mpmml/wasm' },
      cpu: { threads: threads ? await ask('navigator.hardwareConcurrency') : 1 },
      cuda: { status: 'WebAssembly has no CUDA' },
      auto: {
        backend: 'cpu',
        reason: "the addon is WebAssembly, which has no CUDA; and WebGPU hasn't been looked for yet",
      },
    })
    expect(browser.problems).toEqual([])
  })

  it('has a worker that doesn’t load the page’s file, because bundlers would recurse', async () => {
    const worker = await ask<string>("fetch('wasm/worker.mjs').then((response) => response.text())")
    expect(worker).toContain('./shared.mjs')
    expect(worker).not.toContain('browser.mjs')
  })

  it('computes the products of a loop, synchronously and by a worker', async () => {
    const same = `(async (product) => {
      const [a, b] = [values(120 * 120, 1), values(120 * 120, 2)]
      const { c } = await product(matrix(120, 120, a), matrix(120, 120, b))
      return c.data.join() === slowly(120, a, b).join()
    })`
    expect(await ask(`${same}(mpmm)`)).toBe(true)
    expect(await ask(`${same}(mpmmSync)`)).toBe(true)
    expect(await ask(`${same}(async (a, b) => (await mpmmGrouped([{ a, b }, { a: b, b: a }]))[0])`)).toBe(
      true,
    )
  })

  it('writes only elements of the result, and witnesses', async () => {
    const found = await ask(`(async () => {
      const [a, b] = [values(100 * 100, 3), values(100 * 100, 4)]
      const data = new Int32Array(100 * 150 + 7).fill(9)
      const out = { data, shape: [100, 100], strides: [150, 1], offset: 7 }
      const { witness } = await mpmm(matrix(100, 100, a), matrix(100, 100, b), { out, witness: true })
      const c = slowly(100, a, b)
      return {
        before: data[6],
        after: data[7 + 100],
        same: c.every((value, at) => {
          const [i, j] = [Math.floor(at / 100), at % 100]
          const k = witness.data[at]
          return data[7 + i * 150 + j] === value && a[i * 100 + k] + b[k * 100 + j] === value
        }),
      }
    })()`)
    expect(found).toEqual({ before: 9, after: 9, same: true })
  })

  it('stays alive while a product is computed', async () => {
    const turns = await ask<number>(`(async () => {
      const a = matrix(1200, 1200, values(1200 * 1200, 5))
      return (await counted(mpmm(a, a))).turns
    })()`)
    expect(turns).toBeGreaterThan(2)
  })

  it('aborts a product by its signal', async () => {
    const error = await ask(`(async () => {
      const a = matrix(1200, 1200, values(1200 * 1200, 5))
      const aborting = new AbortController()
      const product = refused(mpmm(a, a, { signal: aborting.signal }))
      aborting.abort()
      return product
    })()`)
    expect(error).toContain('ERR_MPMML_ABORTED')
    expect(await ask('(async () => (await mpmm(matrix(1, 1, [2]), matrix(1, 1, [3]))).c.data[0])()')).toBe(5)
  })

  it('keeps matrices in the worker', async () => {
    const found = await ask(`(async () => {
      const device = await openDevice()
      const a = await device.upload(matrix(2, 2, [1, 2, 3, 4]))
      const { c } = await mpmm(a, a)
      const { c: d } = await mpmm(c, matrix(2, 2, [0, 1, 2, 3]))
      const data = [...(await c.download()).data, ...(await d.download()).data]
      const { used } = device.memory()
      let sync = ''
      try { mpmmSync(a, a) } catch ({ code }) { sync = code }
      const groups = await mpmmGrouped([{ a, b: c }, { a: c, b: a }])
      const grouped = await Promise.all(groups.map(async ({ c }) => (await c.download()).data.join()))
      await device.close()
      return { data, used: used >= 48, sync, grouped, name: device.backend, after: await refused(mpmm(a, a)) }
    })()`)
    expect(found).toMatchObject({
      data: [5, 6, 7, 8, 8, 9, 10, 11],
      used: true,
      sync: 'ERR_MPMML_DEVICE',
      grouped: ['9,10,11,12', '9,10,11,12'],
      name: 'cpu',
    })
    expect((found as { after: string }).after).toContain('ERR_MPMML_DISPOSED')
  })

  it.each([
    [
      "shortestPaths(parseGraph('a,b,4\\nb,c,-1\\na,c,5', { format: 'csv', keys: true }), { paths: true })",
      "({ path, distances }) => [path('a', 'c'), [...distances.data]]",
      [
        ['a', 'b', 'c'],
        [0, 4, 3, 2147483647, 0, -1, 2147483647, 2147483647, 0],
      ],
    ],
    [
      'shortestPaths({ nodes: 2, from: [0, 1], to: [1, 0], weight: [1, -2] }).catch((error) => error)',
      '({ code, cycle }) => [code, cycle]',
      ['ERR_MPMML_CYCLE', [0, 1]],
    ],
    [
      'longestPaths({ nodes: 3, from: [0, 0, 1], to: [1, 2, 2], weight: [1, 5, 6] }, { sources: 0 })',
      '({ distances }) => [...distances.data]',
      [0, 1, 7],
    ],
    ['maximumCycleMean(matrix(2, 2, [3, 7, 2, 4]))', '({ value }) => value', 4.5],
    [
      'earliestStarts({ nodes: 3, from: [0, 1], to: [1, 2], weight: [2, 3] })',
      '({ starts }) => [...starts]',
      [0, 2, 5],
    ],
    ['star(matrix(2, 2, [-1, 2, -3, -1]))', '({ c }) => [...c.data]', [0, 2, -3, 0]],
    [
      'topologicalOrder({ nodes: 3, from: [2, 1], to: [1, 0], weight: [1, 1] })',
      '(order) => [...order]',
      [2, 1, 0],
    ],
    [
      "bpmax('GGG', 'CCC')",
      '({ score, pairs }) => [score, pairs.between]',
      [
        9,
        [
          [0, 2],
          [1, 1],
          [2, 0],
        ],
      ],
    ],
    ["nussinov('GGGAAACCC')", '({ score }) => score', 9],
  ])('has %s', async (call, read, expected) => {
    expect(await ask(`${call}.then(${read})`)).toEqual(expected)
  })

  it('supports custom semirings', async () => {
    const found = await ask(`(async () => {
      const { semiring } = await ownSemirings()
      const closest = semiring({
        name: 'least absolute difference', dtype: 'int32',
        zero: 2 ** 31 - 1, plus: (x, y) => x.min(y), times: (x, y, { abs }) => abs(x.sub(y)), absorbs: false,
      })
      const [a, b] = [values(100 * 100, 6), values(100 * 100, 7)]
      const { c } = await mpmm(matrix(100, 100, a), matrix(100, 100, b), { semiring: closest })
      return c.data.every((value, at) => {
        const [i, j] = [Math.floor(at / 100), at % 100]
        let least = 2 ** 31 - 1
        for (let k = 0; k < 100; k++) least = Math.min(least, Math.abs(a[i * 100 + k] - b[k * 100 + j]))
        return value === least
      })
    })()`)
    expect(found).toBe(true)
  })

  it('parses and formats content in memory, and advises alternatives to reading files', async () => {
    expect(await ask('parseNpy(formatNpy(matrix(2, 2, [1, 2, 3, 4]))).data.join()')).toBe('1,2,3,4')
    expect(
      await ask(
        'parseGraph(\'<graphml><graph edgedefault="directed"><node id="ü"/></graph></graphml>\', { format: "graphml" }).keys',
      ),
    ).toEqual(['ü'])
    for (const [call, advice] of [
      ["readNpy('a.npy')", 'parseNpy'],
      ["writeNpy('a.npy', matrix(1, 1, [1]))", 'formatNpy'],
      ["readMatrix('a.csv')", 'parseNpy'],
      ["writeMatrix('a.csv', matrix(1, 1, [1]))", 'formatNpy'],
      ["readGraph('a.csv')", 'parseGraph'],
      ["readFasta('a.fa')", 'parseFasta'],
    ]) {
      const error = await ask(`refused(${call})`)
      expect(error).toContain('ERR_MPMML_FILE')
      expect(error).toContain(advice)
    }
  })
})
