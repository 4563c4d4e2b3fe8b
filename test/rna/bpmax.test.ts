/** Interaction of two strands by bpmax(). */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { addon } from '../../lib/native.js'
import { bpmax, type InteractionOptions } from '../../lib/rna.js'
import { expectError, expectRejected } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { expectStructure, randomStrand } from '../support/rna-expect.js'
import { bestJoint, interactionTable, type Model } from '../support/rna-oracle.js'

const reversed = (strand: string) => [...strand].reverse().join('')

const models: Model[] = [
  {},
  { minLoop: 0 },
  { minLoop: 1, weightsBetween: { GC: 1, AU: 1, GU: 1 } },
  { minLoop: 1, weights: { GC: 2, AU: 1, GU: 0 }, weightsBetween: { GC: 4, AU: 3, GU: 2 } },
  { antiparallel: false, minLoop: 2 },
]

/** Strands whose best structure would be a zigzag, if zigzags were allowed. */
const ZIGZAG = ['CUUGGA', 'ACGCUG', { minLoop: 1, antiparallel: false }] as const

/** Compares every element of the table, the score and the pairs. */
async function expectRecurrence(
  strand1: string,
  strand2: string,
  model: Model,
  options: InteractionOptions = {},
) {
  const result = await bpmax(strand1, strand2, { ...model, ...options, table: true } as InteractionOptions)
  const [n, m] = [strand1.length, strand2.length]
  const antiparallel = model.antiparallel !== false
  const F = interactionTable(strand1, antiparallel ? reversed(strand2) : strand2, model)
  const { table } = result
  expect(table!.shape).toEqual([n, n, m, m])
  for (let i1 = 0; i1 < n; i1++) {
    for (let j1 = i1; j1 < n; j1++) {
      for (let i2 = 0; i2 < m; i2++) {
        for (let j2 = i2; j2 < m; j2++) {
          const expected = antiparallel ? F(i1, j1, m - 1 - j2, m - 1 - i2) : F(i1, j1, i2, j2)
          if (table!.at(i1, j1, i2, j2) === expected) continue
          expect.fail(
            `F[${i1}, ${j1}, ${i2}, ${j2}] is ${table!.at(i1, j1, i2, j2)} and should be ${expected}`,
          )
        }
      }
    }
  }
  expect(result.score).toBe(F(0, n - 1, 0, m - 1))
  expectStructure(strand1, strand2, result, model)
}

