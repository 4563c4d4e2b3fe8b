/** Closures that are rejected or aborted. */
import { expect, it } from 'vitest'
import { plus, power, star } from '../../lib/algebra.js'
import { type Device, openDevice } from '../../lib/index.js'
import { arrays } from '../../native/tools/fuzz/algebra.mjs'
import { type AnyMatrix, anyPlus, anyStar, type Backend } from './closures.js'
import { caught, expectError, expectRejected } from './expect.js'
import { inTime } from './in-time.js'
import { additive } from './products/case.js'

export function badInput(backend: Backend, open: () => Device): void {
  const a = { data: Int32Array.of(-1, -2, -3, -4), shape: [2, 2] }
  const refused = async (
    code: string,
    matrix: unknown,
    options: object | undefined,
    ...patterns: (string | RegExp)[]
  ) => {
    for (const closure of [anyStar, anyPlus]) {
      await expectRejected(closure(matrix as AnyMatrix, options), code, ...patterns)
    }
  }

  it('is rejected for matrices that are not square', async () => {
    const data = new Int32Array(12)
    await refused('SHAPE', { data, shape: [3, 4] }, { backend }, '[3, 4]', 'square')
    await refused('SHAPE', { data, shape: [2, 3, 2] }, { backend }, '[2, 3, 2]', 'square')
    await refused('SHAPE', { data, shape: [4, 4] }, { backend }, 'a.data')
    await refused('DTYPE', [1, 2], { backend })
  })

  it('is rejected for wrong options', async () => {
    const floats = { data: new Float64Array(4), shape: [2, 2] }
    for (const { semiring, dtype } of additive) {
      const zeros = { data: new arrays[dtype](4), shape: [2, 2] }
      await refused('OPTION', zeros, { backend, semiring }, `'${semiring}'`, 'no best one')
    }
    await refused('OPTION', floats, { backend, overflow: 'wrap' }, 'overflow is for integers')
    await refused('DTYPE', a, { backend, semiring: 'max-times' }, 'max-times')
    await refused('OPTION', a, { backend, variant: 'x' }, "'variant'")
    await refused('OPTION', a, { backend, accumulate: true }, "'accumulate'")
    await refused('OPTION', a, { semiring: 'min' }, "'min'")
    await refused('OPTION', a, { backend: 'gpu' }, "'gpu'")
    await refused(
      'OPTION',
      await open().upload(a),
      { backend: backend === 'cpu' ? 'cuda' : 'cpu' },
      'backend',
    )
  })

  it('is rejected for an out that does not fit', async () => {
    const data = new Int32Array(8)
    await refused('SHAPE', a, { backend, out: { data, shape: [2, 3] } }, 'out [2, 3]')
    await refused('SHAPE', a, { backend, out: { data, shape: [1, 2, 2] } }, 'out [1, 2, 2]')
    await refused('SHAPE', a, { backend, out: { data, shape: [2, 2], strides: [1, 1] } }, 'overlap')
    await refused(
      'DTYPE',
      a,
      { backend, out: { data: new Float64Array(4), shape: [2, 2] } },
      'float64',
      'int32',
    )
    await refused('DTYPE', a, { backend, out: { data: new Int16Array(4), shape: [2, 2] } }, 'Int16Array')
    const there = await open().upload(a)
    await refused('DEVICE', there, { out: { data, shape: [2, 2] } }, 'out is in an array')
    const other = await openDevice({ backend })
    await refused('DEVICE', there, { out: await other.full([2, 2], 0) }, 'another openDevice()')
    await other.close()
  })

  it('is rejected for disposed matrices', async () => {
    const there = await open().upload(a)
    there.dispose()
    await refused('DISPOSED', there, {}, 'a has been disposed')
    await refused('DISPOSED', a, { out: there }, 'out has been disposed')
    const data = new Int32Array(4)
    structuredClone(data, { transfer: [data.buffer] })
    await refused('DTYPE', { data, shape: [2, 2] }, { backend }, 'detached')
  })
}

export function givingUp(backend: Backend, open: () => Device): void {
  const n = 1000
  const data = new Int32Array(n * n).fill(1)

  it('works before it begins', async () => {
    const reason = new Error('enough')
    const signal = AbortSignal.abort(reason)
    for (const work of [star, plus]) {
      const error = await caught(work({ data, shape: [n, n] }, { semiring: 'min-plus', backend, signal }))
      expectError(error, 'ABORTED', 'the closure')
      expect((error as Error).cause).toBe(reason)
    }
    await expectRejected(power({ data, shape: [n, n] }, 3, { backend, signal }), 'ABORTED', 'the power')
  })

  it('works while it runs, and leaves out unchanged', async () => {
    await inTime(async () => {
      const controller = new AbortController()
      const { signal } = controller
      const out = { data: new Int32Array(n * n).fill(7), shape: [n, n] }
      const resident = await open().upload({ data, shape: [n, n] })
      const works: (() => Promise<unknown>)[] = [
        () => star({ data, shape: [n, n] }, { semiring: 'min-plus', backend, signal, out }),
        () => star(resident, { semiring: 'min-plus', signal, out: resident }),
        () => power({ data, shape: [n, n] }, 1000, { semiring: 'min-plus', backend, signal, out }),
      ]
      const running = works.map((work) => work())
      controller.abort(new Error('enough'))
      const settled = await Promise.allSettled(running)
      for (const each of settled) {
        if (each.status === 'fulfilled') continue
        expectError(each.reason, 'ABORTED')
        expect(each.reason.cause).toBe(signal.reason)
      }
      if (settled.some(({ status }) => status === 'fulfilled')) return false
      expect(out.data.every((value) => value === 7)).toBe(true)
      expect((await resident.download()).data).toEqual(data)
      // The device still works.
      expect((await star(resident, { semiring: 'min-plus' })).c.shape).toEqual([n, n])
      return true
    })
  })
}
