/** Forged plans and completion marks with valid hashes, which any client of a queue can compute. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { identity } from '../../lib/arrays/job.js'
import { allJobs, type BlockPlan, doneJobs, finish, planBlocks, runBlock } from '../../lib/arrays.js'
import { writeNpy } from '../../lib/files.js'
import { writeZarr } from '../support/arrays.js'
import { coded } from '../support/coded.js'
import { useFolder } from '../support/folder.js'
import { randomMatrix } from '../support/generators.js'

const inFolder = useFolder()
let pathA: string
let pathB: string
beforeAll(async () => {
  pathA = inFolder('a.npy')
  await writeNpy(pathA, randomMatrix(40, 40, 1) as never)
  pathB = inFolder('b.zarr')
  await writeZarr(pathB, randomMatrix(40, 40, 2) as never, [10, 10])
})
afterEach(() => vi.restoreAllMocks())

let names = 0
const fresh = (ending: string) => inFolder(`${names++}${ending}`)
const on = { backend: 'cpu' } as const
const first = { name: 'c-0-0', stage: 0 }

const product = () =>
  planBlocks({ kind: 'multiply', a: pathA, b: pathB, c: fresh('.zarr'), block: 20, chunks: [10, 10] })
const paths = () => planBlocks({ kind: 'shortest-paths', a: pathA, c: fresh('.npy'), block: 20 })

// biome-ignore lint/suspicious/noExplicitAny: an invalid plan
type Anything = any

/** Returns a changed copy of a plan whose id matches its content. */
function forged(plan: BlockPlan, change: (plan: Anything) => void): BlockPlan {
  const { id: _, ...rest } = structuredClone(plan) as Anything
  change(rest)
  return { ...rest, id: identity(rest) }
}

const products: [string, (plan: Anything) => void][] = [
  ['without a kind', (plan) => delete plan.kind],
  ['of another kind', (plan) => Object.assign(plan, { kind: 'power' })],
  ['without a beginning', (plan) => delete plan.begun],
  ['of another semiring', (plan) => Object.assign(plan, { semiring: 'max-max' })],
  ['of another policy', (plan) => Object.assign(plan, { overflow: 'ignore' })],
  ['without a policy', (plan) => Object.assign(plan, { overflow: null })],
  ['without an input', (plan) => delete plan.b],
  ['of no inputs', (plan) => Object.assign(plan, { a: null, b: null })],
  ['with an input of three dimensions', (plan) => Object.assign(plan.a, { shape: [40, 40, 1] })],
  ['with an input of another type', (plan) => Object.assign(plan.a, { dtype: 'int8' })],
  ['with inputs that do not fit', (plan) => Object.assign(plan.b, { shape: [41, 40] })],
  ['with inputs of two types', (plan) => Object.assign(plan.b, { dtype: 'float32' })],
  ['with an output of another type', (plan) => Object.assign(plan.output, { dtype: 'int16' })],
  ['with an output of another shape', (plan) => Object.assign(plan.output, { shape: [40, 60] })],
  ['with an output without a layout', (plan) => delete plan.output.layout],
  ['of a file with a layout', (plan) => Object.assign(plan.output, { path: inFolder('c.npy') })],
  ['with another codec', (plan) => Object.assign(plan.output.layout, { codec: 'lz4' })],
  ['with chunks of nothing', (plan) => Object.assign(plan.output.layout, { chunks: [0, 10] })],
  ['with shards of parts of chunks', (plan) => Object.assign(plan.output.layout, { shards: [15, 10] })],
  ['with blocks of parts of chunks', (plan) => Object.assign(plan.block, { rows: 15 })],
  ['with blocks of nothing', (plan) => Object.assign(plan.block, { depth: 0 })],
  ['with blocks of parts of elements', (plan) => Object.assign(plan.block, { depth: 0.5 })],
  ['without blocks', (plan) => delete plan.block],
  ['with more jobs', (plan) => Object.assign(plan, { stages: [5] })],
  ['with fewer jobs', (plan) => Object.assign(plan, { stages: [3] })],
  [
    'with a long list of products',
    (plan) => {
      Object.assign(plan.a, { shape: [40, 2 ** 31 - 1] })
      Object.assign(plan.b, { shape: [2 ** 31 - 1, 40] })
      Object.assign(plan.block, { depth: 1 })
    },
  ],
]

