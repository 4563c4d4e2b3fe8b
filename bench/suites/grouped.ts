/** Measures many small products of different shapes in one call, as they occur in tensor networks. */
import { type DeviceMatrix, type GroupedProduct, mpmmGrouped } from '../../lib/index.js'
import { Draw } from '../random.js'
import { integers } from '../timing/values.js'
import { type Bench, differsFromNaive, type Suite } from './suite.js'

type Resident = GroupedProduct<DeviceMatrix, DeviceMatrix, DeviceMatrix>

/** Number of uploads in flight. */
const AT_ONCE = 64
/** Only every CHECKED-th product is compared with the naive product. */
const CHECKED = 97

const sizesOf = (count: number) => {
  const draw = new Draw(8282)
  return Array.from({ length: count }, () => {
    const [m, k, n] = [draw.integer(8, 256), draw.integer(8, 256), draw.integer(8, 256)]
    return { m, k, n }
  })
}

async function uploadAll(bench: Bench, sizes: ReturnType<typeof sizesOf>): Promise<Resident[]> {
  const device = await bench.device()
  const products: Resident[] = []
  for (let from = 0; from < sizes.length; from += AT_ONCE) {
    bench.onPart('uploading', from / sizes.length)
    const some = sizes.slice(from, from + AT_ONCE).map(async ({ m, k, n }, index) => {
      const seed = 2 * (from + index)
      const [a, b] = [integers([m, k], seed), integers([k, n], seed + 1)]
      return { a: await device.upload(a), b: await device.upload(b) }
    })
    products.push(...(await Promise.all(some)))
  }
  return products
}

async function compare(
  bench: Bench,
  products: readonly Resident[],
  results: readonly { c: DeviceMatrix }[],
): Promise<void> {
  for (let index = 0; index < products.length; index += CHECKED) {
    const { a, b } = products[index]!
    const c = await results[index]!.c.download()
    bench.wrong(differsFromNaive(c, await a.download(), await b.download()), `product ${index}`)
  }
}

/**
 * Returns the result of `call`, and the longest time in ms for which the event loop was blocked meanwhile.
 */
async function withHold<Result>(call: () => Promise<Result>): Promise<{ result: Result; hold: number }> {
  let hold = 0
  let latest = performance.now()
  const look = () => {
    const now = performance.now()
    hold = Math.max(hold, now - latest)
    latest = now
  }
  let runs = true
  const turn = () => {
    look()
    if (runs) setImmediate(turn)
  }
  const promise = call()
  setImmediate(turn)
  const result = await promise
  runs = false
  look()
  return { result, hold }
}

async function time(bench: Bench, of: string, products: readonly Resident[]): Promise<void> {
  const mine = products[0]!.out === undefined
  const call = async (nth: number) => {
    const begin = performance.now()
    let called = 0
    const { result: results, hold } = await withHold(() => {
      const running = mpmmGrouped(products)
      called = performance.now() - begin
      return running
    })
    const whole = performance.now() - begin
    const kernels = results.reduce((sum, { timing }) => sum + timing.kernelMs, 0)
    if (nth < 0) {
      bench.figure(of, 'the first call', 'ms', whole)
      await compare(bench, products, results)
    }
    if (mine) for (const { c } of results) c.dispose()
    return { whole, called, hold, kernels, total: results[0]!.timing.totalMs }
  }
  const share = { ...bench.ofGpu({ must: 85, aim: 95 }), moreIsBetter: true }
  await bench.measure(of, [3, 41, 1], call, [
    ['the whole call', 'ms', ({ whole }) => whole, bench.ofGpu({ must: 5.5, aim: 4.2 })],
    ['until the call returns', 'ms', ({ called }) => called],
    ["JavaScript's thread, the longest time", 'ms', ({ hold }) => hold, bench.ofGpu({ must: 1.5, aim: 0.8 })],
    ['sum of kernelMs', 'ms', ({ kernels }) => kernels],
    ['totalMs', 'ms', ({ total }) => total],
    ['kernelMs in the whole call', '%', ({ kernels, whole }) => (100 * kernels) / whole, share],
    ['kernelMs in totalMs', '%', ({ kernels, total }) => (100 * kernels) / total, { moreIsBetter: true }],
  ])
}

export const grouped: Suite = {
  shows: 'products of sizes 8…256 in one call of mpmmGrouped, resident; how much of the time kernels run',
  grid(bench) {
    const count = bench.pick(100, 8282, 1000)
    const sizes = sizesOf(count)
    let products: Resident[] = []
    return [
      [
        'matrices',
        async () => {
          products = await uploadAll(bench, sizes)
        },
      ],
      ['the results left to the library', () => time(bench, `${count} products`, products)],
      [
        'with out',
        async () => {
          const device = await bench.device()
          const outs = await Promise.all(sizes.map(({ m, n }) => device.full([m, n], 0)))
          // No spread syntax: Node.js 20 would give each object a separate hidden class, which takes 1 µs
          // more to read.
          const into = products.map(({ a, b }, at) => ({ a, b, out: outs[at]! }))
          await time(bench, `${count} products into out`, into)
        },
      ],
    ]
  },
}
