/** Replacement of existing files by outputs, and completion of outputs. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  promises,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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
import type { Semiring } from '../../lib/index.js'
import { root } from '../cli/support.js'
import { type Plain, readZarr, writeZarr } from '../support/arrays.js'
import { coded } from '../support/coded.js'
import { useFolder } from '../support/folder.js'
import { randomMatrix } from '../support/generators.js'
import { oracle, type Strided } from '../support/oracle.js'
import { runAll } from '../support/storage-location.js'

const n = 64
const a = randomMatrix(n, n, 1) as Plain & Strided
const b = randomMatrix(n, n, 2) as Plain & Strided
const productOf = (x: Strided, y: Strided) => {
  const product = oracle(x, y)
  if (product.overflow) throw new Error('these operands must not overflow')
  return product.data
}
const c = productOf(a, b)
const on: ArraysOptions = { backend: 'cpu', block: 32 }
const overwrite: ArraysOptions = { ...on, overwrite: true }

const inFolder = useFolder()
let pathA: string
let pathB: string
beforeAll(async () => {
  pathA = inFolder('a.npy')
  pathB = inFolder('b.npy')
  await writeNpy(pathA, a as never)
  await writeNpy(pathB, b as never)
})

let names = 0
const fresh = (ending: string) => inFolder(`${names++}${ending}`)
const read = async (path: string) =>
  path.endsWith('.npy') ? (await readNpy(path)).data : (await readZarr(path)).data

const request = (out: string, more: object = {}) =>
  ({ kind: 'multiply', a: pathA, b: pathB, c: out, block: 32, ...more }) as const

/** Creates a Zarr group that contains an array. */
async function makeGroup(): Promise<{ group: string; inside: string }> {
  const group = fresh('.zarr')
  const inside = join(group, 'x.zarr')
  await writeZarr(inside, a, [32, 32])
  writeFileSync(
    join(group, 'zarr.json'),
    JSON.stringify({ zarr_format: 3, node_type: 'group', attributes: {} }),
  )
  return { group, inside }
}

describe('overwrite', () => {
  it('keeps a group that was written at the output path during the work', async () => {
    const out = fresh('.zarr')
    const plan = await planBlocks(request(out))
    await runAll(plan)
    const { group, inside } = await makeGroup()
    renameSync(group, out)
    await expect(finish(plan)).rejects.toEqual(coded('EXISTS', /is no Zarr array/))
    expect(await read(inside.replace(group, out))).toEqual(a.data)
  })

  it('keeps an array that contains an input', async () => {
    const out = fresh('.zarr')
    await writeZarr(out, b, [32, 32])
    const input = join(out, 'a.npy')
    copyFileSync(pathA, input)
    await expect(multiplyArrays(input, pathB, out, overwrite)).rejects.toEqual(
      coded('OPTION', /input .*a\.npy is in the folder of the output/),
    )
    const link = fresh('.npy')
    symlinkSync(input, link)
    await expect(multiplyArrays(link, pathB, out, overwrite)).rejects.toEqual(coded('OPTION'))
    expect(await read(input)).toEqual(a.data)
  })

  it('replaces a link to an array, and keeps the array', async () => {
    const [array, out] = [fresh('.zarr'), fresh('.zarr')]
    await writeZarr(array, b, [32, 32])
    symlinkSync(array, out)
    await expect(multiplyArrays(pathA, pathB, out, on)).rejects.toEqual(coded('EXISTS', /exists already/))
    await multiplyArrays(pathA, pathB, out, overwrite)
    expect(await read(out)).toEqual(c)
    expect(lstatSync(out).isSymbolicLink()).toBe(false)
    expect(await read(array)).toEqual(b.data)
  })

  it.each(['.zarr', '.npy'])('rejects a dangling link %s before any work', async (ending) => {
    const out = fresh(ending)
    symlinkSync(inFolder('nowhere'), out)
    const work = multiplyArrays(pathA, pathB, out, on)
    await expect(work).rejects.toEqual(coded('EXISTS', /exists already/))
    expect(existsSync(`${out}.partial`)).toBe(false)
  })
})

