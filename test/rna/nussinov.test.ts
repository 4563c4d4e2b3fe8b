/** Folding of single strands and of batches by nussinov(). */
import { describe, expect, it, vi } from 'vitest'
import { addon } from '../../lib/native.js'
import { type FoldOptions, type FoldResult, nussinov } from '../../lib/rna.js'
import { expectError, expectRejected } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { errorsAfterAbort } from '../support/in-time.js'
import { randomStrand, scoreOfPairs } from '../support/rna-expect.js'
import { foldTable, type Model } from '../support/rna-oracle.js'

function expectFolding(strand: string, result: FoldResult, model: Model): void {
  const at = foldTable(strand, model)
  const n = strand.length
  expect(result.score).toBe(at(0, n - 1))
  expect(scoreOfPairs(strand, result.pairs, model)).toBe(result.score)
  const open = [...result.dotBracket].flatMap((dot, i) => (dot === '(' ? [i] : []))
  expect(result.dotBracket).toHaveLength(n)
  expect(open).toEqual(result.pairs.map(([i]) => i))
  if (!result.table) return
  const expected = Array.from({ length: n * n }, (_, index) => at(Math.floor(index / n), index % n))
  expect(result.table.shape).toEqual([n, n])
  expect([...result.table.data]).toEqual(expected)
}

