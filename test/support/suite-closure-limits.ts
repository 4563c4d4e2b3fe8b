/** Closures of integers at the limits of int32. */
import { expect, it } from 'vitest'
import { star } from '../../lib/algebra.js'
import type { Device } from '../../lib/index.js'
import {
  type AnyMatrix,
  anyStar,
  type Backend,
  elementsOf,
  expectError,
  expectNext,
  expectValues,
  withNext,
} from './closures.js'
import { closureOf, rulesOf } from './expected-closures.js'
import { Random } from './generators.js'
import { caught } from './resident.js'

export function limits(backend: Backend, open: () => Device): void {
  const END = 2 ** 31

  it.each(['max-plus', 'min-plus'] as const)(
    '%s: exact where sums may leave 2^30 / 3 and int32',
    async (semiring) => {
      const algebra = { semiring, type: 'int32' } as const
      const { zero } = rulesOf(algebra)
      const sign = semiring === 'max-plus' ? -1 : 1
      const limit = semiring === 'max-plus' ? 357913941 : 357913940
      for (const n of [2, 3, 65, 100]) {
        for (const most of [
          Math.floor(limit / n),
          Math.floor(limit / n) + 1,
          Math.floor((END - 2) / n),
          1_000_000_000,
        ]) {
          const random = new Random(n + most)
          const data = new Int32Array(n * n).map(() => {
            if (random.chance(0.5)) return zero
            return sign * random.pick([most, most - 1, 0, random.integer(0, most)])
          })
          const expected = closureOf(algebra, n, data, true)
          if (expected.values.some((value) => value !== zero && Math.abs(value) > END - 2)) continue
          const { c } = await star({ data, shape: [n, n] }, { semiring, backend })
          expectValues(c.data, expected, `${n} nodes, to ${most}`)
        }
      }
    },
  )

  it.each(['max-plus', 'min-plus'] as const)(
    '%s: what leaves int32 in the end follows the policy',
    async (semiring) => {
      const { zero } = rulesOf({ semiring, type: 'int32' })
      const sign = semiring === 'max-plus' ? -1 : 1
      const [least, most] = semiring === 'max-plus' ? [-END + 1, END - 1] : [-END, END - 2]
      // A chain of 66 nodes.
      const n = 66
      const data = new Int32Array(n * n).fill(zero)
      for (let node = 0; node + 1 < n; node++) data[node * n + node + 1] = sign * 100_000_000
      const expected = closureOf({ semiring, type: 'int32' }, n, data, true)
      const resident = await open().upload({ data, shape: [n, n] })
      const out = { data: new Int32Array(n * n).fill(7), shape: [n, n] }
      const error = await caught(star({ data, shape: [n, n] }, { semiring, backend, out }))
      expectError(error, 'OVERFLOW', /\[0, 22\] is -?2200000000/)
      expect(out.data.every((value) => value === 7)).toBe(true)
      expectError(await caught(star(resident, { semiring, overflow: 'throw', out: resident })), 'OVERFLOW')
      expect((await resident.download()).data).toEqual(data)
      const clamp = expected.values.map((x) => (x === zero ? zero : Math.min(Math.max(x, least), most)))
      const wrapped = expected.values.map((x) => (x === zero ? zero : x | 0))
      for (const a of [{ data, shape: [n, n] }, resident]) {
        const options = a === resident ? { semiring } : { semiring, backend }
        for (const [overflow, values] of [
          ['saturate', clamp],
          ['wrap', wrapped],
        ] as const) {
          const { c } = await anyStar(a as AnyMatrix, { ...options, overflow })
          expectValues(await elementsOf(c), { ...expected, values }, overflow)
        }
      }
    },
  )

  // Ways by way of the first 256 nodes keep within 2^30 / 3, those by way of all nodes needn't. With a little more neither do.
  const heavy = Math.floor(357913940 / 257)
  it.each([
    [heavy, 'all nodes have ways to each other'],
    [heavy, 'most have none'],
    [heavy + 3, 'most have none'],
  ] as const)('heavy weights up to %i, and %s', async (heavy, kind) => {
    for (const semiring of ['max-plus', 'min-plus'] as const) {
      const algebra = { semiring, type: 'int32' } as const
      const { zero } = rulesOf(algebra)
      const sign = semiring === 'max-plus' ? -1 : 1
      const n = 530
      const random = new Random(n)
      const data = new Int32Array(n * n).map((_, index) => {
        const [from, to] = [Math.floor(index / n), index % n]
        if (kind === 'most have none')
          return to === from + 1 || from === to + 7 ? sign * (heavy - (from % 3)) : zero
        return random.chance(0.1) ? zero : sign * random.integer(0, heavy)
      })
      const expected = closureOf(algebra, n, data, true)
      const closed = await withNext({ data, shape: [n, n] }, { semiring, backend })
      expectValues(closed.distances, expected, `${semiring}, ${kind}`)
      expectNext(closed.next, expected, `${semiring}, ${kind}`)
    }
  })

  it('heavy weights in a batch that is closed some matrices at a time', async () => {
    // So many that the first ones go too far before the last have begun.
    const [n, batch] = [258, 390]
    const zero = END - 1
    const item = new Int32Array(n * n).map((_, index) => {
      const [from, to] = [Math.floor(index / n), index % n]
      return to === from + 1 || from === to + 7 ? heavy - (from % 3) : zero
    })
    const data = new Int32Array(batch * n * n)
    for (let at = 0; at < batch; at++) data.set(item, at * n * n)
    const { distances, next } = await withNext(
      { data, shape: [batch, n, n] },
      { semiring: 'min-plus', backend },
    )
    const expected = closureOf({ semiring: 'min-plus', type: 'int32' }, n, item, true)
    for (const at of [0, batch - 1]) {
      expectValues(distances.subarray(at * n * n, (at + 1) * n * n), expected, `matrix ${at}`)
      expectNext(next.subarray(at * n * n, (at + 1) * n * n), expected, `matrix ${at}`)
    }
  }, 120_000)

  it('heavy weights that leave int32 in the end', async () => {
    // The first column whose sum leaves int32 is among the last.
    const column = Math.ceil((END - 1) / heavy)
    const n = column + 10
    const data = new Int32Array(n * n).fill(END - 1)
    for (let node = 0; node + 1 < n; node++) data[node * n + node + 1] = heavy
    const resident = await open().upload({ data, shape: [n, n] })
    const semiring = 'min-plus'
    const sum = String(column * heavy)
    expectError(
      await caught(star(resident, { semiring, out: resident })),
      'OVERFLOW',
      `[0, ${column}] is ${sum}`,
    )
    expect((await resident.download()).data).toEqual(data)
    const { c } = await star({ data, shape: [n, n] }, { semiring, backend, overflow: 'saturate' })
    const right = new Int32Array(n * n).fill(END - 1)
    for (let from = 0; from < n; from++) {
      for (let to = from; to < n; to++) right[from * n + to] = Math.min((to - from) * heavy, END - 2)
    }
    expect(c.data).toEqual(right)
  })

  it.each(['max-plus', 'min-plus'] as const)(
    '%s: the last values inside of int32, and the first outside',
    async (semiring) => {
      const algebra = { semiring, type: 'int32' } as const
      const { zero } = rulesOf(algebra)
      const [least, most] = semiring === 'max-plus' ? [-END + 1, END - 1] : [-END, END - 2]
      // 0 → 1 → 2, whose sum is beyond what plain sums hold.
      for (const [end, beyond] of [
        [least, -1],
        [most, 1],
      ] as const) {
        const first = Math.trunc(end / 2)
        for (const over of [0, beyond]) {
          const data = new Int32Array(9).fill(zero)
          data[1] = first
          data[5] = end - first + over
          const closing = star({ data, shape: [3, 3] }, { semiring, backend })
          if (over !== 0) {
            expectError(await caught(closing), 'OVERFLOW', `[0, 2] is ${end + over}`)
          } else {
            expectValues((await closing).c.data, closureOf(algebra, 3, data, true), `${end}`)
          }
        }
      }
    },
  )

  it('names the element of a batch that overflows', async () => {
    const data = new Int32Array(3 * 9).fill(-END)
    data[2 * 9 + 1] = -END + 1
    data[2 * 9 + 5] = -7
    const error = await caught(star({ data, shape: [3, 3, 3] }, { backend }))
    expectError(error, 'OVERFLOW', '[2, 0, 2] is -2147483654', '-2147483647 to 2147483647')
  })

  it('what only the other way overflows is no error', async () => {
    // 0 → 1 → 2 leaves int32, but 0 → 2 is better.
    const data = Int32Array.of(-END, -END + 1, -5, -END, -END, -END + 1, -END, -END, -END)
    const { c } = await star({ data, shape: [3, 3] }, { backend })
    expect(c.data).toEqual(Int32Array.of(0, -END + 1, -5, -END, 0, -END + 1, -END, -END, 0))
  })
}