describe('an existing .partial path next to an output', () => {
  const strangers: [string, (path: string) => void][] = [
    ['a file', (path) => writeFileSync(path, 'half of a download')],
    ['a link', (path) => symlinkSync(inFolder(), path)],
  ]
  it.each(strangers)('is rejected and kept if it is %s', async (_, make) => {
    for (const options of [on, { ...on, resume: true }, overwrite]) {
      const out = fresh('.npy')
      const path = `${out}.partial`
      make(path)
      const before = lstatSync(path).isDirectory() ? readdirSync(path, { recursive: true }) : readFile(path)
      await expect(multiplyArrays(pathA, pathB, out, options)).rejects.toEqual(
        coded('EXISTS', /\.partial is in the way.*move it away/),
      )
      expect(lstatSync(path).isDirectory() ? readdirSync(path, { recursive: true }) : readFile(path)).toEqual(
        before,
      )
    }
  })
  const readFile = (path: string) => (lstatSync(path).isFile() ? readFileSync(path, 'utf8') : '')

  it('is removed if the process that was creating it has ended', async () => {
    const out = fresh('.npy')
    mkdirSync(join(`${out}.partial`, '0123456789abcdef'.repeat(2), 'temporary'), { recursive: true })
    await multiplyArrays(pathA, pathB, out, on)
    expect(await read(out)).toEqual(c)
    expect(existsSync(`${out}.partial`)).toBe(false)
  })

  it('is removed if the process that was removing it has ended', async () => {
    const out = fresh('.zarr')
    await multiplyArrays(pathA, pathB, out, on)
    mkdirSync(`${out}.partial`)
    expect((await multiplyArrays(pathA, pathB, out, { ...on, resume: true })).resumed).toBe(4)
    expect(existsSync(`${out}.partial`)).toBe(false)
  })
})

it('removes the empty folder of a process that ended after it had completed a .npy file', async () => {
  const out = fresh('.npy')
  await multiplyArrays(pathA, pathB, out, on)
  mkdirSync(`${out}.partial`)
  await expect(multiplyArrays(pathA, pathB, out, { ...on, resume: true })).rejects.toEqual(coded('EXISTS'))
  expect(existsSync(`${out}.partial`)).toBe(false)
})

describe('a plan without its unfinished folder', () => {
  it.each([
    ['.npy', {}],
    ['.zarr', {}],
    ['.zarr', { chunks: [8, 8] }],
  ])('does not count as done if the old %s exists (%j)', async (ending, layout) => {
    const out = fresh(ending)
    await multiplyArrays(pathA, pathB, out, { ...on, ...(ending === '.npy' && { semiring: 'min-plus' }) })
    const plan = await planBlocks(request(out, { overwrite: true, ...layout }))
    rmSync(`${out}.partial`, { recursive: true })
    await expect(finish(plan)).rejects.toEqual(coded('RESUME', /is gone.*another process/))
    expect(await isDone(plan, { name: 'c-0-0', stage: 0 })).toBe(false)
    await expect(runBlock(plan, { name: 'c-0-0', stage: 0 }, { backend: 'cpu' })).rejects.toEqual(
      coded('FILE'),
    )
  })

  it('does not count as done if another plan wrote a .npy of the same shape', async () => {
    const out = fresh('.npy')
    const plan = await planBlocks(request(out))
    rmSync(`${out}.partial`, { recursive: true })
    await multiplyArrays(pathA, pathB, out, { ...on, semiring: 'min-plus' })
    await expect(finish(plan)).rejects.toEqual(coded('RESUME'))
    expect(await isDone(plan, { name: 'c-0-0', stage: 0 })).toBe(false)
  })

  it.each(['.npy', '.zarr'])('counts as done if %s was finished', async (ending) => {
    const out = fresh(ending)
    const plan = JSON.parse(JSON.stringify(await planBlocks(request(out)))) as BlockPlan
    await runAll(plan)
    await finish(plan)
    await finish(plan)
    expect(await isDone(plan, { name: 'c-0-0', stage: 0 })).toBe(true)
    expect(await read(out)).toEqual(c)
  })
})