describe('nussinov', () => {
  it('folds a hairpin', async () => {
    const { score, pairs, dotBracket, backend } = await nussinov('GGGGAAAACCCC')
    expect({ score, pairs, dotBracket, backend }).toEqual({
      score: 12,
      pairs: [
        [0, 11],
        [1, 10],
        [2, 9],
        [3, 8],
      ],
      dotBracket: '((((....))))',
      backend: 'cpu',
    })
  })

  const random = new Random(1501)
  const models: Model[] = [
    {},
    { minLoop: 0 },
    { minLoop: 7 },
    { weights: { GU: 0 } },
    { weights: { GC: 5, AU: 5, GU: 5 }, minLoop: 1 },
    { minLoop: 40 },
  ]
  const lengths = [0, 1, 2, 5, 30, 31, 32, 33, 63, 64, 65, 100, 130]
  it.each(lengths)('returns the score, the table and pairs with this score: %i bases', async (length) => {
    for (const model of models) {
      for (const storage of [undefined, 'int32'] as const) {
        const strand = randomStrand(random, length)
        const result = await nussinov(strand, { ...model, storage, table: true } as FoldOptions)
        expectFolding(strand, result, model)
      }
    }
  })

  it('folds several strands in one call, in their order', async () => {
    const strands = [70, 0, 33, 1, 5, 90, 12, 64].map((length) => randomStrand(random, length))
    const results = await nussinov(strands)
    expect(results).toHaveLength(strands.length)
    for (const [index, result] of results.entries()) expectFolding(strands[index]!, result, {})
    expect(await nussinov([])).toEqual([])
  })

  it('folds more strands than a function call can have arguments', async () => {
    const results = await nussinov(
      Array.from({ length: 200_000 }, (_, index) => (index % 2 ? 'GGGAAACCC' : 'GAAAC')),
    )
    expect(results).toHaveLength(200_000)
    expect(results.filter(({ score }, index) => score !== (index % 2 ? 9 : 3))).toEqual([])
  })

  it('accepts lower case and T', async () => {
    const { score, dotBracket } = await nussinov('ggTTaaaaAacc')
    expect({ score, dotBracket }).toEqual(
      await nussinov('GGUUAAAAAACC').then(({ score, dotBracket }) => ({ score, dotBracket })),
    )
    expect(score).toBe(10)
  })

  it('uses 32 bits if scores need them', async () => {
    const strand = `${'G'.repeat(60)}AAA${'C'.repeat(60)}`
    const weights = { GC: 10 ** 6 }
    expect((await nussinov(strand, { weights })).score).toBe(60 * 10 ** 6)
    await expect(nussinov(strand, { weights, storage: 'int16' })).rejects.toSatisfy((error) => {
      expectError(error, 'OVERFLOW', 'int16')
      return true
    })
    await expect(nussinov('GC'.repeat(3000), { weights: { GC: 2 ** 20 } })).rejects.toSatisfy((error) => {
      expectError(error, 'OVERFLOW', 'smaller weights')
      return true
    })
  })

  it('uses 16 bits up to a score of 2^14 - 1, and 32 bits above', async () => {
    // -2^14 marks missing intervals in 16 bits, so greater scores would let missing elements win.
    for (const [strand, half] of [
      ['GC', 1],
      [`${'G'.repeat(8)}${'C'.repeat(8)}`, 8],
      [`${'G'.repeat(15)}A${'C'.repeat(16)}`, 16],
    ] as const) {
      const most = Math.floor((2 ** 14 - 1) / half)
      for (const GC of [most, most + 1, Math.floor((2 ** 15 - 1) / half)]) {
        const model = { weights: { GC }, minLoop: 0 }
        expectFolding(strand, await nussinov(strand, { ...model, table: true }), model)
        const narrow = nussinov(strand, { ...model, storage: 'int16', table: true })
        if (GC === most) expectFolding(strand, await narrow, model)
        else await expect(narrow).rejects.toMatchObject({ code: 'ERR_MPMML_OVERFLOW' })
      }
    }
  })

  it.each([
    ['GGN', {}, 'VALUE', /sequence\[2\].*'N'/],
    [['GG', 'A-C'], {}, 'VALUE', /sequences\[1\]\[1\].*'-'/],
    [7, {}, 'VALUE', /sequence must be a string/],
    ['G', { minLoop: -1 }, 'OPTION', /minLoop/],
    ['G', { minLoop: 1.5 }, 'OPTION', /minLoop/],
    ['G', { weights: { GC: -3 } }, 'OPTION', /weights\.GC/],
    ['G', { weights: { CG: 3 } }, 'OPTION', /CG/],
    ['G', { weights: 3 }, 'OPTION', /weights/],
    ['G', { storage: 'int8' }, 'OPTION', /storage/],
    ['G', { table: 1 }, 'OPTION', /table/],
    ['G', { window: 5 }, 'OPTION', /window/],
    ['G', { onProgress: 1 }, 'OPTION', /onProgress/],
    ['G', { signal: 1 }, 'OPTION', /signal/],
    ['G', { backend: 'gpu' }, 'OPTION', /backend/],
    ['G', { device: -1 }, 'OPTION', /device/],
    ['G', { backend: 'cuda', device: 99 }, 'NO_CUDA', /cuda backend can't be used/],
    ['G'.repeat(2 ** 20 + 1), {}, 'SHAPE', /at most 1048576/],
  ])('rejects %j with %j', async (sequence, options, code, message) => {
    await expectRejected(nussinov(sequence as string, options as FoldOptions), code, message)
  })

  it('reports the needed bytes before any allocation', async () => {
    const available = vi.spyOn(process, 'availableMemory').mockReturnValue(100_000)
    try {
      const error = await nussinov('G'.repeat(1000)).catch((thrown) => thrown)
      expectError(error, 'OUT_OF_MEMORY', /take \d{7} bytes, but there are 100000/)
    } finally {
      available.mockRestore()
    }
  })

  it('fails without memory, and works afterwards', async () => {
    addon.failAllocation(1)
    const error = await nussinov('GGGAAACCC').catch((thrown) => thrown)
    addon.failAllocation(0)
    expectError(error, 'OUT_OF_MEMORY')
    expect((await nussinov('GGGAAACCC')).score).toBe(9)
  })

  it('aborts when its signal is aborted, before and during the call', async () => {
    const reason = new Error('enough')
    const before = await nussinov('GC', { signal: AbortSignal.abort(reason) }).catch((thrown) => thrown)
    expectError(before, 'ABORTED')
    expect(before.cause).toBe(reason)
    const strand = randomStrand(random, 20_000)
    const [error] = await errorsAfterAbort(
      (signal) => [nussinov(strand, { signal })],
      (controller) => setTimeout(() => controller.abort(reason), 20),
    )
    expectError(error, 'ABORTED', 'folding was aborted')
    expect((error as Error).cause).toBe(reason)
  })
})
