/**
 * Concurrency of products and other work: off the event loop, several at once, aborted. The tests of both
 * backends run this suite.
 */
import { getEventListeners } from 'node:events'
import { stat } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { type MpmmOptions, matrix, mpmm, mpmmSync } from '../../lib/index.js'
import { caught, expectElements, expectError, thrown } from './expect.js'
import { randomMatrix } from './generators.js'
import { errorsAfterAbort, inTime } from './in-time.js'
import { type Dense, oracle } from './oracle.js'

/** @param slow - a product that takes a tenth of a second or more */
export function runningSuite(slow: { size: number; options: MpmmOptions }): void {
  const { size, options } = slow
  const a = matrix(size, size)
  const b = matrix(size, size)
  a.data.forEach((_, index) => {
    a.data[index] = (index * 7919) % 1000
  })

  it('leaves the event loop free', async () => {
    await inTime(async () => {
      let done = false
      let turnsMeanwhile = 0
      const turn = () => {
        if (done) return
        turnsMeanwhile++
        setImmediate(turn)
      }
      setImmediate(turn)
      await mpmm(a, b, options)
      done = true
      return turnsMeanwhile > 0
    })
  })

  it('runs several products at once', async () => {
    const tasks = Array.from({ length: 8 }, (_, index) => ({
      a: randomMatrix(90, 80, index),
      b: randomMatrix(80, 70, index + 100),
    }))
    const results = await Promise.all(tasks.map((task) => mpmm(task.a, task.b, options)))
    results.forEach(({ c }, index) => {
      expectElements(c, oracle(tasks[index]!.a, tasks[index]!.b) as Dense)
    })
  })

  it("leaves Node's own threads free", async () => {
    await inTime(async () => {
      let done = 0
      const controller = new AbortController()
      const running = Array.from({ length: 8 }, () =>
        mpmm(a, b, { ...options, signal: controller.signal }).finally(() => done++),
      )
      await stat('.')
      const before = done
      controller.abort()
      await Promise.allSettled(running)
      return before === 0
    })
  })

  describe('AbortSignal', () => {
    it('computes nothing if it is aborted before', async () => {
      const reason = new Error('not needed any more')
      const signal = AbortSignal.abort(reason)
      const out = matrix(size, size)
      for (const error of [
        await caught(mpmm(a, b, { ...options, signal, out })),
        thrown(() => mpmmSync(a, b, { ...options, signal, out })),
      ]) {
        expectError(error, 'ABORTED', 'AbortSignal')
        expect((error as Error).cause).toBe(reason)
      }
      expect(out.data.every((value) => value === 0)).toBe(true)
      expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    })

    it('aborts a running product, and others continue', async () => {
      let last: AbortSignal | undefined
      const [error] = await errorsAfterAbort(
        (signal) => {
          last = signal
          return [mpmm(a, b, { ...options, signal })]
        },
        (controller) => {
          expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)
          setTimeout(() => controller.abort('enough'), 5)
        },
      )
      expectError(error, 'ABORTED')
      expect((error as Error).cause).toBe('enough')
      expect(getEventListeners(last!, 'abort')).toHaveLength(0)
      const small = matrix(1, 1, [1])
      expect((await mpmm(small, small, options)).c.data[0]).toBe(2)
    })

    it('aborts all running products with one listener', async () => {
      const warnings: Error[] = []
      const collect = (warning: Error) => warnings.push(warning)
      process.on('warning', collect)
      const { signal } = new AbortController()
      const small = matrix(50, 50) // Smaller products may end before mpmm returns.
      const done = Array.from({ length: 12 }, () => mpmm(small, small, { ...options, signal }))
      expect(getEventListeners(signal, 'abort')).toHaveLength(1)
      await Promise.all(done)
      expect(getEventListeners(signal, 'abort')).toHaveLength(0)
      const errors = await errorsAfterAbort(
        (signal) => Array.from({ length: 12 }, () => mpmm(a, b, { ...options, signal })),
        (controller) => {
          expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)
          controller.abort('enough')
        },
      )
      for (const error of errors) {
        expectError(error, 'ABORTED')
        expect((error as Error).cause).toBe('enough')
      }
      process.off('warning', collect)
      expect(warnings).toEqual([])
    })

    it('may be of another class than that of Node: its listener is added once and removed at the end', async () => {
      const listeners: unknown[] = []
      const signal = {
        aborted: false,
        reason: 'mine',
        addEventListener: (_: string, listener: unknown) => listeners.push(listener),
        removeEventListener: (_: string, listener: unknown) =>
          listeners.splice(listeners.indexOf(listener), 1),
      }
      const given = { ...options, signal: signal as unknown as AbortSignal }
      const running = [caught(mpmm(a, b, given)), caught(mpmm(a, b, given))]
      expect(listeners).toHaveLength(1)
      signal.aborted = true
      for (const listener of listeners as (() => void)[]) listener()
      for (const error of await Promise.all(running)) {
        expectError(error, 'ABORTED')
        expect((error as Error).cause).toBe('mine')
      }
      expect(listeners).toHaveLength(0)
    })

    it('keeps no listener if it is not aborted', async () => {
      const { signal } = new AbortController()
      const small = matrix(1, 1, [1])
      await mpmm(small, small, { ...options, signal })
      expect(getEventListeners(signal, 'abort')).toHaveLength(0)
      await caught(mpmm(small, matrix(2, 1), { ...options, signal }))
      expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    })
  })

  it('rejects if an operand was transferred in the meantime', async () => {
    const operand = { data: Int32Array.from(a.data), shape: a.shape }
    const running = caught(mpmm(operand, b, options))
    const copy = structuredClone(operand.data, { transfer: [operand.data.buffer] })
    expectError(await running, 'DTYPE', 'a.data', 'detached')
    expect(copy).toHaveLength(size * size)
  })
}
