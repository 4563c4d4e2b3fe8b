/** Experiments: the order of their cases, and the output of their results. */
import { describe, expect, it } from 'vitest'
import { type Case, repeat, rowsOf, runCases } from '../../bench/experiment.js'
import { Bench, inTrial, type Suite } from '../../bench/suites/suite.js'

const caseOf = (what: string, measure: () => Promise<string>): Case<string> => ({ what, cost: 1, measure })
const never = new AbortController().signal

describe('cases', () => {
  it('are measured in their order, and each result is saved immediately', async () => {
    const retained: string[] = []
    const cases = ['a', 'b', 'c'].map((name) => caseOf(name, async () => `${name}${retained.length}`))
    const found = await runCases(cases, never, (one) => {
      retained.push(one)
    })
    expect(found).toEqual(['a0', 'b1', 'c2'])
    expect(retained).toEqual(found)
  })

  it('end at an interrupt, after the running one', async () => {
    const controller = new AbortController()
    const retained: string[] = []
    const stop = caseOf('stop', async () => {
      controller.abort(new Error('enough'))
      return 'stopped'
    })
    const running = runCases([stop, caseOf('next', async () => 'next')], controller.signal, (one) => {
      retained.push(one)
    })
    await expect(running).rejects.toThrow('enough')
    expect(retained).toEqual(['stopped'])
  })
})

it('leaves warm-up out of repetitions', async () => {
  const calls: number[] = []
  const samples = await repeat(3, 2, (nth) => {
    calls.push(nth)
    return 10 * nth
  })
  expect(calls).toEqual([-2, -1, 0, 1, 2])
  expect(samples).toEqual([0, 10, 20])
})

it('prints the head and the cells of each row from columns', () => {
  const columns = [
    ['n', ({ n }: { n: number }) => String(n)],
    ['square', ({ n }: { n: number }) => String(n * n)],
  ] as const
  expect(rowsOf(columns, [{ n: 2 }, { n: 3 }])).toEqual([
    ['n', 'square'],
    ['2', '4'],
    ['3', '9'],
  ])
})

describe('suites', () => {
  const request = { backend: 'cpu', device: 0, quick: true, repetitions: null } as const

  it('show figures; more is better for speeds, and a limit applies only if it is stated', () => {
    const bench = new Bench(request)
    bench.figures(
      'work',
      [{ ms: 2 }, { ms: 4 }],
      [
        ['time', 'ms', ({ ms }) => ms, { must: 5, note: 'here' }],
        ['speed', 'TOPS', ({ ms }) => 8 / ms],
      ],
    )
    const { figures } = bench.take()
    const value = (median: number, q1: number, q3: number) => ({ median, q1, q3, count: 2 })
    const common = { of: 'work', must: null, aim: null, moreIsBetter: false, note: '' }
    expect(figures).toEqual([
      { ...common, what: 'time', unit: 'ms', value: value(3, 2.5, 3.5), must: 5, note: 'here' },
      { ...common, what: 'speed', unit: 'TOPS', value: value(3, 2.5, 3.5), moreIsBetter: true },
    ])
    expect(bench.take()).toEqual({ figures: [], wrong: [] })
  })

  it('pass on the results of each case', async () => {
    const suite: Suite = {
      shows: 'two cases',
      grid: (bench) => [
        ['right', () => bench.figure('right', 'count', '', 1)],
        ['wrong', () => bench.wrong('it is wrong')],
      ],
    }
    const cases = inTrial(suite).grid(request)
    expect(cases.map(({ what }) => what)).toEqual(['right', 'wrong'])
    const found = []
    for (const { measure } of cases) found.push(await measure(() => {}))
    expect(found.map(({ figures, wrong }) => [figures.length, wrong])).toEqual([
      [1, []],
      [0, ['it is wrong']],
    ])
  })

  it('are repeated as often as the user requests, otherwise by their size', () => {
    expect(new Bench(request).times(3, 11)).toBe(3)
    expect(new Bench({ ...request, quick: false }).times(3, 11)).toBe(11)
    expect(new Bench({ ...request, repetitions: 7 }).times(3, 11)).toBe(7)
  })

  it('apply limits of GPUs only to GPUs, and not in quick runs', () => {
    const requested = { must: 2, aim: 1 }
    expect(new Bench(request).ofGpu(requested)).toEqual({})
    expect(new Bench({ ...request, backend: 'cuda' }).ofGpu(requested)).toEqual({})
    expect(new Bench({ ...request, backend: 'cuda', quick: false }).ofGpu(requested)).toEqual(requested)
  })
})
