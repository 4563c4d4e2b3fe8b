/** Signals of polyfills whose methods throw. */
import { describe, expect, it } from 'vitest'
import { raceWithAbort } from '../../lib/abort.js'

/** Returns a signal that is never aborted, with one method that throws. */
const faulty = (method: 'addEventListener' | 'removeEventListener') =>
  Object.assign(new EventTarget(), {
    aborted: false,
    [method]() {
      throw new Error(`no ${method}`)
    },
  }) as unknown as AbortSignal

/** Returns the unhandled rejections during work. */
async function unhandledDuring(work: () => Promise<unknown>): Promise<unknown[]> {
  const found: unknown[] = []
  const listener = (error: unknown) => void found.push(error)
  const others = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', listener)
  try {
    await work()
    // Node.js reports unhandled rejections after the microtasks.
    await new Promise((resolve) => setImmediate(resolve))
  } finally {
    process.off('unhandledRejection', listener)
    for (const other of others) process.on('unhandledRejection', other)
  }
  return found
}

describe('raceWithAbort', () => {
  it.each(['addEventListener', 'removeEventListener'] as const)(
    'rejects with the error of %s',
    async (method) => {
      const unhandled = await unhandledDuring(async () => {
        await expect(raceWithAbort(Promise.resolve(1), faulty(method))).rejects.toThrow(`no ${method}`)
        await expect(raceWithAbort(Promise.reject(new Error('work')), faulty(method))).rejects.toThrow(
          `no ${method}`,
        )
      })
      expect(unhandled).toEqual([])
    },
  )
})
