/** Whether many small calls leave something behind. */
import { type Device, type DeviceMatrix, matrix, mpmm } from '../../lib/index.js'
import { integers } from '../timing/values.js'
import { type ProcessState, processState } from './process-state.js'
import type { Bench, Suite, SuiteCase } from './suite.js'

const SIZE = 16
/** Calls that run at once. */
const AT_ONCE = 64

interface State extends ProcessState {
  used: number
  reserved: number
  free: number
}

async function stateOf(device: Device): Promise<State> {
  const state = await processState()
  const { used, reserved, free } = device.memory()
  return { ...state, used, reserved, free }
}

/** Makes so many calls, and shows what the process holds more than after a warm-up of three tenths of them. */
async function watch(
  bench: Bench,
  what: string,
  calls: number,
  call: (device: Device) => Promise<unknown>,
): Promise<void> {
  const of = `${calls} ${what}`
  const device = await bench.device()
  const make = async (count: number) => {
    for (let made = 0; made < count; made += AT_ONCE) {
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - made) }, () => call(device)))
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
  bench.figure(of, 'more handles', '', last.handles - first.handles, { must: 0 })
  if (last.threads !== null) {
    const note = `of ${first.threads}`
    bench.figure(of, 'more threads', '', last.threads - first.threads!, { must: 0, note })
  }
  const growth = (name: 'used' | 'reserved' | 'free') => last[name] - first[name]
  bench.figure(of, "more of the device's memory in use", 'bytes', growth('used'), { must: 0 })
  // On the CPU with the workspaces of each thread, which grow when that thread has a product for the first time.
  const asked = bench.gpu ? { must: 0 } : {}
  bench.figure(of, 'more of it held by the library', 'bytes', growth('reserved'), asked)
  // What others do on the machine is in it too.
  bench.figure(of, 'less of it free', 'bytes', -growth('free'))
  bench.figure(of, 'a call', 'µs', (1000 * whole) / calls)
}

export const memory: Suite = {
  shows: `what ${AT_ONCE} small calls at once leave behind, over and over: memory, handles and threads after a warm-up and at the end`,
  grid(bench) {
    const calls = bench.quick ? 1000 : 1e5
    const [a, b] = [integers([SIZE, SIZE], 1), integers([SIZE, SIZE], 2)]
    const out = matrix(SIZE, SIZE)
    let left!: DeviceMatrix
    let right!: DeviceMatrix
    const watched = (what: string, call: (device: Device) => Promise<unknown>): SuiteCase => [
      what,
      () => watch(bench, what, calls, call),
    ]
    return [
      watched('of arrays', () => mpmm(a, b, bench.place)),
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