describe('a plan with the right hash', () => {
  it.each(products)('is rejected: %s', async (_, change) => {
    const plan = forged(await product(), change)
    await expect(runBlock(plan, first, on)).rejects.toEqual(coded('RESUME', /not as it was made/))
    await expect(finish(plan)).rejects.toEqual(coded('RESUME', /not as it was made/))
  })

  it.each<[string, (plan: Anything) => void]>([
    ['that is not square', (plan) => Object.assign(plan.a, { shape: [40, 20] })],
    ['between types', (plan) => Object.assign(plan, { between: 'float32' })],
    ['without blocks', (plan) => Object.assign(plan, { block: null })],
    ['with more stages', (plan) => plan.stages.push(1)],
    ['with no stages', (plan) => Object.assign(plan, { stages: [] })],
  ])('is rejected for paths: %s', async (_, change) => {
    const plan = forged(await paths(), change)
    await expect(runBlock(plan, { name: 'k-0-0-0', stage: 0 }, on)).rejects.toEqual(
      coded('RESUME', /not as it was made/),
    )
  })

  // The fields of these plans are consistent, but exceed the arrays. Without checks the plans would allocate
  // any amount of memory.
  it.each<[string, (plan: Anything) => void, RegExp]>([
    [
      'another shape',
      (plan) => {
        for (const array of [plan.a, plan.b, plan.output]) array.shape = [2 ** 30, 2 ** 30]
        plan.block = { rows: 2 ** 30, cols: 2 ** 30, depth: 2 ** 30 }
        plan.stages = [1]
      },
      /a\.npy has changed.*it was int32 of \[1073741824,1073741824\], and is int32 of \[40,40\]/,
    ],
    [
      'another type',
      (plan) => {
        for (const array of [plan.a, plan.b, plan.output]) array.dtype = 'float64'
        plan.overflow = null
      },
      /a\.npy has changed.*it was float64/,
    ],
    [
      'another shape of B',
      (plan) => {
        plan.b.shape = [40, 80]
        plan.output.shape = [40, 80]
        plan.stages = [8]
      },
      /b\.zarr has changed.*\[40,80\]/,
    ],
  ])('is rejected before any computation with %s than the arrays have', async (_, change, message) => {
    const plan = forged(await product(), change)
    await expect(runBlock(plan, first, on)).rejects.toEqual(coded('CHANGED', message))
  })

  it('is reported if it takes more memory than exists', async () => {
    const plan = await product()
    vi.spyOn(process, 'availableMemory').mockReturnValue(1000)
    await expect(runBlock(plan, first, on)).rejects.toEqual(
      coded('OUT_OF_MEMORY', /blocks of this plan take \d+ KiB, but 1 KiB are available/),
    )
    vi.restoreAllMocks()
    expect((await runBlock(plan, first, on)).already).toBe(false)
  })
})

it('rejects plans with too many blocks', async () => {
  const path = fresh('.zarr')
  await writeZarr(path, { shape: [1, 2 ** 19], data: new Int32Array(2 ** 19) }, [1, 2 ** 19])
  const tall = fresh('.zarr')
  await writeZarr(tall, { shape: [2 ** 19, 1], data: new Int32Array(2 ** 19) }, [2 ** 19, 1])
  await expect(
    planBlocks({ kind: 'multiply', a: path, b: tall, c: fresh('.npy'), block: { depth: 1 } }),
  ).rejects.toEqual(coded('OPTION', /depth must be at least 2/))
})

it('ignores marks of other names', async () => {
  const plan = await product()
  const [missing, ...jobs] = [...allJobs(plan)]
  for (const job of jobs) await runBlock(plan, job, on)
  const marks = join(`${plan.output.path}.partial`, plan.id, 'done', '0')
  expect(readdirSync(marks)).toHaveLength(jobs.length)
  for (const name of ['c-00-0', 'c-0-9', '.DS_Store']) writeFileSync(join(marks, name), '')
  expect(await doneJobs(plan, 0)).toEqual(new Set(jobs.map(({ name }) => name)))
  await expect(finish(plan)).rejects.toEqual(coded('RESUME', /1 of the blocks of .* such as c-0-0/))
  expect(existsSync(plan.output.path)).toBe(false)
  await runBlock(plan, missing!, on)
  await finish(plan)
})
