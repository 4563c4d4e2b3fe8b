/** Resumption of work that ended by signals or by kill −9, and work by several processes. */
import { type ChildProcess, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  promises,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import {
  type ArraysOptions,
  allJobs,
  type BlockPlan,
  doneJobs,
  finish,
  isDone,
  jobsOf,
  multiplyArrays,
  planBlocks,
  runBlock,
} from '../../lib/arrays.js'
import { readNpy, writeNpy } from '../../lib/files.js'
import { cli } from '../cli/support.js'
import { type Plain, readZarr, writeZarr } from '../support/arrays.js'
import { coded } from '../support/coded.js'
import { useFolder } from '../support/folder.js'
import { Random, randomMatrix } from '../support/generators.js'
import { inTime } from '../support/in-time.js'
import { oracle, type Strided } from '../support/oracle.js'
import { PATIENCE } from '../support/patience.js'
import { cutOff, network } from '../support/storage-location.js'

const inFolder = useFolder()
let pathA: string
let pathB: string
let pathW: string
const [M, K, N] = [260, 200, 240]
const a = randomMatrix(M, K, 1) as Plain & Strided
const b = randomMatrix(K, N, 2) as Plain & Strided
const product = oracle(a, b)
const c = product.overflow ? new Int32Array() : product.data

const { weights, distances } = network(120)

beforeAll(async () => {
  pathA = inFolder('a.zarr')
  pathB = inFolder('b.npy')
  pathW = inFolder('w.npy')
  await writeZarr(pathA, a, [64, 64])
  await writeNpy(pathB, b as never)
  await writeNpy(pathW, weights as never)
})

let names = 0
const fresh = (ending: string) => inFolder(`out-${names++}${ending}`)
const read = async (path: string) =>
  path.endsWith('.npy') ? (await readNpy(path)).data : (await readZarr(path)).data
const on: ArraysOptions = { backend: 'cpu', block: 32 }

it.each(['.npy', '.zarr'])('rejects resume with a changed %s', async (ending) => {
  const input = fresh(ending)
  if (ending === '.npy') await writeNpy(input, a as never)
  else await writeZarr(input, a, [64, 64])
  const out = fresh('.npy')
  await cutOff((options) => multiplyArrays(input, pathB, out, options), 2, on)
  const later = new Date(Date.now() + 5000)
  utimesSync(ending === '.npy' ? input : join(input, 'c', '1', '1'), later, later)
  const work = (options: ArraysOptions) => multiplyArrays(input, pathB, out, { ...on, ...options })
  await expect(work({ resume: true })).rejects.toEqual(
    coded('CHANGED', /has changed since the work was begun/),
  )
  await work({ overwrite: true })
  expect(await read(out)).toEqual(c)
})

describe('kill −9', () => {
  /** Number of blocks of an output that are marked as done; -1 if the work hasn't begun. */
  function marks(out: string): number {
    const inside = (path: string) => readdirSync(path).map((name) => join(path, name))
    try {
      const stages = inside(`${out}.partial`).flatMap((own) => inside(join(own, 'done')))
      return stages.flatMap(inside).length
    } catch {
      // The folder doesn't exist, or is just being created or removed.
      return -1
    }
  }

  /** Runs the command, and kills it after the given number of further blocks and milliseconds; returns false if it ended before. */
  async function killed(args: string[], out: string, more: number, afterMs: number): Promise<boolean> {
    const requested = Math.max(0, marks(out)) + more
    const child: ChildProcess = spawn(process.execPath, [cli, ...args], { stdio: 'ignore' })
    const ended = new Promise<NodeJS.Signals | null>((resolve) =>
      child.on('exit', (_, signal) => resolve(signal)),
    )
    const timer = setInterval(() => {
      if (marks(out) < requested) return
      clearInterval(timer)
      setTimeout(() => child.kill('SIGKILL'), afterMs)
    }, 1)
    const signal = await ended
    clearInterval(timer)
    return signal === 'SIGKILL'
  }

  it.each([
    [
      'a product',
      '.zarr',
      () => ['multiply', pathA, pathB, '--chunks', '8x8', '--memory', '300kB', '--codec', 'gzip'],
      () => c,
    ],
    ['paths', '.npy', () => ['paths', pathW, '--memory', '20kB'], () => distances],
  ] as const)(
    'leaves work whose resumption is right, at any moment: %s',
    async (_, ending, args, expected) => {
      const random = new Random(7)
      await inTime(async (nth) => {
        const out = fresh(ending)
        const command = [...args(), '--backend', 'cpu', '-o', out, '--resume']
        // The first attempt kills at random times. Later attempts, needed if every process ended before its
        // kill, kill each process once it has begun.
        const [more, afterMs] = nth === 0 ? [4, 30] : [0, 0]
        let kills = 0
        while (
          kills < 10 &&
          (await killed(command, out, random.integer(0, more), random.integer(0, afterMs)))
        )
          kills++
        // All blocks may be done although the process had not ended before the kill.
        const isDone = existsSync(out) && !existsSync(`${out}.partial`)
        if (!isDone) await killed(command, out, Number.POSITIVE_INFINITY, 0)
        expect(await read(out)).toEqual(expected())
        expect(existsSync(`${out}.partial`)).toBe(false)
        return kills > 0
      })
    },
  )

  it('does not prevent new work if it happens during the creation of the work folder', async () => {
    const out = fresh('.zarr')
    mkdirSync(`${out}.partial`)
    await multiplyArrays(pathA, pathB, out, on)
    expect(await read(out)).toEqual(c)
  })

  it('is repaired if it happens between the last block and the renaming', async () => {
    const out = fresh('.npy')
    const plan = await planBlocks({ kind: 'multiply', a: pathA, b: pathB, c: out, block: 64 })
    for (const job of allJobs(plan)) await runBlock(plan, job, { backend: 'cpu' })
    // Simulates an end after the renaming of the output and before the removal of the unfinished folder.
    renameSync(join(`${out}.partial`, plan.id, 'array'), out)
    // The first round starts with the folder without its array, the second one with plan.json only.
    for (const rest of ['all but the array', 'the plan']) {
      const { resumed } = await multiplyArrays(pathA, pathB, out, { backend: 'cpu', resume: true })
      expect(resumed, rest).toBe(plan.stages[0])
      expect(await read(out)).toEqual(c)
      expect(existsSync(`${out}.partial`)).toBe(false)
      mkdirSync(`${out}.partial`)
      writeFileSync(join(`${out}.partial`, 'plan.json'), JSON.stringify(plan))
    }
  })
})

describe('resumption after an incomplete removal', () => {
  it.each(['.npy', '.zarr'])('removes the remaining files of a complete %s', async (ending) => {
    const out = fresh(ending)
    const request = { kind: 'multiply', a: pathA, b: pathB, c: out, block: 64 } as const
    const plan = await planBlocks(request)
    for (const job of allJobs(plan)) await runBlock(plan, job, { backend: 'cpu' })
    const own = join(`${out}.partial`, plan.id)
    renameSync(join(own, 'array'), out)
    rmSync(join(own, 'done'), { recursive: true })
    rmSync(join(own, 'temporary'), { recursive: true })
    expect(await isDone(plan, { name: 'c-0-0', stage: 0 })).toBe(true)
    const { resumed } = await multiplyArrays(pathA, pathB, out, { backend: 'cpu', resume: true })
    expect(resumed).toBe(plan.stages[0])
    expect(await read(out)).toEqual(c)
    expect(existsSync(`${out}.partial`)).toBe(false)
  })

  it('removes overwritten files', async () => {
    const out = fresh('.zarr')
    await cutOff((options) => multiplyArrays(pathA, pathB, out, options), 20, on)
    const { rm } = promises
    promises.rm = (async (path, options) => {
      if (!String(path).endsWith('.partial')) return rm(path, options)
      for (const name of readdirSync(String(path), { recursive: true }) as string[]) {
        if (/array.c.\d+$/.test(name)) await rm(join(String(path), name), { recursive: true })
      }
      throw new Error('the end')
    }) as typeof rm
    syncBuiltinESMExports()
    try {
      await expect(multiplyArrays(pathA, pathB, out, { ...on, overwrite: true })).rejects.toThrow('the end')
    } finally {
      promises.rm = rm
      syncBuiltinESMExports()
    }
    await multiplyArrays(pathA, pathB, out, { ...on, resume: true })
    expect(await read(out)).toEqual(c)
  })
})

it('leaves no file of a worker that was suspended until other workers had finished', async () => {
  const out = fresh('.zarr')
  const plan = await planBlocks({ kind: 'multiply', a: pathA, b: pathB, c: out, block: 64 })
  const [late, ...others] = allJobs(plan)
  const { rename } = promises
  let wake = () => {}
  const sleep = new Promise<void>((resolve) => {
    wake = resolve
  })
  let isAsleep = false
  promises.rename = async (...paths) => {
    if (!isAsleep) {
      isAsleep = true
      await sleep
    }
    return rename(...paths)
  }
  syncBuiltinESMExports()
  try {
    const slow = runBlock(plan, late!, { backend: 'cpu' })
    await vi.waitUntil(() => isAsleep, { timeout: PATIENCE })
    for (const job of [late!, ...others]) await runBlock(plan, job, { backend: 'cpu' })
    await finish(plan)
    wake()
    expect((await slow).already).toBe(true)
  } finally {
    promises.rename = rename
    syncBuiltinESMExports()
  }
  expect(existsSync(`${out}.partial`)).toBe(false)
  expect(await read(out)).toEqual(c)
})

/** Expects that all functions of jobs reject a value that is no unchanged plan. */
async function expectResumeErrors(plan: BlockPlan): Promise<void> {
  const job = { name: 'c-0-0', stage: 0 }
  for (const call of [
    () => runBlock(plan, job),
    () => isDone(plan, job),
    () => finish(plan),
    () => doneJobs(plan, 0),
  ]) {
    await expect(call()).rejects.toEqual(coded('RESUME', /not as it was made/))
  }
}

describe('jobs', () => {
  const request = () => ({ kind: 'multiply', a: pathA, b: pathB, c: fresh('.zarr'), block: 64 }) as const

  it('are done by any process with the plan as JSON, in any order, some of them twice concurrently', async () => {
    const plan = JSON.parse(JSON.stringify(await planBlocks(request()))) as BlockPlan
    const jobs = [...allJobs(plan)].reverse()
    expect(jobs).toHaveLength(plan.stages[0]!)
    expect(await isDone(plan, jobs[0]!)).toBe(false)
    await expect(finish(plan)).rejects.toEqual(coded('RESUME', /20 of the blocks/))
    const results = await Promise.all(
      jobs.flatMap((job) => [
        runBlock(plan, job, { backend: 'cpu' }),
        runBlock(plan, job, { backend: 'cpu' }),
      ]),
    )
    for (const { job, timing } of results) {
      expect(job).toMatch(/^c-\d+-\d+$/)
      expect(timing.totalMs).toBeGreaterThan(0)
    }
    expect((await runBlock(plan, jobs[0]!)).already).toBe(true)
    expect(await doneJobs(plan, 0)).toEqual(new Set(jobs.map(({ name }) => name)))
    await Promise.all([finish(plan), finish(plan)].map((end) => end.catch((error) => error)))
    await finish(plan)
    expect(await read(plan.output.path)).toEqual(c)
    expect(await isDone(plan, jobs[0]!)).toBe(true)
    expect((await runBlock(plan, jobs[0]!)).already).toBe(true)
  })

  it('compute paths stage by stage', async () => {
    const plan = await planBlocks({ kind: 'shortest-paths', a: pathW, c: fresh('.npy'), block: 50 })
    expect(plan.stages).toEqual([1, 4, 4, 1, 4, 4, 1, 4, 4])
    for (let stage = 0; stage < plan.stages.length; stage++) {
      const jobs = [...jobsOf(plan, stage)]
      expect(jobs).toHaveLength(plan.stages[stage]!)
      await Promise.all(jobs.map((job) => runBlock(plan, job, { backend: 'cpu' })))
      // The folder keeps at most two steps, because only the last step is read.
      const steps = join(`${plan.output.path}.partial`, plan.id, 'steps')
      expect(readdirSync(steps).length).toBeLessThanOrEqual(2)
    }
    await finish(plan)
    expect(await read(plan.output.path)).toEqual(distances)
  })

  it('are rejected for modified plans', async () => {
    const plan = await planBlocks(request())
    const changed = { ...plan, output: { ...plan.output, path: inFolder('elsewhere.zarr') } } as BlockPlan
    await expectResumeErrors(changed)
  })

  it.each([[null], [undefined], [{}], ['plan']])('are rejected for %j, which is no plan', async (none) => {
    const plan = none as never
    expect(() => jobsOf(plan, 0)).toThrow(coded('RESUME', /not as it was made/))
    expect(() => allJobs(plan)).toThrow(coded('RESUME', /not as it was made/))
    await expectResumeErrors(plan)
  })

  it('stay within roots', async () => {
    const plan = await planBlocks(request())
    const job = { name: 'c-0-0', stage: 0 }
    const outside = mkdtempSync(join(tmpdir(), 'mpmml-outside-'))
    try {
      for (const call of [
        () => runBlock(plan, job, { roots: [outside] }),
        () => isDone(plan, job, { roots: [outside] }),
        () => finish(plan, { roots: [outside] }),
      ]) {
        await expect(call()).rejects.toEqual(coded('ROOTS', /outside of the folders/))
      }
      expect((await runBlock(plan, job, { roots: [outside, inFolder()], backend: 'cpu' })).already).toBe(
        false,
      )
      // This link leads to a file outside of the roots.
      const link = inFolder('link.npy')
      await writeNpy(join(outside, 'x.npy'), b as never)
      symlinkSync(join(outside, 'x.npy'), link)
      const other = await planBlocks({ kind: 'multiply', a: pathA, b: link, c: fresh('.npy') })
      await expect(runBlock(other, job, { roots: [inFolder()] })).rejects.toEqual(coded('ROOTS', /link\.npy/))
    } finally {
      rmSync(outside, { recursive: true })
    }
  })
})
