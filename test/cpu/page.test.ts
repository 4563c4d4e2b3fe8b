/**
 * The library on a page (lib/remote/page.ts and service.ts), with this platform's addon instead of
 * WebAssembly.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { star } from '../../lib/algebra.js'
import { components, kShortestPaths, reducePaths, shortestPaths, topologicalOrder } from '../../lib/graph.js'
import { info, MpmmlError, matrix, mpmm, mpmmSync, openDevice } from '../../lib/index.js'
import { type Addon, nativeCalls } from '../../lib/native-interface.js'
import type { Request } from '../../lib/remote/messages.js'
import { bpmax, nussinov } from '../../lib/rna.js'
import { semiring } from '../../lib/semirings.js'
import { useDevice } from '../support/homes.js'
import { board, movesOfKing } from '../support/king.js'
import { combining } from '../support/suite-devices-combine.js'
import { copies } from '../support/suite-devices-copies.js'
import type { Page } from '../support/wasm-stand-in.js'

const module = vi.hoisted(() => ({}) as { page: Page; native: Addon; pageOf(addon: Addon): Page })

vi.mock('../../lib/load.js', async (original) => {
  const actual = await original<typeof import('../../lib/load.js')>()
  const { pageOf } = await import('../support/wasm-stand-in.js')
  const { addon } = actual.load<Addon>()
  Object.assign(module, { page: pageOf(addon), native: addon, pageOf })
  const origin = { kind: 'wasm', from: '@mpmml/wasm', file: '' }
  return { ...actual, load: () => ({ addon: module.page.addon, origin }) }
})

afterAll(async () => {
  // Replies to aborted calls may not have arrived yet.
  while (module.page.memory.used.size > 0) await turn()
})

describe('a device of the worker', () => {
  const open = useDevice({ backend: 'cpu' })
  describe('copies', () => copies(open))
  describe('combine', () => combining(open))

  it('releases memory when matrices are disposed', async () => {
    const before = open().memory().used
    const matrices = await Promise.all([1, 2, 3].map((value) => open().full([100, 100], value)))
    expect(open().memory().used).toBe(before + 3 * 40_000)
    for (const one of matrices) one.dispose()
    const last = await open().full([1, 1], 0)
    expect((await last.download()).data[0]).toBe(0)
    expect(open().memory().used).toBeLessThan(before + 40_000)
    last.dispose()
  })
})

describe('arrays of several MiB', () => {
  it('are copied in slices, between which the event loop turns', async () => {
    const device = await openDevice({ backend: 'cpu' })
    const large = matrix(
      1100,
      1100,
      Int32Array.from({ length: 1100 ** 2 }, (_, i) => i % 1009),
    )
    let ended = false
    const counted = (async () => {
      let turns = 0
      for (; !ended; turns++) await turn()
      return turns
    })()
    const [there, small] = await Promise.all([device.upload(large), device.upload(matrix(1, 1, [5]))])
    const back = await there.download()
    ended = true
    // 4.6 MiB are at least two slices per direction.
    expect(await counted).toBeGreaterThan(4)
    expect(back.data).toEqual(large.data)
    expect((await small.download()).data[0]).toBe(5)
    // Copies of equal size reuse the memory of earlier ones.
    const other = matrix(1100, 1100, large.data.slice().reverse())
    expect((await (await device.upload(other)).download()).data).toEqual(other.data)
    const out = matrix(1100, 1100, new Int32Array(1100 ** 2).fill(7))
    await mpmm(large, matrix(1100, 1100, new Int32Array(1100 ** 2).fill(1)), {
      out,
      accumulate: true,
      backend: 'cpu',
    })
    // The greatest element of row 0 is 1008. Every row has another element that is equally great or nearly
    // so.
    expect(out.data[0]).toBe(1009)
    await device.close()
  })
})

describe('the library', () => {
  it('has the addon of a page', () => {
    expect(info().addon.kind).toBe('wasm')
  })

  it.each([[undefined], ['auto'], ['dissection'], ['search']] as const)(
    'finds all distances of a graph that can be divided: method %s',
    async (method) => {
      const n = 40
      const { distances } = await shortestPaths(board(n), { method })
      const wrong = distances.data.findIndex(
        (distance, at) => distance !== movesOfKing(n, Math.floor(at / n ** 2), at % n ** 2),
      )
      expect(wrong).toBe(-1)
    },
  )

  it('finds paths, and the worst one, in a graph with a dissection', async () => {
    const n = 30
    const { path } = await shortestPaths(board(n), { paths: true, method: 'dissection' })
    expect(path(0, n * n - 1)).toHaveLength(n)
    const worst = await reducePaths(board(n), { reduce: 'eccentricity', method: 'dissection' })
    expect(worst.values[0]).toBe(n - 1)
    expect(worst.values[(n / 2) * n + n / 2]).toBe(n / 2)
  })

  it('computes other properties of graphs', async () => {
    const graph = { nodes: 4, from: [0, 1, 0, 2], to: [1, 2, 2, 3], weight: Int32Array.of(1, 1, 3, 1) }
    expect((await components(graph)).count).toBe(4)
    expect([...(await topologicalOrder(graph))]).toEqual([0, 1, 2, 3])
    const ranked = await kShortestPaths(graph, 0, 3, 2)
    expect(ranked.map(({ length }) => length)).toEqual([3, 4])
    await expect(topologicalOrder({ nodes: 2, from: [0, 1], to: [1, 0] })).rejects.toMatchObject({
      code: 'ERR_MPMML_CYCLE',
      cycle: [0, 1],
    })
  })

  it('folds strands, closes matrices and multiplies over a custom semiring', async () => {
    expect((await nussinov('GGGAAACCC')).score).toBe(9)
    expect((await bpmax('GGG', 'CCC')).score).toBe(9)
    const { c } = await star(matrix(2, 2, [0, 3, -4, 0]), { semiring: 'max-plus' })
    expect([...c.data]).toEqual([0, 3, -4, 0])
    const own = semiring({
      ...{ name: 'max of min', dtype: 'int32', zero: -(2 ** 31), one: 2 ** 31 - 1 },
      plus: (x, y) => x.max(y),
      times: (x, y) => x.min(y),
    })
    const product = await mpmm(matrix(1, 2, [1, 5]), matrix(2, 1, [9, 4]), { semiring: own })
    expect([...product.c.data]).toEqual([4])
  })

  it('rejects synchronous calls for matrices in the worker', async () => {
    const device = await openDevice({ backend: 'cpu' })
    const a = await device.full([2, 2], 1)
    expect(() => mpmmSync(a, a)).toThrow(expect.objectContaining({ code: 'ERR_MPMML_DEVICE' }))
    await device.close()
  })

  it('rejects with an error of the library if arrays are transferred in the meantime', async () => {
    const n = 300
    const taking = (which: 'left' | 'out') => {
      const matrices = { left: matrix(n, n, new Int32Array(n * n)), out: matrix(n, n, new Int32Array(n * n)) }
      const work = mpmm(matrices.left, matrix(n, n, new Int32Array(n * n)), { out: matrices.out })
      structuredClone(null, { transfer: [matrices[which].data.buffer as ArrayBuffer] })
      return work.catch((error) => error)
    }
    for (const which of ['left', 'out'] as const) {
      const error = await taking(which)
      expect(error).toBeInstanceOf(MpmmlError)
      expect(error).toMatchObject({ code: 'ERR_MPMML_DTYPE' })
    }
  })
})

describe('handles', () => {
  const kindOf = (value: unknown) => module.native.handleKind(value)

  it('have the kind that native code gave them', async () => {
    const device = await module.native.openDevice(1, 0, 0)
    const fields = Float64Array.from(module.native.copyFields, (name) =>
      /batch|rows|cols/.test(name) ? 1 : 0,
    )
    const memory = await module.native.fill(device, fields)
    expect([kindOf(device), kindOf(memory)]).toEqual(['device', 'memory'])
    for (const value of [
      null,
      undefined,
      0,
      '',
      'device',
      {},
      [],
      new ArrayBuffer(8),
      new Int32Array(1),
      () => {},
    ]) {
      expect(kindOf(value)).toBe('')
    }
    await module.native.closeDevice(device)
  })
})

describe('a call', () => {
  type Call = (...values: unknown[]) => Promise<unknown>

  /** Separate page with a record of its messages to the worker. */
  function watched() {
    const page = module.pageOf(module.native)
    const sent: Request[] = []
    const { port } = page
    const post = port.postMessage.bind(port)
    port.postMessage = (message, transfer) => {
      post(message, transfer)
      sent.push(message)
    }
    return { ...page, sent, post }
  }

  it.each(Object.keys(nativeCalls).filter((name) => nativeCalls[name]!.givesPromise))(
    'is answered by the worker if its arguments are wrong: %s',
    async (name) => {
      const { addon, sent } = watched()
      const fields = (length: number) => new Float64Array(length)
      // Arguments that suffice to determine what the call writes; native code rejects them.
      const values = nativeCalls[name]!.takes.map((argument) => {
        if (argument === 'products') return []
        if (/Graph|graph|rna|lab|cpu/.test(name) && argument === 'request')
          return { divides: true, nodes: -1 }
        return /request|members|report/i.test(argument) ? fields(1) : null
      })
      const settled = await (addon[name] as Call)(...values).then(
        () => 'resolved',
        (error) => error,
      )
      expect(sent.filter((message) => 'call' in message)).toMatchObject([{ name }])
      if (!/^pinnedBuffer$/.test(name)) expect(settled).toBeInstanceOf(Error)
    },
  )

  it('rejects arguments that can’t be posted, and forgets the call', async () => {
    const { addon, port, sent, post } = watched()
    const cancel = new Int32Array(1)
    const request = { nodes: 1, from: new Int32Array(0), to: new Int32Array(0), zero: 0 }
    const order = () => (addon.graphOrder as Call)(request, new Float64Array(20), cancel)
    const refusal = new Error('no message')
    port.postMessage = () => {
      throw refusal
    }
    await expect(order()).rejects.toBe(refusal)
    port.postMessage = (message, transfer) => {
      post(message, transfer)
      sent.push(message)
    }
    ;(addon.cancelWork as (cancel: Int32Array) => void)(cancel)
    expect(sent).toEqual([])
    cancel[0] = 0
    expect(await order()).toMatchObject({ order: new Int32Array(1) })
  })

  it('is answered after a release that couldn’t be posted', async () => {
    const { addon, port, post } = watched()
    const device = await (addon.openDevice as Call)(1, 0, 0, 0)
    port.postMessage = () => {
      throw new Error('no message')
    }
    ;(addon.release as (memory: unknown) => void)(device)
    port.postMessage = post
    const request = { nodes: 1, from: new Int32Array(0), to: new Int32Array(0), zero: 0 }
    const order = (addon.graphOrder as Call)(request, new Float64Array(20), new Int32Array(1))
    expect(await order).toMatchObject({ order: new Int32Array(1) })
  })

  it('is posted in the order of the calls while large arrays are copied in slices', async () => {
    const { addon, sent } = watched()
    const device = await (addon.openDevice as Call)(1, 0, 0, 0)
    const names = addon.copyFields as string[]
    const upload = (data: Int32Array, n: number) => {
      const fields = Float64Array.from(names, (name) =>
        /rows|cols/.test(name) ? n : /batch/.test(name) ? 1 : 0,
      )
      return (addon.upload as Call)(device, data, fields, new Int32Array(1))
    }
    await Promise.all([upload(new Int32Array(1100 ** 2), 1100), upload(Int32Array.of(7), 1)])
    // Numbers of calls increase in the order of the calls.
    const uploads = sent.flatMap((message) =>
      'call' in message && message.name === 'upload' ? [message.call] : [],
    )
    expect(uploads).toHaveLength(2)
    expect(uploads[0]).toBeLessThan(uploads[1]!)
    await (addon.closeDevice as Call)(device)
  })

  it('releases the memory that an aborted call has allocated', async () => {
    const { addon, sent } = watched()
    const device = await (addon.openDevice as Call)(1, 0, 0, 0)
    const names = addon.copyFields as string[]
    const fields = Float64Array.from(names, (name) => (/batch|rows|cols/.test(name) ? 1 : 0))
    const cancel = new Int32Array(1)
    const upload = (addon.upload as Call)(device, Int32Array.of(7), fields, cancel)
    ;(addon.cancelWork as (cancel: Int32Array) => void)(cancel)
    await expect(upload).rejects.toMatchObject({ code: 'ERR_MPMML_ABORTED' })
    await (addon.fill as Call)(device, fields)
    expect(sent.filter((message) => 'cancelWork' in message)).toHaveLength(1)
    const use = () => (addon.memoryUse as (device: unknown) => { used: number })(device).used
    await (addon.closeDevice as Call)(device)
    expect(use()).toBeLessThan(2 ** 20)
  })

  it('fails if the worker has failed', async () => {
    const { addon, port } = watched()
    const open = (addon.openDevice as Call)(1, 0, 0, 0)
    port.onerror?.({ message: 'boom', preventDefault() {} } as ErrorEvent)
    for (const work of [open, (addon.openDevice as Call)(1, 0, 0, 0)]) {
      await expect(work).rejects.toMatchObject({
        code: 'ERR_MPMML_ADDON',
        message: expect.stringContaining('boom'),
      })
    }
  })
})
