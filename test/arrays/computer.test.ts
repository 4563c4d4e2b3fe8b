/** Sequential computation of block jobs on a device that stays open between jobs. */
import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { BlockComputer } from '../../lib/arrays/blocks.js'
import { allJobs, type BlockPlan, finish, planBlocks, runBlock } from '../../lib/arrays.js'
import { openDevice } from '../../lib/device/device.js'
import { readNpy } from '../../lib/files.js'
import { type Plain, writeZarr } from '../support/arrays.js'
import { coded } from '../support/coded.js'
import { useFolder } from '../support/folder.js'
import { randomMatrix } from '../support/generators.js'
import { oracle, type Strided } from '../support/oracle.js'

vi.mock('../../lib/device/device.js', { spy: true })

const n = 40
const a = randomMatrix(n, n, 5) as Plain & Strided
const b = randomMatrix(n, n, 6) as Plain & Strided
const on = { backend: 'cpu' } as const

const inFolder = useFolder(afterEach)
let computer: BlockComputer
const path = (name: string) => inFolder(name)

beforeEach(async () => {
  await writeZarr(path('a.zarr'), a, [20, 20])
  await writeZarr(path('b.zarr'), b, [20, 20])
  computer = new BlockComputer()
  vi.mocked(openDevice).mockClear()
})
afterEach(async () => {
  vi.useRealTimers()
  await computer.close()
})

const planned = (x: string, y: string, c: string) =>
  planBlocks({ kind: 'multiply', a: path(x), b: path(y), c: path(c), block: 20 })
const opened = () => vi.mocked(openDevice).mock.calls.length

async function expectProduct(plan: BlockPlan, x: Strided, y: Strided): Promise<void> {
  await finish(plan)
  const product = oracle(x, y)
  expect(product.overflow).toBeFalsy()
  expect((await readNpy(plan.output.path)).data).toEqual(product.overflow || product.data)
}

it('opens a device once for all jobs of a plan, and reports the bytes that each has read', async () => {
  const plan = await planned('a.zarr', 'b.zarr', 'c.npy')
  const [first, ...jobs] = allJobs(plan)
  const alone = await runBlock(plan, first!, on)
  expect(opened()).toBe(1)
  for (const job of jobs) {
    const { already, bytesRead, bytesWritten } = await computer.runBlock(plan, job, on)
    expect({ already, bytesRead, bytesWritten }).toEqual({
      already: false,
      bytesRead: alone.bytesRead,
      bytesWritten: alone.bytesWritten,
    })
  }
  expect(opened()).toBe(2)
  expect((await computer.runBlock(plan, first!, on)).already).toBe(true)
  await expectProduct(plan, a, b)
})

it('takes jobs of other plans in between', async () => {
  const [one, two] = [await planned('a.zarr', 'b.zarr', 'c.npy'), await planned('b.zarr', 'a.zarr', 'd.npy')]
  const others = [...allJobs(two)]
  for (const [index, job] of [...allJobs(one)].entries()) {
    await computer.runBlock(one, job, on)
    await computer.runBlock(two, others[index]!, on)
  }
  expect(opened()).toBe(8)
  await expectProduct(one, a, b)
  await expectProduct(two, b, a)
})

it('continues after a job was aborted, and after one has failed', async () => {
  const plan = await planned('a.zarr', 'b.zarr', 'c.npy')
  const jobs = [...allJobs(plan)]
  await computer.runBlock(plan, jobs[0]!, on)
  const controller = new AbortController()
  vi.mocked(openDevice).mockClear()
  const given = computer.runBlock(plan, jobs[1]!, { ...on, signal: controller.signal })
  controller.abort('enough')
  await expect(given).rejects.toEqual(expect.objectContaining({ code: 'ERR_MPMML_ABORTED', cause: 'enough' }))
  // The signal of a finished job doesn't affect later jobs.
  const later = new AbortController()
  await computer.runBlock(plan, jobs[1]!, { ...on, signal: later.signal })
  later.abort()
  const chunk = path('a.zarr/c/1/0')
  expect(existsSync(chunk)).toBe(true)
  await computer.runBlock(plan, jobs[2]!, on)
  await whileDamaged(chunk, () =>
    expect(computer.runBlock(plan, jobs[3]!, on)).rejects.toEqual(coded('CHANGED')),
  )
  const again = await planned('a.zarr', 'b.zarr', 'again.npy')
  for (const job of allJobs(again)) await computer.runBlock(again, job, on)
  await expectProduct(again, a, b)
})

/** Calls `check` while a chunk is truncated. */
async function whileDamaged(chunk: string, check: () => Promise<void>): Promise<void> {
  const bytes = readFileSync(chunk)
  truncateSync(chunk, 8)
  await check()
  writeFileSync(chunk, bytes)
}

it('releases its device when no job comes', async () => {
  const plan = await planned('a.zarr', 'b.zarr', 'c.npy')
  const [first, second] = allJobs(plan)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  await computer.runBlock(plan, first!, on)
  const device = await vi.mocked(openDevice).mock.results[0]!.value
  expect(device.memory().free).toBeGreaterThan(0)
  await vi.advanceTimersByTimeAsync(20_000)
  await expect.poll(() => isClosed(device)).toBe(true)
  await computer.runBlock(plan, second!, on)
  expect(opened()).toBe(2)
})

it.each<[string, (plan: BlockPlan) => Promise<unknown>]>([
  ['was done before', (plan) => computer.runBlock(plan, [...allJobs(plan)][0]!, on)],
  [
    'is refused',
    (plan) =>
      expect(computer.runBlock(plan, { name: 'c-9-9', stage: 0 }, on)).rejects.toEqual(coded('OPTION')),
  ],
  [
    'is aborted before it begins',
    (plan) =>
      expect(
        computer.runBlock(plan, [...allJobs(plan)][1]!, { ...on, signal: AbortSignal.abort() }),
      ).rejects.toEqual(coded('ABORTED')),
  ],
])('releases its device after a job that %s too', async (_, last) => {
  const plan = await planned('a.zarr', 'b.zarr', 'c.npy')
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  await computer.runBlock(plan, [...allJobs(plan)][0]!, on)
  const device = await vi.mocked(openDevice).mock.results[0]!.value
  await last(plan)
  expect(isClosed(device)).toBe(false)
  await vi.advanceTimersByTimeAsync(20_000)
  await expect.poll(() => isClosed(device)).toBe(true)
})

function isClosed(device: { memory(): object }): boolean {
  try {
    device.memory()
    return false
  } catch {
    return true
  }
}
