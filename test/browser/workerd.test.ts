/**
 * The library in workerd, the runtime of Cloudflare Workers. MPMML_TEST_WORKERD is the path of the program,
 * for example from the npm package @cloudflare/workerd-linux-64.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { root, version } from '../../lib/native.js'
import { useFolder } from '../support/folder.js'
import { describeUnless, missingFile } from '../support/skip.js'

const workerd = process.env.MPMML_TEST_WORKERD
const wasm = join(root, 'build', 'Release', 'wasm')
const missing = missingFile(join(root, 'dist', 'browser', 'index.js'), join(wasm, 'workerd.mjs'))
const why = workerd ? missing : 'MPMML_TEST_WORKERD names no program'

const program = `
import { explainBackend, info, matrix, mpmm, mpmmSync, openDevice } from 'mpmml'
import { maximumCycleMean } from 'mpmml/algebra'
import { shortestPaths } from 'mpmml/graph'
import { nussinov } from 'mpmml/rna'
import { semiring } from 'mpmml/semirings'

const refused = (promise) => promise.then(() => 'nothing', ({ code }) => code)
const [a, b] = [matrix(2, 3, [1, 6, 2, 8, 3, 4]), matrix(3, 2, [2, 5, 3, 3, 1, 6])]

const closest = semiring({
  name: 'least absolute difference',
  dtype: 'int32',
  zero: 2 ** 31 - 1,
  plus: (x, y) => x.min(y),
  times: (x, y) => x.sub(y).abs(),
  absorbs: false,
})

/** Product by a loop, for comparison. */
function slowly(n, x) {
  const c = new Int32Array(n * n).fill(-(2 ** 31))
  for (let i = 0; i < n; i++) for (let k = 0; k < n; k++) for (let j = 0; j < n; j++)
    c[i * n + j] = Math.max(c[i * n + j], x[i * n + k] + x[k * n + j])
  return c
}

async function found() {
  const values = Int32Array.from({ length: 200 * 200 }, (_, at) => (Math.imul(at, 7919) % 2001) - 1000)
  const { c } = await mpmm(matrix(200, 200, values), matrix(200, 200, values))
  const device = await openDevice()
  const there = await device.upload(a)
  const product = await (await mpmm(there, b)).c.download()
  await device.close()
  const edges = { nodes: 3, from: [0, 1], to: [1, 2], weight: [4, 5] }
  return {
    version: info().version,
    kind: info().addon.kind,
    threads: info().cpu.threads,
    backend: explainBackend().backend,
    now: [...mpmmSync(a, b).c.data],
    later: [...(await mpmm(a, b)).c.data],
    same: c.data.join() === slowly(200, values).join(),
    onDevice: [...product.data],
    distances: [...(await shortestPaths(edges, { sources: 0 })).distances.data],
    mean: (await maximumCycleMean(matrix(2, 2, [3, 7, 2, 4]))).value,
    folded: (await nussinov(['GGGAAACCC']))[0].dotBracket,
    own: [...(await mpmm(matrix(1, 2, [1, 10]), matrix(2, 1, [5, 12]), { semiring: closest })).c.data],
    overflow: await refused(mpmm(matrix(1, 1, [2 ** 31 - 1]), matrix(1, 1, [1]))),
    aborted: await refused(mpmm(a, b, { signal: AbortSignal.abort() })),
  }
}

export default { fetch: async () => Response.json(await found()) }`

const config = `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [
    (name = "worker.mjs", esModule = embed "worker.mjs"),
    (name = "mpmml-single.wasm", wasm = embed "mpmml-single.wasm"),
  ],
  compatibilityDate = "2026-01-01",
);`

describeUnless(why, 'workerd', () => {
  const inFolder = useFolder()
  let server: ChildProcess
  let port = 0

  beforeAll(async () => {
    // The program's path is inside the package, so that `mpmml` resolves to this package.
    const input = join(root, 'test', 'browser', 'program.js')
    const bundle = await rolldown({
      input,
      platform: 'browser',
      resolve: { conditionNames: ['workerd', 'worker', 'browser', 'import'] },
      plugins: [
        {
          name: 'program',
          resolveId(id) {
            if (id === '@mpmml/wasm') return join(wasm, 'workerd.mjs')
            if (id.endsWith('.wasm')) return { id: './mpmml-single.wasm', external: true }
            return id === input ? id : null
          },
          load: (id) => (id === input ? program : null),
        },
      ],
      logLevel: 'warn',
    })
    await bundle.write({ dir: inFolder(), entryFileNames: 'worker.mjs', codeSplitting: false })
    await bundle.close()
    cpSync(join(wasm, 'mpmml-single.wasm'), inFolder('mpmml-single.wasm'))
    writeFileSync(inFolder('config.capnp'), config)
    // workerd writes its port to file descriptor 3.
    server = spawn(workerd!, ['serve', '--control-fd=3', inFolder('config.capnp')], {
      stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
    })
    port = await new Promise<number>((resolve, reject) => {
      server.on('error', reject)
      server.on('exit', (status) => reject(new Error(`workerd ended with status ${status}`)))
      let said = ''
      server.stdio[3]!.on('data', (chunk) => {
        said += chunk
        const [, found] = /"port":\s*(\d+)/.exec(said) ?? []
        if (found) resolve(Number(found))
      })
    })
  }, 120_000)

  afterAll(() => {
    server?.kill()
  })

  it('computes the results of pages, with one thread', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`)
    expect(await response.json()).toEqual({
      version,
      kind: 'wasm',
      threads: 1,
      backend: 'cpu',
      now: [9, 9, 10, 13],
      later: [9, 9, 10, 13],
      same: true,
      onDevice: [9, 9, 10, 13],
      distances: [0, 4, 9],
      mean: 4.5,
      folded: '(((...)))',
      own: [2],
      overflow: 'ERR_MPMML_OVERFLOW',
      aborted: 'ERR_MPMML_ABORTED',
    })
  })
})
