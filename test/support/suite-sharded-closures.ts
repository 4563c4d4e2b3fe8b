/** Properties of closures of sharded matrices only. */
import { expect, it } from 'vitest'
import { shortestPaths } from '../../lib/graph.js'
import { type Device, DeviceMatrix, matrix } from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { anyStar } from './closures.js'
import { expectError, expectRejected } from './expect.js'
import { inTime } from './in-time.js'

const END = 2 ** 31

export function shardedClosures(open: () => Device): void {
  const integers = (n: number, make: (from: number, to: number) => number) =>
    matrix(
      n,
      n,
      Int32Array.from({ length: n * n }, (_, index) => make(Math.floor(index / n), index % n)),
    )

  it('accept arrays, by the option devices', async () => {
    const host = integers(200, (from, to) => ((from * 5 + to) % 9 === 0 ? (from + to) % 100 : END - 1))
    const expected = await shortestPaths(host, { paths: true })
    for (const devices of [[0, 2], [1], 'all'] as const) {
      const { distances, next } = await shortestPaths(host, { devices, paths: true })
      expect(Buffer.from(distances.data.buffer).equals(Buffer.from(expected.distances.data.buffer))).toBe(
        true,
      )
      expect(Buffer.from(next.data.buffer).equals(Buffer.from(expected.next.data.buffer))).toBe(true)
    }
    await expectRejected(anyStar(host, { devices: [0], device: 0 }), 'OPTION', 'device and devices')
    const there = await open().upload(host)
    await expectRejected(anyStar(there, { devices: [0] }), 'OPTION', 'devices 0, 1, 2')
    there.dispose()
  })

  it('are aborted by their signal, and leave out unchanged', async () => {
    const n = 1200
    let there = await open().full([n, n], 1)
    await inTime(async () => {
      const controller = new AbortController()
      const running = anyStar(there, { semiring: 'min-plus', signal: controller.signal, out: there })
      controller.abort(new Error('enough'))
      const [settled] = await Promise.allSettled([running])
      if (settled.status === 'rejected') {
        expectError(settled.reason, 'ABORTED')
        return true
      }
      there.dispose()
      there = await open().full([n, n], 1)
      return false
    })
    expect(new Set((await there.download()).data)).toEqual(new Set([1]))
    const reports: number[] = []
    const { c } = await anyStar(there, {
      semiring: 'min-plus',
      onProgress: ({ done }: { done: number }) => reports.push(done),
    })
    expect(c).toBeInstanceOf(DeviceMatrix)
    expect(reports).toEqual([...reports].sort((x, y) => x - y))
    if (reports.length > 0) expect(reports.at(-1)).toBe(1)
    ;(c as DeviceMatrix).dispose()
    there.dispose()
  })

  it('name the device that fails; the next one succeeds, and no memory is lost', async () => {
    const host = integers(300, (from, to) => ((from + to) % 7 === 0 ? -1 : -END))
    const there = await open().upload(host)
    const before = open().memory().used
    for (const nth of [2, 8, 20]) {
      addon.failAllocation(nth, 1000)
      try {
        await expectRejected(anyStar(there, {}), 'OUT_OF_MEMORY', /device [0-2] failed/)
      } finally {
        addon.failAllocation(0)
      }
    }
    const { c } = await anyStar(there, {})
    ;(c as DeviceMatrix).dispose()
    there.dispose()
    expect(open().memory().used).toBe(before - 300 * 300 * 4)
    const here = (await anyStar(host)).c as { data: Int32Array }
    const { c: again } = await anyStar(await open().upload(host))
    expect((await (again as DeviceMatrix).download()).data).toEqual(here.data)
  })
}
