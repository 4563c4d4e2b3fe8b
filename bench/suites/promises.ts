/** What a call of a small product costs on the CPU, with a promise and without. */
import { type MpmmOptions, matrix, mpmm, mpmmSync } from '../../lib/index.js'
import { elapsed, repeat } from '../experiment.js'
import { integers } from '../timing/values.js'
import type { Asked, Suite } from './suite.js'

const SIZE = 16
/** Calls that are timed together. */
const CALLS = 200

export const promises: Suite = {
  shows: 'products of 16³ on the CPU, one after the other',
  grid(bench) {
    const [a, b] = [integers([SIZE, SIZE], 1), integers([SIZE, SIZE], 2)]
    const times = bench.times(5, 200)
    const options: MpmmOptions = { backend: 'cpu' }
    const asked = { must: 15, aim: 8 }
    const awaiting = (given?: MpmmOptions) => async () => {
      for (let count = 0; count < CALLS; count++) await mpmm(a, b, given)
    }
    const blocking = (given?: MpmmOptions) => () => {
      for (let count = 0; count < CALLS; count++) mpmmSync(a, b, given)
    }
    const kinds: [what: string, calls: () => unknown, asked?: Asked][] = [
      ["await mpmm, backend 'cpu'", awaiting(options), asked],
      ['await mpmm, left to choose', awaiting(), asked],
      ['await mpmm, into out', awaiting({ ...options, out: matrix(SIZE, SIZE) }), asked],
      ["mpmmSync, backend 'cpu'", blocking(options)],
    ]
    return kinds.map(([what, calls, limits]) => [
      what,
      async () => {
        const samples = await repeat(times, 20, async () => (1000 * (await elapsed(calls))) / CALLS)
        bench.figure(`${SIZE}³`, what, 'µs', samples, limits)
      },
    ])
  },
}
