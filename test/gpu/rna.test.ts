/** Folding and interaction of RNA on a GPU, compared with the recurrence and the CPU. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import { addon } from '../../lib/native.js'
import { bpmax, type InteractionOptions, nussinov } from '../../lib/rna.js'
import { expectError, expectRejected } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { errorsAfterAbort, inTime } from '../support/in-time.js'
import { withoutCuda } from '../support/machine.js'
import { expectStructure, randomStrand } from '../support/rna-expect.js'
import { interactionTable, type Model } from '../support/rna-oracle.js'
import { describeUnless } from '../support/skip.js'

describeUnless(withoutCuda(), 'cuda', () => {
  const random = new Random(1503)

  it.each([
    [1, 1],
    [1, 40],
    [5, 31],
    [33, 4],
    [7, 65],
  ])('computes bpmax by the recurrence: %i × %i', async (n, m) => {
    const models: Model[] = [{}, { minLoop: 0, weightsBetween: { GC: 4, AU: 2, GU: 2 } }]
    for (const model of models) {
      for (const storage of ['int16', 'int32'] as const) {
        const [strand1, strand2] = [randomStrand(random, n), randomStrand(random, m)]
        const options = { ...model, storage, table: true, backend: 'cuda' } as InteractionOptions
        const result = await bpmax(strand1, strand2, options)
        expect(result.backend).toBe('cuda')
        const F = interactionTable(strand1, [...strand2].reverse().join(''), model)
        for (let i1 = 0; i1 < n; i1++) {
          for (let j1 = i1; j1 < n; j1++) {
            for (let i2 = 0; i2 < m; i2++) {
              for (let j2 = i2; j2 < m; j2++) {
                const expected = F(i1, j1, m - 1 - j2, m - 1 - i2)
                if (result.table!.at(i1, j1, i2, j2) !== expected)
                  expect.fail(`F[${i1}, ${j1}, ${i2}, ${j2}]`)
              }
            }
          }
        }
        expectStructure(strand1, strand2, result, model)
      }
    }
  })

  it.each([
    [12, 200, undefined],
    [20, 333, undefined],
    [9, 400, 100],
    [40, 150, 32],
    [3, 700, 33],
  ])('computes bpmax as the CPU does: %i × %i, windows of %s', async (n, m, window) => {
    for (const storage of ['int16', 'int32'] as const) {
      const [strand1, strand2] = [randomStrand(random, n), randomStrand(random, m)]
      const both = await Promise.all(
        (['cuda', 'cpu'] as const).map((backend) =>
          bpmax(strand1, strand2, { window, storage, top: 3, backend }),
        ),
      )
      expect(both[0]!.windows).toEqual(both[1]!.windows)
    }
  })

  it('computes nussinov as the CPU does, for many strands of different lengths at once', async () => {
    const strands = Array.from({ length: 60 }, (_, index) => randomStrand(random, (index * 7) % 230))
    for (const storage of ['int16', 'int32'] as const) {
      const [onCuda, onCpu] = await Promise.all(
        (['cuda', 'cpu'] as const).map((backend) => nussinov(strands, { storage, backend, table: true })),
      )
      for (const [index, { score, pairs, table, backend }] of onCuda!.entries()) {
        expect(backend).toBe('cuda')
        const expected = onCpu![index]!
        expect({ score, pairs, table: [...table!.data] }).toEqual({
          score: expected.score,
          pairs: expected.pairs,
          table: [...expected.table!.data],
        })
      }
    }
  })

  it('fits in the available memory, or reports the needed memory', async () => {
    vi.stubEnv('MPMML_DEVICE_MEMORY_MIB', '1')
    try {
      const error = await bpmax(randomStrand(random, 20), randomStrand(random, 400), {
        backend: 'cuda',
      }).catch((thrown) => thrown)
      expectError(error, 'OUT_OF_MEMORY', /take \d+ bytes, but there are 1048576/)
      // Without an explicit backend bpmax uses the CPU if the memory is insufficient.
      const { backend } = await bpmax(randomStrand(random, 20), randomStrand(random, 400))
      expect(backend).toBe('cpu')
      // Strands are folded in several parts.
      const strands = Array.from({ length: 20 }, () => randomStrand(random, 400))
      const scores = async (backend: BackendName) =>
        (await nussinov(strands, { backend })).map(({ score }) => score)
      expect(await scores('cuda')).toEqual(await scores('cpu'))
    } finally {
      vi.unstubAllEnvs()
    }
  })

  describe('memory that others use', () => {
    afterEach(() => {
      vi.unstubAllEnvs()
    })

    /** The table of a hairpin without a loop takes 96 MiB. */
    const half = 5000
    const hairpin = (bases: string, signal?: AbortSignal) =>
      nussinov(bases[0]!.repeat(half) + bases[1]!.repeat(half), {
        minLoop: 0,
        storage: 'int16',
        backend: 'cuda',
        signal,
      })
    const pairs = Array.from({ length: half }, (_, i) => [i, 2 * half - 1 - i])

    it("delays the second of two folds that don't fit together", async () => {
      vi.stubEnv('MPMML_DEVICE_MEMORY_MIB', '120')
      const [gc, au] = await Promise.all([hairpin('GC'), hairpin('AU')])
      expect(gc).toMatchObject({ score: 3 * half, pairs, backend: 'cuda' })
      expect(au).toMatchObject({ score: 2 * half, pairs, backend: 'cuda' })
    })

    it('delays a fold during an interaction', async () => {
      // The interaction takes 2650 MiB.
      vi.stubEnv('MPMML_DEVICE_MEMORY_MIB', '2700')
      const strands = [randomStrand(random, 60), randomStrand(random, 1200)] as const
      await inTime(async () => {
        const ended: string[] = []
        let interaction: Promise<unknown> = Promise.resolve()
        await new Promise<void>((begun) => {
          const onProgress = () => begun()
          interaction = bpmax(...strands, { backend: 'cuda', onProgress }).then(() => {
            ended.push('interaction')
            begun()
          })
        })
        const controller = new AbortController()
        const aborted = hairpin('GC', controller.signal).catch((error: unknown) => error)
        const fold = hairpin('GC').then(({ score }) => {
          expect(score).toBe(3 * half)
          ended.push('fold')
        })
        controller.abort()
        expectError(await aborted, 'ABORTED', 'folding was aborted')
        const isEarly = ended.length === 0
        await Promise.all([interaction, fold])
        expect(ended).toEqual(['interaction', 'fold'])
        return isEarly
      })
    })
  })

  it('fails when an allocation fails, and works afterwards', async () => {
    for (let nth = 1; nth < 5; nth++) {
      addon.failAllocation(nth)
      await expectRejected(bpmax('GGG', 'CCC', { backend: 'cuda' }), 'OUT_OF_MEMORY')
    }
    addon.failAllocation(0)
    expect((await bpmax('GGG', 'CCC', { backend: 'cuda' })).score).toBe(9)
  })

  it('aborts by its signal while it runs', async () => {
    const strands = [randomStrand(random, 60), randomStrand(random, 1200)] as const
    const [error] = await errorsAfterAbort(
      (signal) => [bpmax(...strands, { signal, backend: 'cuda' })],
      (controller) => setTimeout(() => controller.abort(new Error('enough')), 100),
    )
    expectError(error, 'ABORTED', 'the interaction was aborted')
  })
})
