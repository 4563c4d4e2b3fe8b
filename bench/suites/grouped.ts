/** Many small products of different shapes in one call, as a tensor network has them. */
import {
  type Device,
  type DeviceMatrix,
  type GroupedProduct,
  mpmmGrouped,
  mpmmSync,
  openDevice,
} from '../../lib/index.js'
import { naiveVariant } from '../verify.js'
import { Draw, integers } from './draw.js'
import type { Findings, Suite } from './protocol.js'

type Resident = GroupedProduct<DeviceMatrix, DeviceMatrix, DeviceMatrix>

/** So many uploads at once. */
const AT_ONCE = 64
/** Every so many products one is compared with the naive product. */
const CHECKED = 97

const sizesOf = (count: number) => {
  const draw = new Draw(8282)
  return Array.from({ length: count }, () => {
    const [m, k, n] = [draw.integer(8, 256), draw.integer(8, 256), draw.integer(8, 256)]
    return { m, k, n }
  })
}

async function uploadAll(
  device: Device,
  sizes: { m: number; k: number; n: number }[],
  findings: Findings,
): Promise<{ a: DeviceMatrix; b: DeviceMatrix }[]> {
  const products: { a: DeviceMatrix; b: DeviceMatrix }[] = []
  for (let from = 0; from < sizes.length; from += AT_ONCE) {
    findings.progress('uploading', (0.5 * from) / sizes.length)
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
  products: readonly Resident[],
  results: readonly { c: DeviceMatrix }[],
  findings: Findings,
): Promise<void> {
  for (let index = 0; index < products.length; index += CHECKED) {
    const { a, b } = products[index]!
    const [left, right, came] = [await a.download(), await b.download(), await results[index]!.c.download()]
    const { c } = mpmmSync(left, right, { variant: naiveVariant('max-plus', 'int32') })
    const wrong = c.data.findIndex((value, at) => value !== came.data[at])
    if (wrong >= 0) {
      findings.wrong(
        `product ${index} has ${came.data[wrong]} at element ${wrong}, the naive product ${c.data[wrong]}`,
      )
    }
  }
}

async function time(
  of: string,
  products: readonly Resident[],
  repetitions: number,
  isAsked: boolean,
  findings: Findings,
): Promise<void> {
  const samples: { whole: number; called: number; kernels: number; total: number }[] = []
  const mine = products[0]!.out === undefined
  for (let repetition = -1; repetition < repetitions; repetition++) {
    const begin = performance.now()
    const running = mpmmGrouped(products)
    const called = performance.now() - begin
    const results = await running
    const whole = performance.now() - begin
    const kernels = results.reduce((sum, { timing }) => sum + timing.kernelMs, 0)
    if (repetition < 0) {
      findings.figure(of, 'the first call', 'ms', whole)
      await compare(products, results, findings)
    } else samples.push({ whole, called, kernels, total: results[0]!.timing.totalMs })
    if (mine) for (const { c } of results) c.dispose()
  }
  const column = (name: 'whole' | 'called' | 'kernels' | 'total') => samples.map((sample) => sample[name])
  findings.figure(of, 'the whole call', 'ms', column('whole'))
  findings.figure(of, 'until the call returns', 'ms', column('called'))
  findings.figure(of, 'sum of kernelMs', 'ms', column('kernels'))
  findings.figure(of, 'totalMs', 'ms', column('total'))
  const share = (part: 'whole' | 'total') => samples.map((sample) => (100 * sample.kernels) / sample[part])
  const asked = isAsked ? { must: 85, aim: 95 } : {}
  findings.figure(of, 'kernelMs in the whole call', '%', share('whole'), { ...asked, moreIsBetter: true })
  findings.figure(of, 'kernelMs in totalMs', '%', share('total'), { moreIsBetter: true })
}

export const grouped: Suite = {
  shows: 'products of sizes 8…256 in one call of mpmmGrouped, resident; how much of the time kernels run',
  async run({ backend, device: index, quick, repetitions }, findings) {
    const device = await openDevice({ backend, device: index })
    const count = quick ? 100 : backend === 'cuda' ? 8282 : 1000
    const sizes = sizesOf(count)
    const products = await uploadAll(device, sizes, findings)
    const isAsked = backend === 'cuda' && count === 8282
    const times = repetitions ?? (quick ? 3 : 11)
    findings.progress('the results left to the library', 0.5)
    await time(`${count} products`, products, times, isAsked, findings)
    findings.progress('with out', 0.75)
    const outs = await Promise.all(sizes.map(({ m, n }) => device.full([m, n], 0)))
    const into = products.map((product, at) => ({ ...product, out: outs[at]! }))
    await time(`${count} products into out`, into, times, isAsked, findings)
    await device.close()
  },
}
