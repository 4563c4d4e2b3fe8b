/** Samples delays of the event loop every millisecond. Such delays slow all requests of a service. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { elapsed } from '../experiment.js'

/** Returns the delays while `work` runs, and the duration of the work, in ms. */
export async function delaysDuring(work: () => Promise<unknown>) {
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  // The first sample is taken before the work starts.
  await sleep(20)
  delays.reset()
  const whole = await elapsed(work)
  await sleep(5)
  delays.disable()
  const ms = (nanoseconds: number) => nanoseconds / 1e6
  return {
    whole,
    p99: ms(delays.percentile(99)),
    p50: ms(delays.percentile(50)),
    longest: ms(delays.max),
    count: delays.count,
  }
}