it('writes the fill value into edge chunks beyond the end of the array', async () => {
  const out = fresh('.zarr')
  await multiplyArrays(pathA, pathB, out, { backend: 'cpu', chunks: [48, 40] })
  const chunk = (row: number, col: number) => {
    const { buffer, byteOffset, length } = readFileSync(join(out, 'c', `${row}`, `${col}`))
    return new Int32Array(buffer.slice(byteOffset, byteOffset + length))
  }
  for (const [row, col] of [
    [0, 1],
    [1, 0],
    [1, 1],
  ] as const) {
    const expected = Int32Array.from({ length: 48 * 40 }, (_, at) => {
      const [i, j] = [48 * row + Math.floor(at / 40), 40 * col + (at % 40)]
      return i < n && j < n ? c[i * n + j]! : -(2 ** 31)
    })
    expect(chunk(row, col)).toEqual(expected)
  }
})

describe('options of jobs', () => {
  it('are rejected if they are misspelled or invalid', async () => {
    const plan = await planBlocks(request(fresh('.npy')))
    const [job] = allJobs(plan)
    await runAll(plan)
    for (const options of [{ root: ['/nowhere'] }, { roots: null }, { signal: {} }] as object[]) {
      for (const call of [
        () => isDone(plan, job!, options),
        () => doneJobs(plan, 0, options),
        () => finish(plan, options),
        () => runBlock(plan, job!, options),
      ]) {
        await expect(call()).rejects.toEqual(coded('OPTION', Object.keys(options)[0]!))
      }
    }
    expect(existsSync(plan.output.path)).toBe(false)
  })

  it('are rejected for missing jobs and stages', async () => {
    const plan = await planBlocks(request(fresh('.npy')))
    // These names belong to jobs of other kinds of plans, or to no job.
    const names = [
      'r-0',
      'r-0-0',
      'k-0-0-0',
      'c-0',
      'c-0-0-0',
      'c-00-0',
      'c-0-01',
      '../c-0-0',
      'c-0-9',
      'c-5-0',
    ]
    const others = [...names, ['c-0-0']].map((name) => ({ name, stage: 0 }))
    const stages = [1, 'x'].map((stage) => ({ name: 'c-0-0', stage }))
    for (const job of [null, undefined, 'c-0-0', {}, ...others, ...stages]) {
      await expect(isDone(plan, job as never)).rejects.toEqual(coded('OPTION', /there is no job/))
      await expect(runBlock(plan, job as never)).rejects.toEqual(coded('OPTION', /there is no job/))
    }
    for (const stage of [-1, 1, 0.5, '../..', null]) {
      await expect(doneJobs(plan, stage as never)).rejects.toEqual(coded('OPTION', /there is no stage/))
      expect(() => [...jobsOf(plan, stage as never)]).toThrow(/there is no stage/)
    }
  })
})

