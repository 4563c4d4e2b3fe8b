/** Whether many small calls leave something behind. */
import { type Device, matrix, mpmm, openDevice } from '../../lib/index.js'
import { integers } from './draw.js'
import { type ProcessState, processState } from './process-state.js'
import type { Findings, Suite } from './protocol.js'

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
  of: string,
  calls: number,
  device: Device,
  call: () => Promise<unknown>,
  findings: Findings,
  progress: (share: number) => void,
): Promise<void> {
  const make = async (count: number) => {
    for (let made = 0; made < count; made += AT_ONCE) {
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - made) }, call))
    }
  }
  const blocks = 10
  await make(0.3 * calls)
  const first = await stateOf(device)
  const rss = []
  const begin = performance.now()
  for (let block = 1; block <= blocks; block++) {
    progress(block / blocks)
    await make(calls / blocks)
    if (block < blocks) rss.push((await processState()).rss)
  }
  const whole = performance.now() - begin
  const last = await stateOf(device)
  const megabytes = [...rss, last.rss].map((now) => ((now - first.rss) / 2 ** 20).toFixed(1))
  findings.figure(of, 'growth of RSS', '%', (100 * (last.rss - first.rss)) / first.rss, {
    must: 5,
    note: `from ${Math.round(first.rss / 2 ** 20)} MiB by ${megabytes.join(', ')} MiB`,
  })
  findings.figure(of, 'more handles', '', last.handles - first.handles, { must: 0 })
  if (last.threads !== null) {
    findings.figure(of, 'more threads', '', last.threads - first.threads!, {
      must: 0,
      note: `of ${first.threads}`,
    })
  }
  const growth = (name: 'used' | 'reserved' | 'free') => last[name] - first[name]
  findings.figure(of, "more of the device's memory in use", 'bytes', growth('used'), { must: 0 })
  // On the CPU with the workspaces of each thread, which grow when that thread has a product for the first time.
  const asked = device.backend === 'cuda' ? { must: 0 } : {}
  findings.figure(of, 'more of it held by the library', 'bytes', growth('reserved'), asked)
  // What others do on the machine is in it too.
  findings.figure(of, 'less of it free', 'bytes', -growth('free'))
  findings.figure(of, 'a call', 'µs', (1000 * whole) / calls)
}

export const memory: Suite = {
  shows: `what ${AT_ONCE} small calls at once leave behind, over and over: memory, handles and threads after a warm-up and at the end`,
  async run({ backend, device: index, quick }, findings) {
    const device = await openDevice({ backend, device: index })
    const calls = quick ? 1000 : 1e5
    const [a, b] = [integers([SIZE, SIZE], 1), integers([SIZE, SIZE], 2)]
    const progress = (what: string, from: number) => (share: number) =>
      findings.progress(what, from + share / 4)
    const run = (what: string, nth: number, call: () => Promise<unknown>) =>
      watch(`${calls} ${what}`, calls, device, call, findings, progress(what, nth / 4))

    await run('of arrays', 0, () => mpmm(a, b, { backend, device: index }))
    using left = await device.upload(a)
    using right = await device.upload(b)
    await run('resident, disposed', 1, async () => {
      const { c } = await mpmm(left, right)
      c.dispose()
    })
    await run('resident, not disposed', 2, () => mpmm(left, right))
    const out = matrix(SIZE, SIZE)
    await run('uploads, products, downloads', 3, async () => {
      const there = await device.upload(a)
      const { c } = await mpmm(there, right)
      there.dispose()
      const host = await c.download()
      c.dispose()
      out.data.set(host.data)
    })
    await device.close()
  },
}
