/** The examples of custom semirings, compared with the results of plain programs. */
import { expect, it } from 'vitest'
import { withoutBuild } from '../support/child.js'
import { describeUnless } from '../support/skip.js'
import { lines } from './support.js'

describeUnless(withoutBuild, 'longest chains', () => {
  it('are counted', async () => {
    const days: Record<string, [number, ...string[]]> = {
      start: [0],
      survey: [4, 'start'],
      design: [6, 'start'],
      permits: [5, 'survey'],
      orders: [3, 'survey', 'design'],
      footings: [6, 'permits', 'orders'],
      frames: [6, 'orders'],
      crane: [2, 'footings', 'frames'],
      shell: [8, 'crane'],
      pipes: [8, 'footings', 'crane'],
      end: [0, 'shell', 'pipes'],
    }
    const chains = (job: string): [length: number, jobs: string[]][] => {
      const [, ...before] = days[job]!
      if (before.length === 0) return [[0, [job]]]
      return before.flatMap((other) =>
        chains(other).map(([length, jobs]): [number, string[]] => [length + days[other]![0], [...jobs, job]]),
      )
    }
    const all = chains('end')
    const longest = Math.max(...all.map(([length]) => length))
    const best = all.filter(([length]) => length === longest)
    const [head, , ...rows] = await lines('longest-chains.mjs')
    expect(head).toBe(`The project takes ${longest} days, which ${best.length} chains need.`)
    for (const [index, job] of Object.keys(days).entries()) {
      const through = best.filter(([, jobs]) => jobs.includes(job)).length
      expect(rows[index]!.split(/ +/).slice(0, 2)).toEqual([job, String(through)])
    }
  })
})

describeUnless(withoutBuild, 'best alignments', () => {
  /** Returns the columns of all alignments with their scores. */
  function all(first: string, second: string): Map<string, number> {
    const found = new Map<string, number>()
    const go = (i: number, j: number, upper: string, lower: string, score: number) => {
      if (i === first.length && j === second.length) found.set(`${upper}\n${lower}`, score)
      if (i < first.length && j < second.length) {
        go(i + 1, j + 1, upper + first[i], lower + second[j], score + (first[i] === second[j] ? 1 : -1))
      }
      if (i < first.length) go(i + 1, j, `${upper + first[i]}`, `${lower}-`, score - 1)
      if (j < second.length) go(i, j + 1, `${upper}-`, `${lower + second[j]}`, score - 1)
    }
    go(0, 0, '', '', 0)
    return found
  }

  it.each([
    ['GATTACA', 'GCATGCU'],
    ['ACGT', 'AGT'],
    ['A', 'CGC'],
  ])('finds the three best of %s and %s', async (first, second) => {
    const expected = all(first, second)
    const best = [...expected.values()].sort((x, y) => y - x).slice(0, 3)
    const printed = await lines('best-alignments.mjs', [first, second])
    const shown = Array.from({ length: printed.length / 3 }, (_, index) =>
      printed.slice(3 * index, 3 * index + 3),
    )
    expect(shown.map(([score]) => Number(score!.split(' ')[1]))).toEqual(best)
    const texts = shown.map(([, upper, lower]) => `${upper!.trim()}\n${lower!.trim()}`)
    expect(new Set(texts).size).toBe(3)
    for (const [index, text] of texts.entries()) expect(expected.get(text)).toBe(best[index])
  })
})

describeUnless(withoutBuild, 'distances of tables', () => {
  it('are those between rows', async () => {
    const printed = await lines('table-distances.mjs')
    const [first] = printed.slice(1)
    // The first distance is |5.0 − 5.1| + |3.4 − 3.5| + |1.5 − 1.4| + |0.2 − 0.2| = 0.30. All distances are
    // computed by hand.
    expect(first!.trim().split(/ +/)).toEqual(['0.30', '0.60', '6.60', '5.90', '8.20', '6.80', 'setosa'])
    expect(printed[5]!.trim().split(/ +/)).toEqual(['0.10', '0.40', '3.20', '3.00', '4.50', '3.60', 'setosa'])
    expect(printed[9]!.trim().split(/ +/)).toEqual([
      '0.03',
      '0.18',
      '15.72',
      '12.69',
      '27.24',
      '16.98',
      'setosa',
    ])
  })
})
