/** Verdicts of `bench --choice` about `auto`. */
import { describe, expect, it } from 'vitest'
import { choiceOf } from '../../bench/timing/choice.js'

const always = { cuda: 3, cpu: 0 }
const of = (auto: number, cuda: number, cpu: number) =>
  choiceOf({ auto: [auto, auto, auto], cuda: [cuda, cuda, cuda], cpu: [cpu, cpu, cpu] }, always)

describe('the choice of auto', () => {
  it('is judged by its own calls, not by those of the backend that it chose', () => {
    expect(of(1.37, 0.995, 20).ratio).toBeCloseTo(1.37 / 0.995, 12)
    expect(of(1, 1, 20).ratio).toBe(1)
  })

  it('is compared with the faster backend for every choice', () => {
    expect(of(4, 4, 2)).toMatchObject({ ratio: 2, taken: 'cuda' })
    expect(of(4, 2, 4)).toMatchObject({ ratio: 2, taken: 'cuda' })
  })

  it('is judged by medians, and by the choice of most calls', () => {
    const times = { auto: [9, 3, 1], cuda: [2, 2, 90], cpu: [4, 5, 6] }
    const { callMs, ratio, taken } = choiceOf(times, { cuda: 1, cpu: 2 })
    expect([callMs.auto.median, callMs.cuda.median, callMs.cpu.median]).toEqual([3, 2, 5])
    expect([ratio, taken]).toEqual([1.5, 'cpu'])
  })
})
