/** How long the event loop waits while products run: what every other request of a service feels. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { mpmm } from '../../lib/index.js'
import { elapsed } from '../experiment.js'
import { integers } from '../timing/values.js'
import type { Asked, Bench, Suite } from './suite.js'

/** The delay in milliseconds while `work` runs. */
async function watch(bench: Bench, of: string, work: () => Promise<unknown>, asked: Asked = {}) {
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  // The first look comes before the work does.
  await sleep(20)
  delays.reset()
  const whole = await elapsed(work)
  await sleep(5)
  delays.disable()
  const ms = (nanoseconds: number) => nanoseconds / 1e6
  bench.figure(of, 'delay, 99th percentile', 'ms', ms(delays.percentile(99)), asked)
  bench.figure(of, 'delay, median', 'ms', ms(delays.percentile(50)))
  bench.figure(of, 'longest delay', 'ms', ms(delays.max), { note: `of ${delays.count}` })
  bench.figure(of, 'whole time', 'ms', whole)
}

export const delay: Suite = {
  shows:
    'delay of the event loop, looked at each millisecond (an idle one shows 1.1 ms), while products of host arrays run; ' +
    'the first call of the process is one of them',
  grid(bench) {
    const { quick } = bench
    const size = quick ? 128 : 1024
    const count = quick ? 8 : 64
    const operands = Array.from({ length: 4 }, (_, seed) => integers([size, size], seed))
    const product = (index: number) => mpmm(operands[index % 2]!, operands[2 + (index % 2)]!, bench.place)
    const atOnce = () => Promise.all(Array.from({ length: count }, (_, index) => product(index)))
    const inTurn = async () => {
      for (let index = 0; index < count; index++) await product(index)
    }
    const of = `${count} of ${size}³`
    return [
      ['idle', () => watch(bench, 'an idle event loop', () => sleep(quick ? 50 : 500))],
      ['at once', () => watch(bench, `${of}, asked for at once`, atOnce, quick ? {} : { must: 5, aim: 2 })],
      ['one after the other', () => watch(bench, `${of}, one after the other`, inTurn)],
    ]
  },
}