describe('bpmax', () => {
  it('pairs two strands, antiparallel', async () => {
    const { score, alone, start, length, pairs, dotBracket, windows, steps, backend } = await bpmax(
      'GGGA',
      'CCC',
    )
    const between = [
      [0, 2],
      [1, 1],
      [2, 0],
    ]
    const window = {
      score: 9,
      alone: 0,
      start: 0,
      length: 3,
      pairs: { within1: [], within2: [], between },
      dotBracket: '[[[.&]]]',
    }
    expect({ score, alone, start, length, pairs, dotBracket }).toEqual(window)
    expect({ windows, backend }).toEqual({ windows: [window], backend: 'cpu' })
    // Steps of R0, of R1 and R2, and of R3 and R4, for splits and intervals of 4 and of 3 bases.
    expect(steps).toBe(10 * 4 + 2 * 10 * 4 + 2 * 10 * 6)
  })

  it('uses tables of 32 bits if the scores of both strands together need them', async () => {
    const weights = { GC: 16000 }
    const { score, alone } = await bpmax('GG', 'GGGGGGCCCCCC', { weights })
    expect({ score, alone }).toEqual({ score: 96000, alone: 64000 })
    expect(interactionTable('GG', reversed('GGGGGGCCCCCC'), { weights })(0, 1, 0, 11)).toBe(96000)
    const windowed = await bpmax('GG', 'GGGGGGCCCCCC', { weights, window: 12 })
    expect(windowed.score).toBe(96000)
  })

  const random = new Random(1502)

  describe('the table and the structure', () => {
    it.each([
      [1, 1],
      [1, 2],
      [2, 1],
      [1, 40],
      [3, 5],
      [9, 4],
      [4, 31],
      [5, 32],
      [4, 33],
      [33, 4],
      [3, 66],
      [12, 13],
    ])('equals the oracle for %i × %i bases', async (n, m) => {
      for (const model of models) {
        for (const storage of ['int16', 'int32'] as const) {
          await expectRecurrence(randomStrand(random, n), randomStrand(random, m), model, { storage })
        }
      }
    })

    it('equals the recurrence if strand 2 takes several blocks and panels', async () => {
      const [strand1, strand2] = [randomStrand(random, 4), randomStrand(random, 170)]
      const result = await bpmax(strand1, strand2)
      expect(result.score).toBe(interactionTable(strand1, reversed(strand2))(0, 3, 0, 169))
      expectStructure(strand1, strand2, result)
    })
  })

  describe('the best joint structure', () => {
    it.each([
      [1, 4],
      [3, 3],
      [4, 5],
      [5, 4],
      [6, 6],
    ])('equals the exhaustive search for %i × %i bases', async (n, m) => {
      for (let round = 0; round < 12; round++) {
        const [strand1, strand2] = [randomStrand(random, n), randomStrand(random, m)]
        for (const model of models) {
          const result = await bpmax(strand1, strand2, model as InteractionOptions)
          const reversedStrand = model.antiparallel === false ? strand2 : reversed(strand2)
          expect(result.score, `${strand1} ${strand2}`).toBe(bestJoint(strand1, reversedStrand, model))
          expectStructure(strand1, strand2, result, model)
        }
      }
    })

    it('has no zigzags, which would have a greater score here', async () => {
      const [strand1, strand2, model] = ZIGZAG
      const { score } = await bpmax(strand1, strand2, model)
      expect(score).toBe(bestJoint(strand1, strand2, model))
      expect(score).toBeLessThan(bestJoint(strand1, strand2, model, { zigzags: true }))
    })
  })

  it('finds a kissing complex, in which loops pair that are closed by their stems', async () => {
    const [strand1, strand2] = ['GAGCCUGGGAGCUC', 'CCUAUCCCAGUAGG']
    expect((await bpmax(strand1, strand2)).score).toBe(37)
    // With longer loops only one structure has the best score.
    const { score, dotBracket } = await bpmax(strand1, strand2, { minLoop: 4 })
    expect({ score, dotBracket }).toEqual({ score: 37, dotBracket: '(((([[[[[[))))&((((]]]]]]))))' })
  })

  describe('in windows of strand 2', () => {
    it.each([
      [3, 20, 6],
      [5, 70, 10],
      [4, 100, 33],
      [13, 25, 8],
      [6, 7, 7],
      [3, 9, 1],
      [12, 9, 5],
    ])('equals the recurrence for %i × %i bases, %i at a time', async (n, m, window) => {
      for (const model of models.slice(0, 3)) {
        const [strand1, strand2] = [randomStrand(random, n), randomStrand(random, m)]
        const result = await bpmax(strand1, strand2, { ...model, window, top: 3 } as InteractionOptions)
        const F = interactionTable(strand1, reversed(strand2), model)
        const scores = Array.from({ length: m - window + 1 }, (_, start) =>
          F(0, n - 1, m - start - window, m - start - 1),
        )
        expect(result.score).toBe(Math.max(...scores))
        expect(result.windows.length).toBe(Math.min(3, result.windows.length))
        for (const [index, found] of result.windows.entries()) {
          expect(found.length).toBe(window)
          expect(found.score).toBe(scores[found.start])
          expectStructure(strand1, strand2, found, model)
          const before = result.windows.slice(0, index)
          for (const { start, score } of before) {
            expect(Math.abs(start - found.start)).toBeGreaterThanOrEqual(window)
            expect(score).toBeGreaterThanOrEqual(found.score)
          }
          // Windows that don't overlap the reported ones have no greater score.
          const left = scores.filter((_, start) =>
            before.every((one) => Math.abs(one.start - start) >= window),
          )
          expect(found.score).toBe(Math.max(...left))
        }
      }
    })

    it('uses all of strand 2 if windows are longer', async () => {
      const all = await bpmax('GGAUC', 'GAUCCUA')
      const { timing: _, ...windowed } = await bpmax('GGAUC', 'GAUCCUA', { window: 100, top: 5 })
      expect({ ...all, timing: undefined }).toEqual({ ...windowed, timing: undefined })
    })

    it('returns no table', async () => {
      const error = await bpmax('G', 'C', { window: 1, table: true }).catch((thrown) => thrown)
      expectError(error, 'OPTION', 'table')
    })
  })

  it.each([
    ['', 'C', {}, 'VALUE', /sequence1.*at least one base/],
    ['G', '', {}, 'VALUE', /sequence2.*at least one base/],
    ['GX', 'C', {}, 'VALUE', /sequence1\[1\].*'X'/],
    ['G', 'C C', {}, 'VALUE', /sequence2\[1\].*' '/],
    ['G', 'C', { window: 0 }, 'OPTION', /window/],
    ['G', 'C', { top: 0 }, 'OPTION', /top/],
    ['G', 'C', { antiparallel: 'no' }, 'OPTION', /antiparallel/],
    ['G', 'C', { weightsBetween: { GC: 0.5 } }, 'OPTION', /weightsBetween\.GC/],
    ['G', 'C', { windows: 3 }, 'OPTION', /windows/],
    ['G', 'C', { backend: 'cuda', device: 99 }, 'NO_CUDA', /cuda backend can't be used/],
  ])('rejects %j and %j with %j', async (strand1, strand2, options, code, message) => {
    await expectRejected(bpmax(strand1, strand2, options as InteractionOptions), code, message)
  })

  it('rejects positions outside of the table', async () => {
    const { table } = await bpmax('GGG', 'CC', { table: true })
    expect(table!.at(0, 2, 0, 1)).toBe(6)
    for (const position of [
      [1, 0, 0, 0],
      [0, 3, 0, 0],
      [0, 0, 0, 2],
      [0, 0, -1, 0],
      [0, 0.5, 0, 0],
    ]) {
      const at = () => table!.at(...(position as [number, number, number, number]))
      expect(at).toThrow(expect.objectContaining({ code: 'ERR_MPMML_SHAPE' }))
    }
  })

  describe('bpmax under limits and signals', () => {
    afterEach(() => {
      vi.restoreAllMocks()
      addon.failAllocation(0)
    })

    it('reports the needed bytes before any allocation if memory is too small', async () => {
      vi.spyOn(process, 'availableMemory').mockReturnValue(10 ** 6)
      const error = await bpmax('G'.repeat(100), 'C'.repeat(1000)).catch((thrown) => thrown)
      expectError(error, 'OUT_OF_MEMORY', /take \d{10} bytes, but there are 1000000/, 'window')
    })

    it('fails if memory is refused, and works afterwards', async () => {
      for (let nth = 1; nth < 4; nth++) {
        addon.failAllocation(nth)
        await expectRejected(bpmax('GGG', 'CCC'), 'OUT_OF_MEMORY')
      }
      addon.failAllocation(0)
      expect((await bpmax('GGG', 'CCC')).score).toBe(9)
    })
  })

  it('aborts when its signal is aborted, and reports progress', async () => {
    const controller = new AbortController()
    const shares: number[] = []
    const onProgress = ({ done }: { done: number }) => {
      shares.push(done)
      controller.abort(new Error('enough'))
    }
    const running = bpmax(randomStrand(random, 60), randomStrand(random, 400), {
      signal: controller.signal,
      onProgress,
    })
    const error = await running.catch((thrown) => thrown)
    expectError(error, 'ABORTED', 'the interaction was aborted')
    expect(error.cause.message).toBe('enough')
    expect(shares).toHaveLength(1)
    expect(shares[0]).toBeGreaterThanOrEqual(0)
    expect(shares[0]).toBeLessThan(1)
  })

  it('ends its progress with 1', async () => {
    let ended = 0
    await bpmax(randomStrand(random, 40), randomStrand(random, 330), {
      onProgress: ({ done }) => (ended = done),
    })
    expect(ended).toBe(1)
  })

  it('rejects with the value that the listener throws', async () => {
    const onProgress = () => {
      throw new Error('no more')
    }
    await expect(bpmax(randomStrand(random, 60), randomStrand(random, 400), { onProgress })).rejects.toThrow(
      'no more',
    )
  })
})