describe('finish', () => {
  it('rejects inputs that have changed since the plan', async () => {
    for (const which of ['a', 'b'] as const) {
      const input = fresh('.npy')
      copyFileSync(which === 'a' ? pathA : pathB, input)
      const plan = await planBlocks(request(fresh('.npy'), { [which]: input }))
      await runAll(plan)
      await writeNpy(input, { ...a, data: a.data.map((value) => value + 1) } as never)
      await expect(finish(plan)).rejects.toEqual(coded('CHANGED', input))
      expect(existsSync(plan.output.path)).toBe(false)
    }
  })

  it('ignores empty marks and marks of other plans', async () => {
    const plan = await planBlocks(request(fresh('.npy')))
    const [job] = allJobs(plan)
    await runBlock(plan, job!, { backend: 'cpu' })
    const mark = join(`${plan.output.path}.partial`, plan.id, 'done', '0', job!.name)
    for (const text of ['', readFileSync(mark, 'utf8').replace(plan.id, '0123456789abcdef'.repeat(2))]) {
      writeFileSync(mark, text)
      expect(await isDone(plan, job!)).toBe(false)
      expect((await runBlock(plan, job!, { backend: 'cpu' })).already).toBe(false)
      expect(await isDone(plan, job!)).toBe(true)
    }
  })

  /** Runs `work`, and `then` after each time that the output is moved. */
  async function afterMoving(out: string, then: () => Promise<void>, work: () => Promise<void>) {
    const { rename } = promises
    promises.rename = async (from, to) => {
      await rename(from, to)
      if (String(from) === out) await then()
    }
    syncBuiltinESMExports()
    try {
      await work()
    } finally {
      promises.rename = rename
      syncBuiltinESMExports()
    }
  }

  it('keeps the output that another process wrote after the old array was moved aside', async () => {
    const out = fresh('.zarr')
    await writeZarr(out, b, [32, 32])
    const plan = await planBlocks(request(out, { overwrite: true }))
    await runAll(plan)
    let moved = 0
    const writeAgain = async () => {
      if (++moved === 1) await writeZarr(out, a, [32, 32])
    }
    await afterMoving(out, writeAgain, () =>
      expect(finish(plan)).rejects.toEqual(coded('EXISTS', /was made by another process/)),
    )
    expect(await read(out)).toEqual(a.data)
    rmSync(out, { recursive: true })
    await finish(plan)
    expect(await read(out)).toEqual(c)
  })

  it('continues if the process ended after the old array was moved aside', async () => {
    const out = fresh('.zarr')
    await writeZarr(out, b, [32, 32])
    const plan = await planBlocks(request(out, { overwrite: true }))
    await runAll(plan)
    const fail = async () => Promise.reject(new Error('the end'))
    await afterMoving(out, fail, () => expect(finish(plan)).rejects.toThrow('the end'))
    expect(existsSync(out)).toBe(false)
    await finish(plan)
    expect(await read(out)).toEqual(c)
    expect(existsSync(`${out}.partial`)).toBe(false)
  })
})

describe('several processes', () => {
  const PROCESSES = 3
  const finishers: ChildProcess[] = []
  beforeAll(async () => {
    for (let index = 0; index < PROCESSES; index++) {
      const child = fork(join(root, 'test', 'arrays', 'finisher.mjs'))
      finishers.push(child)
      await once(child, 'message')
    }
  })
  afterAll(() => {
    for (const child of finishers) child.kill()
  })

  const ROUNDS = 50
  it.each(['.zarr', '.npy'])(`finish one plan over an existing %s, ${ROUNDS} times`, async (ending) => {
    const out = fresh(ending)
    const expected = new Map<Semiring, ArrayLike<number>>()
    for (const semiring of ['max-plus', 'min-plus'] as const) {
      const reference = fresh('.npy')
      await multiplyArrays(pathA, pathB, reference, { ...on, semiring })
      expected.set(semiring, (await readNpy(reference)).data)
    }
    expect(expected.get('max-plus')).toEqual(c)
    for (let round = 0; round < ROUNDS; round++) {
      const semiring = round % 2 ? 'min-plus' : 'max-plus'
      const layout = ending === '.zarr' ? { chunks: [8, 8] } : {}
      const plan = await planBlocks(request(out, { block: 64, semiring, overwrite: true, ...layout }))
      await runAll(plan)
      const answers = finishers.map((child) => once(child, 'message'))
      for (const child of finishers) child.send(plan)
      for (const [{ error }] of await Promise.all(answers)) expect(error, `round ${round}`).toBe(null)
      expect(await read(out), `round ${round}`).toEqual(expected.get(semiring))
      expect(readdirSync(inFolder()).filter((name) => name.startsWith(basename(out)))).toEqual([
        basename(out),
      ])
    }
  })
})
