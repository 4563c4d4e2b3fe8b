/** What a call of a small product costs on the CPU, with a promise and without. */
import { type MpmmOptions, matrix, mpmm, mpmmSync } from '../../lib/index.js'
import { integers } from './draw.js'
import type { Suite } from './protocol.js'

const SIZE = 16
/** Calls that are timed together. */
const CALLS = 200

export const promises: Suite = {
  shows: 'products of 16³ on the CPU, one after the other',
  async run({ quick, repetitions }, findings) {
    const [a, b] = [integers([SIZE, SIZE], 1), integers([SIZE, SIZE], 2)]
    const times = repetitions ?? (quick ? 5 : 200)
    const options: MpmmOptions = { backend: 'cpu' }
    const time = async (
      what: string,
      calls: () => unknown,
      asked: { must: number; aim: number } | Record<string, never> = {},
    ) => {
      const samples = []
      for (let repetition = -20; repetition < times; repetition++) {
        const begin = performance.now()
        await calls()
        if (repetition >= 0) samples.push((1000 * (performance.now() - begin)) / CALLS)
      }
      findings.figure(`${SIZE}³`, what, 'µs', samples, asked)
    }
    const awaiting = (given?: MpmmOptions) => async () => {
      for (let count = 0; count < CALLS; count++) await mpmm(a, b, given)
    }
    const blocking = (given?: MpmmOptions) => () => {
      for (let count = 0; count < CALLS; count++) mpmmSync(a, b, given)
    }
    const asked = { must: 15, aim: 8 }
    await time("await mpmm, backend 'cpu'", awaiting(options), asked)
    findings.progress('left to choose', 0.25)
    await time('await mpmm, left to choose', awaiting(), asked)
    findings.progress('into out', 0.5)
    await time('await mpmm, into out', awaiting({ ...options, out: matrix(SIZE, SIZE) }), asked)
    findings.progress('mpmmSync', 0.75)
    await time("mpmmSync, backend 'cpu'", blocking(options))
  },
}
