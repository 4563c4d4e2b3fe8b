/** Bad arguments of the functions of files and arrays on disk: each is rejected with an error of the library that has a code. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as arrays from '../../lib/arrays.js'
import * as files from '../../lib/files.js'
import { MpmmlError, matrix } from '../../lib/index.js'

const folder = mkdtempSync(join(tmpdir(), 'mpmml-arguments-'))
let names = 0
const at = (name: string) => join(folder, name)
const fresh = (ending: string) => at(`${names++}${ending}`)
const square = matrix(2, 2, [0, 7, 3, 1])
const entries = { shape: [2, 2], row: Int32Array.of(0), col: Int32Array.of(1), value: Int32Array.of(7) }
let plan: arrays.BlockPlan
const job = { name: 'c-0-0', stage: 0 }
const on = { backend: 'cpu' } as const

beforeAll(async () => {
  await files.writeNpy(at('a.npy'), square)
  await files.writeNpy(at('row.npy'), matrix(1, 2, [1, 2]))
  await files.writeNpz(at('a.npz'), { a: square })
  await files.writeNpz(at('row.npz'), { a: matrix(1, 2, [1, 2]) })
  for (const ending of ['.mtx', '.csv', '.tsv', '.gr']) await files.writeMatrix(at(`a${ending}`), square)
  writeFileSync(at('e.mtx'), '%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 7\n')
  plan = await arrays.planBlocks({ kind: 'multiply', a: at('a.npy'), b: at('a.npy'), c: at('c.npy') })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Returns valid arguments of each function. The last one, the options, may be omitted or empty. */
const good: Record<string, () => unknown[]> = {
  combineDuplicates: () => [entries, 'max-plus'],
  fileFormatOf: () => ['a.npy'],
  readNpy: () => [at('a.npy'), {}],
  writeNpy: () => [fresh('.npy'), square, {}],
  formatNpy: () => [square],
  parseMatrix: () => ['7\n', { format: 'csv' }],
  parseNpy: () => [files.formatNpy(square), {}],
  npzNames: () => [at('a.npz'), {}],
  readNpz: () => [at('a.npz'), {}],
  writeNpz: () => [fresh('.npz'), { a: square }, {}],
  readMatrix: () => [at('a.npy'), {}],
  isSparseFile: () => [at('a.mtx'), {}],
  readEntries: () => [at('e.mtx'), {}],
  writeEntries: () => [fresh('.mtx'), entries, {}],
  writeText: () => [fresh('.txt'), 'text', {}],
  writeMatrix: () => [fresh('.npy'), square, {}],
  doneJobs: () => [plan, 0, {}],
  finish: () => [plan, {}],
  isDone: () => [plan, job, {}],
  runBlock: () => [plan, job, on],
  allJobs: () => [plan],
  jobsOf: () => [plan, 0, 1],
  multiplyArrays: () => [at('a.npy'), at('a.npy'), fresh('.npy'), on],
  shortestPathsArrays: () => [at('a.npy'), fresh('.npy'), on],
  planBlocks: () => [{ kind: 'multiply', a: at('a.npy'), b: at('a.npy'), c: fresh('.npy') }],
}

const bare = () => Object.create(null)
const bad: [string, () => unknown][] = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['7', () => 7],
  ['NaN', () => Number.NaN],
  ['-1', () => -1],
  ['7n', () => 7n],
  ['true', () => true],
  ["''", () => ''],
  ['a symbol', () => Symbol('a')],
  ['a function', () => () => {}],
  ['{}', () => ({})],
  ['an object without a prototype', bare],
  ['[]', () => []],
  ['[undefined]', () => [undefined]],
  ['an object of a symbol', () => ({ data: Symbol('a'), kind: 7n, id: 7n, shape: bare(), stages: bare() })],
]

/** Allowed arguments that look invalid, such as omitted or empty ones. */
const fine = new Set([
  ...Object.entries({ writeNpz: 1 }).flatMap(([name, index]) =>
    ['{}', 'an object without a prototype', '[]'].map((value) => `${name} ${index} ${value}`),
  ),
  // isSparseFile returns false for a name without an extension.
  "isSparseFile 0 ''",
  "writeText 1 ''",
  'jobsOf 2 undefined',
  'jobsOf 2 7',
])

const outcome = async (call: () => unknown) => {
  try {
    const result = await call()
    // Generators throw at the call or during iteration.
    if (typeof result === 'object' && result !== null && Symbol.iterator in result)
      Array.from(result as Iterable<unknown>)
    return 'done'
  } catch (error) {
    return error
  }
}

const functions = Object.entries({ ...files, ...arrays }).filter(([, value]) => typeof value === 'function')

it('covers all functions', () => {
  expect(functions.map(([name]) => name).sort()).toEqual(Object.keys(good).sort())
})

describe.each(functions)('%s', (name, called) => {
  const call = called as (...args: unknown[]) => unknown
  const count = good[name]?.().length ?? 0
  const isOptions = (index: number) => index === count - 1 && count > 1

  it.each(Array.from({ length: count }, (_, index) => index))('rejects a bad argument %i', async (index) => {
    for (const [shown, make] of bad) {
      const args = good[name]!()
      args[index] = make()
      const end = await outcome(() => call(...args))
      const what = `${name}, argument ${index}: ${shown}`
      if (end !== 'done') {
        expect(end, `${what}: ${(end as Error)?.stack}`).toBeInstanceOf(MpmmlError)
        expect((end as MpmmlError).code, what).toMatch(/^ERR_MPMML_[A-Z_]+$/)
        expect((end as MpmmlError).message, what).not.toMatch(
          /is not a function|Cannot (read|destructure|convert)/,
        )
        continue
      }
      const mayBeEmpty =
        isOptions(index) && ['undefined', '{}', 'an object without a prototype', '[]'].includes(shown)
      expect(mayBeEmpty || fine.has(`${name} ${index} ${shown}`), `${what} is accepted`).toBe(true)
    }
  })

  it('rejects calls without arguments', async () => {
    const end = await outcome(() => call())
    expect(end, `${name}: ${(end as Error)?.stack}`).toBeInstanceOf(MpmmlError)
  })
})
