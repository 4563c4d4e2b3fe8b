/** Finds products that take longer than larger products, over sizes in small steps and long, thin shapes. */
import { mpmm } from '../../lib/index.js'
import { median, repeat } from '../experiment.js'
import { operandsOf, type ValueKind } from '../timing/values.js'
import type { Bench, Suite, SuiteCase } from './suite.js'

type Sizes = readonly [m: number, n: number, k: number]

/** Ratio of the times of a product and a larger product from which the pair is reported. */
const TOLERATED = 1.1

/** Returns rows of products. No product may take longer than a later product of its row. */
function rowsOf(bench: Bench): Record<string, Sizes[]> {
  const step = bench.pick(32, 8, 32)
  const most = bench.pick(96, 1536, 512)
  const long = bench.pick(256, 4096, 1024)
  const thin = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256].filter((size) => size <= long)
  const cubes = Array.from({ length: most / step }, (_, at) => (at + 1) * step)
  return {
    'n³': cubes.map((n) => [n, n, n]),
    [`n × ${long} × ${long}`]: thin.map((m) => [m, long, long]),
    [`${long} × n × ${long}`]: thin.map((n) => [long, n, long]),
    [`${long} × ${long} × n`]: thin.map((k) => [long, long, k]),
    [`n × n × ${long}`]: thin.map((n) => [n, n, long]),
  }
}

async function timed(bench: Bench, kind: ValueKind, [m, n, k]: Sizes) {
  const { a, b } = operandsOf({ batch: 1, m, n, k }, kind)
  const device = await bench.device()
  using left = await device.upload(a)
  using right = await device.upload(b)
  using out = await device.full([m, n], 0, kind === 'float32' ? 'float32' : 'int32')
  const samples = await repeat(bench.times(3, 15), 3, () => mpmm(left, right, { out }))
  const time = median(samples.map(({ timing }) => timing.kernelMs))
  return { size: `${m} × ${n} × ${k}`, time, variant: samples[0]!.variant }
}

async function compare(bench: Bench, kind: ValueKind, of: string, sizes: Sizes[]): Promise<void> {
  const row: Awaited<ReturnType<typeof timed>>[] = []
  for (const [at, size] of sizes.entries()) {
    bench.onPart(size.join(' × '), at / sizes.length)
    row.push(await timed(bench, kind, size))
  }
  // Each product is compared with the fastest later product of the row.
  const found = row.slice(0, -1).map((one, at) => {
    const later = row.slice(at + 1).reduce((least, other) => (other.time < least.time ? other : least))
    return { one, later, ratio: one.time / later.time }
  })
  const most = Math.max(...found.map(({ ratio }) => ratio))
  const goal = bench.ofGpu({ must: 1.2, aim: TOLERATED })
  bench.figure(`${of}, ${kind}`, 'time / that of a larger one, at most', 'x', most, goal)
  for (const { one, later, ratio } of found.filter((each) => each.ratio > TOLERATED)) {
    bench.figure(`${one.size}, ${kind}`, 'time / that of a larger one', 'x', ratio, {
      note: `${one.variant}; ${later.size}: ${later.variant}`,
    })
  }
}

export const monotone: Suite = {
  shows: 'sizes in small steps: those that take longer than a larger one',
  grid(bench) {
    const kinds: ValueKind[] = ['int32', '16bit', 'float32', ...(bench.gpu ? (['levels'] as const) : [])]
    return kinds.flatMap((kind) =>
      Object.entries(rowsOf(bench)).map(
        ([of, sizes]): SuiteCase => [`${of}, ${kind}`, () => compare(bench, kind, of, sizes)],
      ),
    )
  },
}
