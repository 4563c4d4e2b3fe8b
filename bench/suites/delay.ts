/** Delays of the event loop while products run. */
import { setTimeout as sleep } from 'node:timers/promises'
import { mpmm } from '../../lib/index.js'
import { integers } from '../timing/values.js'
import { delaysDuring } from './event-loop.js'
import type { Bench, FigureGoal, Suite } from './suite.js'

async function watch(bench: Bench, of: string, work: () => Promise<unknown>, goal: FigureGoal = {}) {
  const found = await delaysDuring(work)
  bench.figures(
    of,
    [found],
    [
      ['delay, 99th percentile', 'ms', ({ p99 }) => p99, goal],
      ['delay, median', 'ms', ({ p50 }) => p50],
      ['longest delay', 'ms', ({ longest }) => longest, { note: `of ${found.count}` }],
      ['whole time', 'ms', ({ whole }) => whole],
    ],
  )
}

export const delay: Suite = {
  shows:
    'delay of the event loop, looked at each millisecond (an idle one shows 1.1 ms), while products of host arrays run; ' +
    'the first call of the process is one of them',
  grid(bench) {
    const { quick } = bench
    const [size, count] = quick ? [128, 8] : [1024, 64]
    const operands = Array.from({ length: 4 }, (_, seed) => integers([size, size], seed))
    const product = (index: number) => mpmm(operands[index % 2]!, operands[2 + (index % 2)]!, bench.place)
    const atOnce = () => Promise.all(Array.from({ length: count }, (_, index) => product(index)))
    const inTurn = async () => {
      for (let index = 0; index < count; index++) await product(index)
    }
    const of = `${count} of ${size}³`
    return [
      ['idle', () => watch(bench, 'an idle event loop', () => sleep(quick ? 50 : 500))],
      ['at once', () => watch(bench, `${of}, asked for at once`, atOnce, bench.usually({ must: 5, aim: 2 }))],
      ['one after the other', () => watch(bench, `${of}, one after the other`, inTurn)],
    ]
  },
}
