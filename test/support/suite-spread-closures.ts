/** Closures of matrices that are spread among several devices. */
import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { shortestPaths } from '../../lib/graph.js'
import {
  type DenseMatrix,
  type Device,
  DeviceMatrix,
  type MatrixLike,
  type OperandArray,
} from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import {
  type AnyMatrix,
  anyStar,
  elementsOf,
  expectNext,
  expectValues,
  square,
  withNext,
} from './closures.js'
import { closureAlgebras, closureOf, roundedWeights, weightsOf } from './expected-closures.js'
import { Random } from './generators.js'
import { inTime } from './in-time.js'
import { caught, expectError, made } from './resident.js'

const END = 2 ** 31

/** Digests, because it takes long to compare large arrays element by element. */
const digest = ({ buffer, byteOffset, byteLength }: OperandArray) =>
  createHash('sha256')
    .update(new Uint8Array(buffer, byteOffset, byteLength))
    .digest('hex')

/** Of elements and next nodes, or the error. */
async function outcome(a: AnyMatrix, options: object) {
  const result = await withNext(a, options).catch((error: Error & { code: string }) => error)
  return result instanceof Error
    ? { code: result.code, message: result.message }
    : { distances: digest(result.distances), next: digest(result.next) }
}

export function spreadClosures(open: () => Device): void {
  /** Expects that the outcome is as that of the matrix in an array, on one device. Returns its code if it is an error. */
  async function expectSame(host: DenseMatrix, options: object) {
    const there = await open().upload(host)
    const expected = await outcome(host as MatrixLike, options)
    expect(await outcome(there, options)).toEqual(expected)
    expect(digest((await there.download()).data)).toBe(digest(host.data))
    there.dispose()
    return expected.code
  }
  const integers = (n: number, make: (from: number, to: number) => number) =>
    square(
      new Int32Array(n * n).map((_, index) => make(Math.floor(index / n), index % n)),
      n,
    ) as DenseMatrix

  it.each(closureAlgebras)('$semiring, $type: are what the oracle says', async (algebra) => {
    const { semiring, type } = algebra
    // A row for each device, or for some of them; several pivots, and more of them than are passed at a time.
    for (const n of [1, 2, 3, 70, 265]) {
      const weights = type === 'int32' || type === 'uint8' ? weightsOf : roundedWeights
      const data = weights(algebra, n, 0.2, n)
      const expected = closureOf(algebra, n, data, true)
      const there = await open().upload(square(data, n))
      const { distances, next, resident } = await withNext(there, { semiring })
      expect(resident).toBe(true)
      expectValues(distances, expected, `${n} nodes`)
      expectNext(next, expected, `${n} nodes`)
      const { c } = await anyStar(there, { semiring, out: there })
      expect(c).toBe(there)
      expectValues(await elementsOf(c), expected, `${n} nodes, without next`)
      there.dispose()
    }
  })

  it('are those of one device, by several groups of pivots', async () => {
    const random = new Random(3)
    for (const n of [700, 901]) {
      await expectSame(
        integers(n, () => (random.chance(0.9) ? END - 1 : random.integer(0, 5000))),
        { semiring: 'min-plus', reflexive: n === 700 },
      )
    }
    const data = new Float32Array(700 * 700).map(() =>
      random.chance(0.9) ? -Infinity : -random.integer(0, 999) / 7,
    )
    await expectSame(square(data, 700) as DenseMatrix, { semiring: 'max-plus' })
  })

  it('are those of one device if only the weights of later rows are heavy', async () => {
    // Ways by way of one group of pivots keep within 2^30 / 3, those by way of two don't.
    const heavy = Math.floor(357913940 / 257)
    const weight = (from: number, to: number) => {
      if (from < 300) return to < 300 ? (from + to) % 5 : END - 1
      return to === from + 1 || (from === to + 7 && to >= 300) ? heavy - (from % 3) : END - 1
    }
    await expectSame(integers(700, weight), { semiring: 'min-plus' })
  })

  it('of arrays, by the option devices', async () => {
    const host = integers(200, (from, to) => ((from * 5 + to) % 9 === 0 ? (from + to) % 100 : END - 1))
    const expected = await outcome(host as MatrixLike, { semiring: 'min-plus' })
    for (const devices of [[0, 2], [1], 'all'] as const) {
      expect(await outcome(host as MatrixLike, { semiring: 'min-plus', devices })).toEqual(expected)
      const { distances, next } = await shortestPaths(host as DenseMatrix<Int32Array>, {
        devices,
        paths: true,
      })
      expect({ distances: digest(distances.data), next: digest(next.data) }).toEqual(expected)
    }
    expectError(
      await caught(anyStar(host as MatrixLike, { devices: [0], device: 0 })),
      'OPTION',
      'device and devices',
    )
    const there = await open().upload(host)
    expectError(await caught(anyStar(there, { devices: [0] })), 'OPTION', 'devices 0, 1, 2')
    there.dispose()
  })

  it('of batches are by instances', async () => {
    const algebra = { semiring: 'max-plus', type: 'int32' } as const
    for (const [batch, n] of [
      [2, 90],
      [7, 30],
    ] as const) {
      const items = Array.from({ length: batch }, (_, seed) => Array.from(weightsOf(algebra, n, 0.2, seed)))
      const data = Int32Array.from(items.flat())
      expect(await expectSame(made(data, [batch, n, n]) as DenseMatrix, {})).toBeUndefined()
      for (const item of [batch - 1, 1]) {
        data[(item * n + 5) * n + 5] = 2
        expect(await expectSame(made(data, [batch, n, n]) as DenseMatrix, {})).toBe('ERR_MPMML_CYCLE')
      }
    }
    // An overflow in the first matrix, and then a cycle that gains in the last.
    const chain = new Int32Array(3 * 9).fill(-END)
    for (const item of [0, 1]) chain[item * 9 + 1] = chain[item * 9 + 5] = -END + 1
    expect(await expectSame(made(chain, [3, 3, 3]) as DenseMatrix, {})).toBe('ERR_MPMML_OVERFLOW')
    expect(await expectSame(made(chain, [3, 3, 3]) as DenseMatrix, { overflow: 'saturate' })).toBeUndefined()
    chain[26] = 1
    expect(await expectSame(made(chain, [3, 3, 3]) as DenseMatrix, {})).toBe('ERR_MPMML_CYCLE')
  })

  it('find the cycle that gains, whoever has its nodes', async () => {
    for (const n of [5, 100, 300]) {
      for (const nodes of [[0], [n - 1], [1, n >> 1, n - 1], [n - 1, n - 2]]) {
        const host = integers(n, (from, to) => {
          const place = nodes.indexOf(from)
          if (place >= 0 && nodes[(place + 1) % nodes.length] === to) return place === 0 ? 1 : 0
          return (from * 7 + to) % 5 === 0 ? -3 : -END
        })
        expect(await expectSame(host, {})).toBe('ERR_MPMML_CYCLE')
      }
    }
  })

  it('are exact where sums may leave int32', async () => {
    const chain = integers(66, (from, to) => (to === from + 1 ? -100_000_000 : -END))
    expect(await expectSame(chain, {})).toBe('ERR_MPMML_OVERFLOW')
    expect(await expectSame(chain, { overflow: 'saturate' })).toBeUndefined()
    expect(await expectSame(chain, { overflow: 'wrap' })).toBeUndefined()
    // Ways by way of the first group keep within 2^30 / 3, those by way of all nodes needn't.
    const heavy = Math.floor(357913940 / 257)
    const line = integers(530, (from, to) =>
      to === from + 1 || from === to + 7 ? heavy - (from % 3) : END - 1,
    )
    expect(await expectSame(line, { semiring: 'min-plus' })).toBeUndefined()
  })

  it('refuse NaN, and name its place', async () => {
    const data = new Float64Array(50 * 50).fill(1)
    for (const place of [49 * 50 + 7, 20 * 50, 3]) {
      data[place] = Number.NaN
      expect(await expectSame(square(data, 50) as DenseMatrix, { semiring: 'min-plus' })).toBe(
        'ERR_MPMML_VALUE',
      )
    }
  })

  it('are given up by their signal, and leave out as it was', async () => {
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
    const told: number[] = []
    const { c } = await anyStar(there, {
      semiring: 'min-plus',
      onProgress: ({ done }: { done: number }) => told.push(done),
    })
    expect(c).toBeInstanceOf(DeviceMatrix)
    expect(told).toEqual([...told].sort((x, y) => x - y))
    if (told.length > 0) expect(told.at(-1)).toBe(1)
    there.dispose()
  })

  it('name the device that fails; the next one succeeds, and no memory is lost', async () => {
    const host = integers(300, (from, to) => ((from + to) % 7 === 0 ? -1 : -END))
    const there = await open().upload(host)
    const before = open().memory().used
    for (const nth of [2, 8, 20]) {
      addon.failAllocation(nth, 1000)
      try {
        expectError(await caught(anyStar(there, {})), 'OUT_OF_MEMORY', 'device [0-2] failed')
      } finally {
        addon.failAllocation(0)
      }
    }
    const { c } = await anyStar(there, {})
    ;(c as DeviceMatrix).dispose()
    there.dispose()
    expect(open().memory().used).toBe(before - 300 * 300 * 4)
    await expectSame(host, {})
  })
}
