/** Whether a product takes longer than a larger one: sizes in small steps, and long, thin shapes. */
import { mpmm } from '../../lib/index.js'
import { median, repeat } from '../experiment.js'
import { operandsOf, type ValueKind } from '../timing/values.js'
import type { Bench, Suite, SuiteCase } from './suite.js'

type Sizes = readonly [m: number, n: number, k: number]

interface Timed {
  size: string
  /** Of the kernel, in ms: the median. */
  time: number
  variant: string
}

/** Products in an order in which none may take longer than a later one. */
interface Row {
  of: string
  sizes: Sizes[]
}

/** A product may take so many times as long as a larger one: more is named. */
const TOLERATED = 1.1
const LONG = 4096

function rows(bench: Bench): Row[] {
  const step = bench.pick(32, 8, 32)
  const most = bench.pick(96, 1536, 512)
  const long = bench.pick(256, LONG, 1024)
  const thin = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256].filter((size) => size <= long)
  const cubes = Array.from({ length: most / step }, (_, at) => (at + 1) * step)
  return [
    { of: 'n³', sizes: cubes.map((n) => [n, n, n]) },
    { of: `n × ${long} × ${long}`, sizes: thin.map((m) => [m, long, long]) },
    { of: `${long} × n × ${long}`, sizes: thin.map((n) => [long, n, long]) },
    { of: `${long} × ${long} × n`, sizes: thin.map((k) => [long, long, k]) },
    { of: `n × n × ${long}`, sizes: thin.map((n) => [n, n, long]) },
  ]
}

async function timed(bench: Bench, kind: ValueKind, [m, n, k]: Sizes): Promise<Timed> {
  const device = await bench.device()
  const { a, b } = operandsOf({ batch: 1, m, n, k }, kind)
  using left = await device.upload(a)
  using right = await device.upload(b)
  using out = await device.full([m, n], 0, kind === 'float32' ? 'float32' : 'int32')
  let variant = ''
  const times = await repeat(bench.times(3, 15), 3, async () => {
    const product = await mpmm(left, right, { out })
    variant = product.variant
    return product.timing.kernelMs
  })
  return { size: `${m} × ${n} × ${k}`, time: median(times), variant }
}

/** How much longer each took than the quickest of those after it. */
function excesses(row: readonly Timed[]): { one: Timed; later: Timed; ratio: number }[] {
  return row.slice(0, -1).map((one, at) => {
    const later = row.slice(at + 1).reduce((least, other) => (other.time < least.time ? other : least))
    return { one, later, ratio: one.time / later.time }
  })
}

async function compare(bench: Bench, kind: ValueKind, { of, sizes }: Row): Promise<void> {
  const row: Timed[] = []
  for (const [at, size] of sizes.entries()) {
    bench.onPart(size.join(' × '), at / sizes.length)
    row.push(await timed(bench, kind, size))
  }
  const found = excesses(row)
  const most = Math.max(...found.map(({ ratio }) => ratio))
  bench.figure(`${of}, ${kind}`, 'time / that of a larger one, at most', 'x', most, {
    ...bench.ofGpu({ must: 1.2, aim: TOLERATED }),
  })
  for (const { one, later, ratio } of found) {
    if (ratio <= TOLERATED) continue
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
      rows(bench).map((row): SuiteCase => [`${row.of}, ${kind}`, () => compare(bench, kind, row)]),
    )
  },
}
