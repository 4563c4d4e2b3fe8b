/**
 * Calls of an addon with separate memory (native/wasm/staging.ts), with this platform's addon instead of
 * WebAssembly.
 */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { shortestPaths } from '../../lib/graph.js'
import { MpmmlError, matrix, mpmm, mpmmGrouped, mpmmSync } from '../../lib/index.js'
import { type Addon, nativeCalls } from '../../lib/native-interface.js'
import type { Exports } from '../../lib/remote/written.js'
import { staged } from '../../native/wasm/staging.js'
import { useDevice } from '../support/homes.js'
import { board, movesOfKing } from '../support/king.js'
import { copies } from '../support/suite-devices-copies.js'
import { structureSuite } from '../support/suite-structure.js'
import { StandInMemory } from '../support/wasm-stand-in.js'

const module = vi.hoisted(() => ({}) as { memory: StandInMemory; native: Addon })
const native = () => module.native

vi.mock('../../lib/load.js', async (original) => {
  const actual = await original<typeof import('../../lib/load.js')>()
  const stand = await import('../support/wasm-stand-in.js')
  const { staged } = await import('../../native/wasm/staging.js')
  module.memory = new stand.StandInMemory()
  const { addon, origin } = actual.load<Addon>()
  module.native = addon
  return { ...actual, load: () => ({ addon: staged(addon as unknown as Exports, module.memory), origin }) }
})

afterEach(() => expect([...module.memory.used.values()]).toEqual([]))

describe('structures', () => structureSuite('cpu'))
describe('copies', () => {
  const open = useDevice({ backend: 'cpu' })
  copies(open)
})

describe('a call', () => {
  const [a, b] = [matrix(2, 2, [1, 6, 2, 8]), matrix(2, 2, [2, 5, 3, 3])]

  it('writes only the elements of its result into an array that others use', async () => {
    const out = { data: new Int32Array(12).fill(7), shape: [2, 2], strides: [5, 2], offset: 1 } as const
    for (const product of [() => mpmm(a, b, { out }), () => mpmmSync(a, b, { out })]) {
      out.data.fill(7)
      await product()
      expect([...out.data]).toEqual([7, 9, 7, 9, 7, 7, 11, 7, 11, 7, 7, 7])
    }
  })

  it('computes products in groups that share operands', async () => {
    const [first, second] = await mpmmGrouped([
      { a, b },
      { a: b, b: a },
    ])
    expect([[...first!.c.data], [...second!.c.data]]).toEqual([
      [9, 9, 11, 11],
      [7, 13, 5, 11],
    ])
  })

  it('returns witnesses', async () => {
    const { witness } = await mpmm(a, b, { witness: true })
    expect([...witness.data]).toEqual([1, 1, 1, 1])
  })

  it('dissects a graph and returns all distances', async () => {
    const { distances } = await shortestPaths(board(40), { method: 'dissection' })
    const wrong = distances.data.findIndex(
      (distance, at) => distance !== movesOfKing(40, Math.floor(at / 1600), at % 1600),
    )
    expect(wrong).toBe(-1)
  })

  it('rejects with an error of the library if arrays are transferred in the meantime', async () => {
    const n = 300
    const [left, right] = [matrix(n, n, new Int32Array(n * n)), matrix(n, n, new Int32Array(n * n))]
    const out = matrix(n, n, new Int32Array(n * n))
    for (const taken of [left, out]) {
      const work = mpmm(left, right, { out })
      structuredClone(taken.data, { transfer: [taken.data.buffer as ArrayBuffer] })
      const error = await work.catch((error) => error)
      expect([error instanceof MpmmlError, (error as MpmmlError).code]).toEqual([true, 'ERR_MPMML_DTYPE'])
      taken.data = new Int32Array(n * n) as never
    }
  })
})

describe('memory that is full', () => {
  const full = () => {
    const memory = new StandInMemory(64)
    return staged(native() as unknown as Exports, memory)
  }
  const outOfMemory = { code: 'ERR_MPMML_OUT_OF_MEMORY' }
  const atOnce = ['multiplySync', 'multiplyUserSync', 'userSemiring', 'evaluateUserSemiring']
  const arrays = () => new Int32Array(64)

  /**
   * Arguments of the right forms, each with an array. The allocation of their copies fails before native code
   * reads them.
   */
  const valuesOf = ({ takes }: { takes: readonly string[] }) =>
    takes.map((name) => {
      if (name === 'products') return []
      return /^(request|definition)$/.test(name) ? { weights: arrays(), distances: arrays() } : arrays()
    })

  it.each(
    Object.entries(nativeCalls).filter(
      ([name, { hasArrays }]) => hasArrays && !/^(cancelWork|preferHugePages)$/.test(name),
    ),
  )('makes %s reject if it gives a promise, and throw otherwise', async (name, call) => {
    const started = () => (full()[name] as (...values: unknown[]) => unknown)(...valuesOf(call))
    if (!atOnce.includes(name)) await expect(started()).rejects.toMatchObject(outOfMemory)
    else expect(started).toThrow(expect.objectContaining(outOfMemory))
  })
})
