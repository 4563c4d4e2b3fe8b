/** Detects leaks of memory, threads and handles in many small calls. */
import { type DenseMatrix, type Device, type DeviceMatrix, info, matrix, mpmm } from '../../lib/index.js'
import { Draw } from '../random.js'
import { integers } from '../timing/values.js'
import { type ProcessState, processState } from './process-state.js'
import type { Bench, Suite, SuiteCase } from './suite.js'

const SIZE = 16
/** Calls that run at once. */
const AT_ONCE = 64
/**
 * Rows of results that stay referenced during later calls. On a GPU results of 128 × 128 elements or more are
 * in pinned memory.
 */
const SIZES = [16, 64, 128, 192, 256]
const MAX_KEPT = 256

interface State extends ProcessState {
  used: number
  reserved: number
  free: number
  pinned: number
}

async function stateOf(device: Device): Promise<State> {
  const state = await processState()
  const { used, reserved, free } = device.memory()
  return { ...state, used, reserved, free, pinned: info().cuda.pinned.held }
}

/**
 * Makes a number of calls after 30 % as many warm-up calls, and shows the growth of the process' resources.
 */
async function watch(
  bench: Bench,
  what: string,
  calls: number,
  call: (device: Device) => Promise<unknown>,
): Promise<void> {
  const of = `${calls} ${what}`
  const device = await bench.device()
  const make = async (count: number) => {
    for (let created = 0; created < count; created += AT_ONCE) {
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - created) }, () => call(device)))
    }
  }
  const blocks = 10
  await make(0.3 * calls)
  const first = await stateOf(device)
  const rss = []
  const begin = performance.now()
  for (let block = 1; block <= blocks; block++) {
    bench.onPart(what, block / blocks)
    await make(calls / blocks)
    if (block < blocks) rss.push((await processState()).rss)
  }
  const whole = performance.now() - begin
  const last = await stateOf(device)
  const megabytes = [...rss, last.rss].map((now) => ((now - first.rss) / 2 ** 20).toFixed(1))
  bench.figure(of, 'growth of RSS', '%', (100 * (last.rss - first.rss)) / first.rss, {
    must: 5,
    note: `from ${Math.round(first.rss / 2 ** 20)} MiB by ${megabytes.join(', ')} MiB`,
  })
  const ofPinned = (100 * (last.pinned - first.pinned)) / Math.max(first.pinned, 1)
  const pinnedNote = `from ${Math.round(first.pinned / 2 ** 20)} MiB`
  bench.figure(of, 'growth of pinned memory', '%', ofPinned, { must: 5, note: pinnedNote })
  bench.figure(of, 'more handles', '', last.handles - first.handles, { must: 0 })
  if (last.threads !== null) {
    const note = `of ${first.threads}`
    bench.figure(of, 'more threads', '', last.threads - first.threads!, { must: 0, note })
  }
  const growth = (name: 'used' | 'reserved' | 'free') => last[name] - first[name]
  bench.figure(of, "more of the device's memory in use", 'bytes', growth('used'), { must: 0 })
  // No goal on the CPU: each thread allocates a workspace at its first product.
  const goal = bench.gpu ? { must: 0 } : {}
  bench.figure(of, 'more of it held by the library', 'bytes', growth('reserved'), goal)
  // No goal: other processes also change the free memory.
  bench.figure(of, 'less of it free', 'bytes', -growth('free'))
  bench.figure(of, 'a call', 'µs', (1000 * whole) / calls)
}

export const memory: Suite = {
  shows: `what ${AT_ONCE} small calls at once leave behind, over and over: memory, handles and threads after a warm-up and at the end`,
  grid(bench) {
    const calls = bench.quick ? 1000 : 1e5
    const [a, b] = [integers([SIZE, SIZE], 1), integers([SIZE, SIZE], 2)]
    const out = matrix(SIZE, SIZE)
    const operands = SIZES.map((size) => integers([size, size], size))
    const retained: (DenseMatrix | null)[] = []
    const draw = new Draw(1)
    let left!: DeviceMatrix
    let right!: DeviceMatrix
    const watched = (what: string, call: (device: Device) => Promise<unknown>): SuiteCase => [
      what,
      () => watch(bench, what, calls, call),
    ]
    return [
      watched('of arrays', () => mpmm(a, b, bench.place)),
      watched('of arrays, results kept and dropped at random', async () => {
        const operand = draw.pick(operands)
        const { c } = await mpmm(operand, operand, bench.place)
        retained[draw.integer(0, MAX_KEPT - 1)] = draw.chance(0.5) ? c : null
      }),
      [
        'matrices',
        async () => {
          const device = await bench.device()
          left = await device.upload(a)
          right = await device.upload(b)
        },
      ],
      watched('resident, disposed', async () => {
        const { c } = await mpmm(left, right)
        c.dispose()
      }),
      watched('resident, not disposed', () => mpmm(left, right)),
      watched('uploads, products, downloads', async (device) => {
        const there = await device.upload(a)
        const { c } = await mpmm(there, right)
        there.dispose()
        const host = await c.download()
        c.dispose()
        out.data.set(host.data)
      }),
    ]
  },
}
