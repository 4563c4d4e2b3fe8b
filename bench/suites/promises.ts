/** Measures the overhead of calls of a small product on the CPU, with and without a promise. */
import { type MpmmOptions, matrix, mpmm, mpmmSync } from '../../lib/index.js'
import { elapsed } from '../experiment.js'
import { integers } from '../timing/values.js'
import type { FigureGoal, Suite } from './suite.js'

const SIZE = 16
/** Calls that are timed together. */
const CALLS = 200

export const promises: Suite = {
  shows: 'products of 16³ on the CPU, one after the other',
  grid(bench) {
    const [a, b] = [integers([SIZE, SIZE], 1), integers([SIZE, SIZE], 2)]
    const options: MpmmOptions = { backend: 'cpu' }
    const into: MpmmOptions = { ...options, out: matrix(SIZE, SIZE) }
    const goal = { must: 15, aim: 8 }
    const kinds: [what: string, call: () => unknown, goal?: FigureGoal][] = [
      ["await mpmm, backend 'cpu'", () => mpmm(a, b, options), goal],
      ['await mpmm, left to choose', () => mpmm(a, b), goal],
      ['await mpmm, into out', () => mpmm(a, b, into), goal],
      ["mpmmSync, backend 'cpu'", () => mpmmSync(a, b, options)],
    ]
    return kinds.map(([what, call, limits]) => {
      const isSync = what.startsWith('mpmmSync')
      const calls = async () => {
        // Synchronous calls aren't awaited, because awaiting any value takes a turn of the microtask queue.
        for (let count = 0; count < CALLS; count++) isSync ? call() : await call()
      }
      const time = async () => (1000 * (await elapsed(calls))) / CALLS
      return [
        what,
        async () =>
          void (await bench.measure(`${SIZE}³`, [5, 200, 20], time, [[what, 'µs', (us) => us, limits]])),
      ]
    })
  },
}
