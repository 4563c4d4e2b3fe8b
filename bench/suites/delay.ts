/** How long the event loop waits while products run: what every other request of a service feels. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { mpmm } from '../../lib/index.js'
import { integers } from './draw.js'
import type { Asked, Findings, Suite } from './protocol.js'

/** The delay in milliseconds while `work` runs. */
async function watch(of: string, work: () => Promise<unknown>, asked: Asked, findings: Findings) {
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  // The first look comes before the work does.
  await sleep(20)
  delays.reset()
  const begin = performance.now()
  await work()
  const whole = performance.now() - begin
  await sleep(5)
  delays.disable()
  const ms = (nanoseconds: number) => nanoseconds / 1e6
  findings.figure(of, 'delay, 99th percentile', 'ms', ms(delays.percentile(99)), asked)
  findings.figure(of, 'delay, median', 'ms', ms(delays.percentile(50)))
  findings.figure(of, 'longest delay', 'ms', ms(delays.max), { note: `of ${delays.count}` })
  findings.figure(of, 'whole time', 'ms', whole)
}

export const delay: Suite = {
  shows:
    'delay of the event loop, looked at each millisecond (an idle one shows 1.1 ms), while products of host arrays run; ' +
    'the first call of the process is one of them',
  async run({ backend, device, quick }, findings) {
    const size = quick ? 128 : 1024
    const count = quick ? 8 : 64
    const operands = Array.from({ length: 4 }, (_, seed) => integers([size, size], seed))
    const product = (index: number) =>
      mpmm(operands[index % 2]!, operands[2 + (index % 2)]!, { backend, device })
    await watch('an idle event loop', () => sleep(quick ? 50 : 500), {}, findings)
    findings.progress('at once', 0.3)
    await watch(
      `${count} of ${size}³, asked for at once`,
      () => Promise.all(Array.from({ length: count }, (_, index) => product(index))),
      quick ? {} : { must: 5, aim: 2 },
      findings,
    )
    findings.progress('one after the other', 0.7)
    await watch(
      `${count} of ${size}³, one after the other`,
      async () => {
        for (let index = 0; index < count; index++) await product(index)
      },
      {},
      findings,
    )
  },
}
