// How much memory a process has after many calls whose results are kept and dropped at random:
//
//   node native/tools/memory-of-results.mjs [calls] [calls at a time] [backend] [largest n]
//
// by default 100000 calls, 64 at a time, on a GPU, of up to 512³. Prints RSS, pinned memory and arrays every tenth of the calls, and how
// far RSS and pinned memory of the second half are from their means. Some results become operands, are transferred to a worker, or
// are kept by only a part of them. All that are kept are compared with what they were. Needs the built package (npm run build).
import { Worker } from 'node:worker_threads'
import { matrix, mpmm } from '../../dist/lib/index.js'
import { addon } from '../../dist/lib/native.js'

const [calls = '100000', atOnce = '64', backend = 'cuda', largest = '512'] = process.argv.slice(2)
const MIB = 2 ** 20
const KEPT = 100

let seed = 12345
const below = (count) => {
  seed = (seed * 48271) % 2147483647
  return seed % count
}

const worker = new Worker(
  `const { parentPort } = require('node:worker_threads')
  const kept = []
  parentPort.on('message', (data) => {
    kept.push(data)
    if (kept.length > 8) kept.shift()
  })`,
  { eval: true },
)
worker.unref()

const sum = (data) => {
  let total = data.length
  for (let index = 0; index < data.length; index += 97) total = (total * 31 + data[index]) | 0
  return total
}

/** Results with their sums. */
const kept = []
const keep = (data, shape) => {
  const one = { data, shape, sum: sum(data) }
  if (kept.length < KEPT) kept.push(one)
  else {
    const place = below(KEPT)
    if (sum(kept[place].data) !== kept[place].sum) throw new Error('a result that was kept has changed')
    kept[place] = one
  }
}

const sizes = [64, 128, 150, 200, 256, 300, 384, 512, 700, 1024, 2048].filter((n) => n <= Number(largest))
const operands = new Map(
  sizes.map((n) => [
    n,
    matrix(
      n,
      n,
      Int32Array.from({ length: n * n }, () => below(2000) - 1000),
    ),
  ]),
)

async function call() {
  const n = sizes[below(sizes.length)]
  const result = kept.find(({ shape }) => shape === n)
  const a = result && below(4) === 0 ? matrix(n, n, result.data) : operands.get(n)
  const { c } = await mpmm(a, operands.get(n), { backend, overflow: 'saturate' })
  const what = below(20)
  if (what === 0) worker.postMessage(c.data, [c.data.buffer])
  else if (what === 1) keep(c.data.subarray(n, 3 * n), 0)
  else if (what < 12) keep(c.data, n)
}

const samples = []
let done = 0
const each = Math.max(1, Math.floor(Number(calls) / 200))
async function caller() {
  while (done < Number(calls)) {
    done++
    if (done % each === 0) {
      const { rss, arrayBuffers } = process.memoryUsage()
      samples.push({ rss: rss / MIB, pinned: addon.pinnedUse().held / MIB })
      if (samples.length % 20 === 0) {
        const { held, used } = addon.pinnedUse()
        const [inAll, arrays, pinned, ofArrays] = [rss, arrayBuffers, held, used].map((it) =>
          (it / MIB).toFixed(0),
        )
        console.log(
          `${done} calls: RSS ${inAll} MiB, arrays ${arrays}, pinned ${pinned}, of that used ${ofArrays}`,
        )
      }
    }
    await call()
  }
}

const start = performance.now()
await Promise.all(Array.from({ length: Number(atOnce) }, caller))
console.log(`${((performance.now() - start) / Number(calls)).toFixed(4)} ms per call`)
for (const one of kept) if (sum(one.data) !== one.sum) throw new Error('a result that was kept has changed')
const half = samples.slice(samples.length / 2)
for (const name of ['rss', 'pinned']) {
  const all = half.map((sample) => sample[name])
  const mean = all.reduce((total, one) => total + one, 0) / all.length
  const off = Math.max(...all.map((one) => Math.abs(one - mean))) / Math.max(mean, 1)
  console.log(
    `${name}: mean of the second half ${mean.toFixed(0)} MiB, at most ${(100 * off).toFixed(1)} % off`,
  )
}
