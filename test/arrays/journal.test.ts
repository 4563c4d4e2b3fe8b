/**
 * Unfinished work and existing outputs, in every storage of arrays: work that continues, outputs that are replaced, and remaining
 * files.
 */
import { describe, expect, it } from 'vitest'
import { Journal } from '../../lib/arrays/journal.js'
import {
  type ArraysOptions,
  allJobs,
  finish,
  isDone,
  multiplyArrays,
  planBlocks,
  runBlock,
  shortestPathsArrays,
} from '../../lib/arrays.js'
import type { Plain } from '../support/arrays.js'
import { coded } from '../support/coded.js'
import { randomMatrix } from '../support/generators.js'
import { oracle, type Strided } from '../support/oracle.js'
import { cutOff, network, runAll, StorageLocation } from '../support/storage-location.js'

const [M, K, N] = [130, 100, 120]
const a = randomMatrix(M, K, 1) as Plain & Strided
const b = randomMatrix(K, N, 2) as Plain & Strided
const product = oracle(a, b)
const c = product.overflow ? new Int32Array() : product.data
const on: ArraysOptions = { backend: 'cpu', block: 32 }
/** Request of a product. */
const BLOCKS = 5 * 4

const { weights, distances } = network(90)

describe.each(['.npy', '.zarr', 's3'] as const)('%s:', (kind) => {
  const storage = new StorageLocation(kind)

  /** Writes new inputs, and returns them with a new output path and functions that compute it. */
  async function begin() {
    const [pathA, pathB, out] = [storage.fresh(), storage.fresh(), storage.fresh()]
    // The library reads .npy inputs from folders only.
    await storage.write(pathA, a)
    await storage.write(pathB, b)
    return {
      pathA,
      pathB,
      out,
      partial: `${out}.partial`,
      work: (options: ArraysOptions) => multiplyArrays(pathA, pathB, out, options),
      request: { kind: 'multiply', a: pathA, b: pathB, c: out, block: 32 } as const,
      /** Checks that the output is complete and that no unfinished file remains. */
      async done(expected: ArrayLike<number> = c) {
        expect(await storage.read(out)).toEqual(expected)
        expect(storage.below(`${out}.partial`)).toEqual([])
      },
    }
  }

  describe('work that was aborted', () => {
    it('shows no output before it is complete, and continues with resume', async () => {
      const { out, work, done } = await begin()
      await cutOff(work, 7, on)
      expect(storage.below(out)).toEqual([])
      await expect(work(on)).rejects.toEqual(coded('EXISTS', /begun and not finished.*resume.*overwrite/))
      const { resumed, blocks } = await work({ ...on, resume: true })
      expect(resumed).toBeGreaterThanOrEqual(7)
      expect(resumed).toBeLessThan(blocks)
      expect(blocks).toBe(BLOCKS)
      await done()
    })

    it('begins again with overwrite, which replaces outputs that are complete too', async () => {
      const { work, done } = await begin()
      await cutOff(work, 3, on)
      expect((await work({ ...on, overwrite: true })).resumed).toBe(0)
      await done()
      await expect(work(on)).rejects.toEqual(coded('EXISTS', /exists already/))
      // A Zarr array records its inputs and options, so `resume` recognizes it as complete. A .npy file has
      // no such record.
      const again = work({ ...on, resume: true })
      if (storage.isZarr) expect(await again).toMatchObject({ resumed: BLOCKS, bytesRead: 0 })
      else await expect(again).rejects.toEqual(coded('EXISTS', /nothing that was begun is left/))
      await expect(work({ ...on, resume: true, semiring: 'min-plus' })).rejects.toEqual(coded('EXISTS'))
      await work({ ...on, overwrite: true, semiring: 'min-plus' })
      const other = oracle(a, b, { semiring: 'min-plus' })
      await done(other.overflow ? [] : other.data)
    })

    it('starts from the beginning if resume finds no unfinished work', async () => {
      const { work, done } = await begin()
      expect((await work({ ...on, resume: true })).resumed).toBe(0)
      await done()
    })

    it('may be resumed twice at once', async () => {
      const { work, done } = await begin()
      for (let round = 0; round < 3; round++) {
        await cutOff(work, 2, { ...on, overwrite: true })
        const ends = await Promise.allSettled([work({ ...on, resume: true }), work({ ...on, resume: true })])
        expect(ends).toMatchObject([{ status: 'fulfilled' }, { status: 'fulfilled' }])
        await done()
      }
    })

    it('continues paths at the step at which it was aborted', async () => {
      const [path, out] = [storage.fresh(), storage.fresh()]
      await storage.write(path, weights)
      const work = (options: ArraysOptions) => shortestPathsArrays(path, out, options)
      await cutOff(work, 12, on)
      expect((await work({ ...on, resume: true })).resumed).toBeGreaterThanOrEqual(12)
      expect(await storage.read(out)).toEqual(distances)
      expect(storage.below(`${out}.partial`)).toEqual([])
    })

    it('is not resumed as other work', async () => {
      const { work, request, out, done } = await begin()
      await cutOff(work, 2, on)
      const { block: _, ...rest } = on
      const others: [ArraysOptions, string][] = [
        [{ semiring: 'min-plus' }, 'semiring'],
        [{ overflow: 'wrap' }, 'overflow'],
        [{ block: 64 }, 'block'],
        [{ codec: 'zstd' }, 'codec'],
        [{ chunks: [16, 16] }, 'chunks'],
      ]
      for (const [other, what] of others) {
        await expect(work({ ...rest, ...other, resume: true })).rejects.toEqual(
          coded('RESUME', new RegExp(`${what}.* was .* is now`)),
        )
      }
      const otherInput = storage.fresh()
      await storage.write(otherInput, b)
      await expect(planBlocks({ ...request, b: otherInput, resume: true })).rejects.toEqual(
        coded('RESUME', /an input/),
      )
      const square = storage.fresh()
      await storage.write(square, weights)
      await expect(shortestPathsArrays(square, out, { ...on, resume: true })).rejects.toEqual(
        coded('RESUME', /the work/),
      )
      // The unfinished work still exists, and continues with the same blocks.
      await work({ ...rest, resume: true })
      await done()
    })

    it('is resumed with the overflow policy that it was begun with only', async () => {
      const { work, done } = await begin()
      await cutOff(work, 2, { ...on, overflow: 'saturate' })
      for (const other of [{}, { overflow: 'throw' }, { overflow: 'wrap' }] as const) {
        await expect(work({ ...on, ...other, resume: true })).rejects.toEqual(
          coded('RESUME', /overflow was "saturate" and is now "(throw|wrap)"/),
        )
      }
      await work({ ...on, overflow: 'saturate', resume: true })
      await done()
    })

    it('stays intact if the previous plan is finished after a new start', async () => {
      const { request, out, partial, done } = await begin()
      const old = await planBlocks({ ...request, semiring: 'min-plus' })
      await runAll(old)
      await finish(old)
      const anew = await planBlocks({ ...request, overwrite: true })
      const [first] = allJobs(anew)
      await runBlock(anew, first!, { backend: 'cpu' })
      const before = storage.contents(partial)
      // The new plan has removed the unfinished output of the old plan from the bucket. In a folder the old
      // output stays until the new one is complete.
      if (kind === 's3') await expect(finish(old)).rejects.toEqual(coded('RESUME', /is gone/))
      else await finish(old)
      expect(storage.contents(partial)).toEqual(before)
      // Another process may start a new plan at any time, so removing the old plan must keep the new files.
      await new Journal(old).remove()
      expect(storage.contents(partial)).toEqual(before)
      expect(storage.contents(out).size > 0).toBe(kind !== 's3')
      await runAll(anew)
      await finish(anew)
      await done()
    })

    it('cannot write into a newly started output, and is not completed', async () => {
      const { request, done } = await begin()
      const old = await planBlocks({ ...request, semiring: 'min-plus' })
      const [first, ...jobs] = allJobs(old)
      for (const job of jobs) await runBlock(old, job, { backend: 'cpu' })
      const anew = await planBlocks({ ...request, overwrite: true })
      await expect(runBlock(old, first!, { backend: 'cpu' })).rejects.toEqual(
        coded('FILE', kind === 's3' ? /completed or removed meanwhile/ : /can't be written/),
      )
      expect(await isDone(anew, first!)).toBe(false)
      await expect(finish(old)).rejects.toEqual(coded('RESUME'))
      await runAll(anew)
      await finish(anew)
      await done()
    })
  })

  it('finishes a plan by several concurrent calls, and again, over an existing array', async () => {
    const { request, done } = await begin()
    for (let round = 0; round < 4; round++) {
      const plan = await planBlocks({ ...request, overwrite: true })
      await runAll(plan)
      await Promise.all([finish(plan), finish(plan), finish(plan)])
      await finish(plan)
      await done()
    }
  })

  describe('a file of another program', () => {
    const own = '0123456789abcdef'.repeat(2)

    it.each(['thesis.txt', `${own}/thesis.txt`, own])(
      'keeps its content as %s next to the output, and is not mistaken for unfinished work',
      async (name) => {
        const { work, partial } = await begin()
        storage.put(`${partial}/${name}`, 'ten years')
        const before = storage.below(partial)
        for (const options of [on, { ...on, resume: true }, { ...on, overwrite: true }]) {
          await expect(work(options)).rejects.toEqual(
            coded('EXISTS', new RegExp(`\\.partial is in the way.*${name}.*move it away`)),
          )
        }
        expect(storage.below(partial)).toEqual(before)
      },
    )

    it('stays if it was written during the work', async () => {
      const { request, out, partial } = await begin()
      const plan = await planBlocks(request)
      await runAll(plan)
      storage.put(`${partial}/thesis.txt`, 'ten years')
      await finish(plan)
      expect(await storage.read(out)).toEqual(c)
      expect(storage.below(partial)).toEqual(['thesis.txt'])
    })

    it('stays in the folder of the work', async () => {
      const { request, out, partial } = await begin()
      const plan = await planBlocks(request)
      await runAll(plan)
      const names = [`${plan.id}/thesis.txt`, `${plan.id}/done/0/thesis.txt`]
      for (const name of names) storage.put(`${partial}/${name}`, 'ten years')
      await finish(plan)
      expect(await storage.read(out)).toEqual(c)
      const files = names.map((name) => `${partial}/${name}`)
      expect(storage.contents(partial)).toEqual(new Map(files.map((file) => [file, 'ten years'])))
    })

    /** Foreign outputs: an array of the same format, an array with an extra file, and an incomplete array. */
    const others: [string, (out: string) => Promise<unknown>][] = [
      ['an array', (out) => storage.write(out, b)],
      ...(storage.isZarr
        ? ([
            [
              'an array with notes',
              async (out) => {
                await storage.write(out, b)
                storage.put(`${out}/notes.txt`, 'ten years')
              },
            ],
            ['a chunk', async (out) => storage.put(`${out}/c/0/0`, 'a chunk of somebody')],
            ['notes', async (out) => storage.put(`${out}/notes.txt`, 'ten years')],
          ] as [string, (out: string) => Promise<unknown>][])
        : []),
    ]

    it.each(others)('stays at finish(): %s that was written after the plan', async (_, make) => {
      const { request, out, done } = await begin()
      const plan = await planBlocks(request)
      await runAll(plan)
      await make(out)
      const before = storage.contents(out)
      for (let round = 0; round < 2; round++) {
        await expect(finish(plan)).rejects.toEqual(coded('EXISTS', out))
        expect(storage.contents(out)).toEqual(before)
      }
      storage.remove(out)
      await finish(plan)
      await done()
    })

    it.each(others)(
      'stays with overwrite: %s that was written or changed after the plan',
      async (_, make) => {
        const { request, out, done } = await begin()
        await storage.write(out, { ...a, data: a.data.map((value) => value >> 1) })
        const plan = await planBlocks({ ...request, overwrite: true })
        await runAll(plan)
        await make(out)
        const before = storage.contents(out)
        await expect(finish(plan)).rejects.toEqual(coded('EXISTS', out))
        expect(storage.contents(out)).toEqual(before)
        storage.remove(out)
        await finish(plan)
        await done()
      },
    )

    it('stays if it was written during the run', async () => {
      const { pathA, pathB, out, partial } = await begin()
      const square = storage.fresh()
      await storage.write(square, weights)
      const edges = { nodes: 2, from: [0], to: [1], weight: [4] }
      const runs = [
        (options: ArraysOptions) => multiplyArrays(pathA, pathB, out, { ...on, ...options }),
        (options: ArraysOptions) => shortestPathsArrays(square, out, { ...on, ...options }),
        (options: ArraysOptions) => shortestPathsArrays(edges, out, options),
      ]
      for (const run of runs) {
        // The first call of the listener precedes the renaming of the output.
        const onProgress = () => {
          if (storage.contents(out).size > 0) return
          if (storage.isZarr) storage.put(`${out}/zarr.json`, '{"zarr_format":3,"node_type":"array"}')
          storage.put(storage.isZarr ? `${out}/notes.txt` : out, 'ten years')
        }
        await expect(run({ onProgress })).rejects.toEqual(coded('EXISTS', out))
        expect([...storage.contents(out).values()].at(storage.isZarr ? 0 : -1)).toBe('ten years')
        expect(storage.contents(out).size).toBe(storage.isZarr ? 2 : 1)
        storage.remove(out)
        await run({ resume: true })
        expect(storage.contents(partial).size).toBe(0)
        storage.remove(out)
      }
    })

    if (!storage.isZarr) return
    it('stays with overwrite as a file in an array', async () => {
      const { request, out } = await begin()
      await storage.write(out, b)
      storage.put(`${out}/notes.txt`, 'ten years')
      const before = storage.contents(out)
      await expect(planBlocks({ ...request, overwrite: true })).rejects.toEqual(
        coded('EXISTS', /has notes\.txt, which is no part of a Zarr array: move that away/),
      )
      expect(storage.contents(out)).toEqual(before)
    })

    it.each<string | null>([
      JSON.stringify({ zarr_format: 3, node_type: 'group', attributes: {} }),
      '',
      '{',
      'null',
      '[]',
      '{"zarr_format":3}',
      null,
    ])('stays if its zarr.json is %j', async (text) => {
      const { work, pathB, out, partial } = await begin()
      const inside = `${out}/inside.zarr`
      await storage.write(inside, a)
      if (text !== null) storage.put(`${out}/zarr.json`, text)
      const before = storage.below(out)
      await expect(work({ ...on, overwrite: true })).rejects.toEqual(coded('EXISTS', /is no Zarr array/))
      await expect(multiplyArrays(inside, pathB, out, { ...on, overwrite: true })).rejects.toEqual(
        coded('OPTION', /is in the folder of the output/),
      )
      expect(storage.below(out)).toEqual(before)
      expect(storage.below(partial)).toEqual([])
    })
  })

  it('rejects an output that is an input, or within one', async () => {
    const { pathA, pathB, out } = await begin()
    const over = (output: string) => multiplyArrays(pathA, pathB, output, { ...on, overwrite: true })
    await expect(over(pathA)).rejects.toEqual(coded('OPTION', /is also an input/))
    if (storage.isZarr) {
      await expect(over(`${pathA}/c.zarr`)).rejects.toEqual(coded('OPTION', /in the folder of an input/))
    }
    expect(storage.below(out)).toEqual([])
  })
})
