/** Matrices that are sharded over several simulated devices: all are the same GPU, or the CPU. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import {
  type DenseMatrix,
  type Device,
  type DeviceMatrix,
  matrix,
  mpmm,
  mpmmGrouped,
  openDevice,
  plan,
} from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { caught, expectError, expectRejected } from './expect.js'
import { Random } from './generators.js'
import { onThree } from './homes.js'
import { errorsAfterAbort } from './in-time.js'
import { chains } from './suite-devices-chains.js'
import { combining } from './suite-devices-combine.js'
import { copies } from './suite-devices-copies.js'
import { products } from './suite-devices-products.js'
import { views } from './suite-devices-views.js'
import { failureSuite } from './suite-failures.js'
import { lifetimeSuite } from './suite-lifetimes.js'
import { shardedClosures } from './suite-sharded-closures.js'
import { shardedWrites } from './suite-sharded-writes.js'
import { residentUserSemirings } from './suite-user-semirings.js'

/** `toEqual` takes a second for a million elements. */
async function isSame(there: DeviceMatrix, { data }: DenseMatrix): Promise<boolean> {
  const here = (await there.download()).data
  return here.length === data.length && here.every((element, index) => element === data[index])
}

/** Creates dense matrices of small integers. */
function small(seed: number) {
  const random = new Random(seed)
  return (...shape: [number, number] | [number, number, number]) => {
    const data = Int32Array.from({ length: shape.reduce((x, y) => x * y) }, () => random.integer(-999, 999))
    return { data, shape } as DenseMatrix
  }
}

/** Transposes of all matrices of a batch. */
function transposed({ data, shape }: DenseMatrix): DenseMatrix {
  const [rows, cols] = shape.slice(-2) as [number, number]
  const batch = shape.length > 2 ? [shape[0]] : []
  return {
    data,
    shape: [...batch, cols, rows],
    strides: [...batch.map(() => rows * cols), 1, cols],
  } as DenseMatrix
}

export function shardedSuite(backend: BackendName): void {
  const slow = { size: 700, options: {} }
  describe('matrices', () => spreadMatrices(backend))
  describe('custom semirings', () => residentUserSemirings(onThree(backend)))
  describe('lifetimes', () => lifetimeSuite(onThree(backend), slow))
  describe('failures', () => failureSuite(onThree(backend), { ...slow, inFlight: 70, stops: false }))
}

function spreadMatrices(backend: BackendName): void {
  let device: Device
  beforeAll(async () => {
    addon.pretendDevices(3)
    device = await openDevice({ devices: 'all' })
  })
  afterAll(async () => {
    await device.close()
    addon.pretendDevices(0)
  })
  const open = () => device

  describe('copies', () => copies(open))
  describe('views', () => views(open))
  describe('products', () => products(backend, open))
  describe('chains', () => chains(backend, open))
  describe('combine', () => combining(open))
  describe('closures', () => shardedClosures(open))
  describe('copies of written matrices', () => shardedWrites(open))

  it('lists its devices', async () => {
    expect([device.backend, device.devices]).toEqual([backend, [0, 1, 2]])
    const a = await device.full([90, 90], 1)
    const { c, devices } = await mpmm(a, a, { devices: [2, 0, 1] })
    expect(devices).toEqual([0, 1, 2])
    expect(new Set((await c.download()).data)).toEqual(new Set([2]))
    expect((await mpmm(a, a, { devices: 'all' })).devices).toEqual([0, 1, 2])
    await expectRejected(mpmm(a, a, { devices: [0, 1] }), 'OPTION', 'devices 0, 1, 2')
    const two = await openDevice({ devices: [0, 1] })
    const b = await two.full([90, 90], 1)
    expect((await mpmm(b, b, { devices: [1, 0] })).devices).toEqual([0, 1])
    // The option 'all' has no effect without a GPU.
    const all = mpmm(b, b, { devices: 'all' })
    if (backend === 'cpu') expect((await all).devices).toEqual([0, 1])
    else await expectRejected(all, 'OPTION', /^option devices is 'all', but/, 'devices 0, 1 ')
    await two.close()
  })

  it('has the results of one device in groups, whose large ones have separate memory', async () => {
    const host = small(7)
    const pairs = [
      [host(9, 8), host(8, 7)],
      [host(530, 40), host(40, 510)],
      [host(3, 300, 20), host(3, 20, 310)],
      [host(20, 5), host(5, 600)],
      [host(520, 30), host(30, 530)],
      [host(2, 2), host(2, 2)],
    ] as const
    const expected = await Promise.all(pairs.map(([a, b]) => mpmm(a, b, { witness: true })))
    const there = await Promise.all(
      pairs.map(async ([a, b]) => ({ a: await device.upload(a), b: await device.upload(b) })),
    )
    const results = await mpmmGrouped(there, { witness: true })
    for (const [index, { c, witness }] of results.entries()) {
      expect(await isSame(c, expected[index]!.c)).toBe(true)
      expect(await isSame(witness, expected[index]!.witness)).toBe(true)
      // The transposed result is an ordinary operand.
      const across = c.transpose()
      const next = await mpmm(across, c)
      across.dispose()
      const alone = await mpmm(transposed(expected[index]!.c), expected[index]!.c)
      expect(await isSame(next.c, alone.c)).toBe(true)
      next.c.dispose()
    }
    // Shared memory of results is released with the last of them.
    const [, large] = results
    const before = device.memory().used
    large!.c.dispose()
    large!.witness.dispose()
    await expect.poll(() => before - device.memory().used).toBeGreaterThanOrEqual(2 * 4 * 530 * 510)
    for (const { c, witness } of results) {
      c.dispose()
      witness.dispose()
    }
    const most = await device.full([600, 600], 2 ** 30)
    await expectRejected(
      mpmmGrouped([...there, { a: most, b: most }]),
      'OVERFLOW',
      /products\[6\]: C\[0, 0\]/,
    )
  })

  it('delays dependent products until their operands are written', async () => {
    const host = small(6)
    // All devices read B while earlier and later work writes it.
    const size = 260
    const step = host(size, size)
    const fixed = await device.upload(step)
    const first = host(size, size)
    const there = await device.upload(first)
    let here = first
    const works: Promise<unknown>[] = []
    for (let round = 0; round < 8; round++) {
      works.push(
        mpmm(fixed, there, { out: await device.full([size, size], 0) }).then(({ c }) => there.combine(c)),
      )
      await works.at(-1)
      const { c } = await mpmm(step, here, { accumulate: here })
      here = c
    }
    await Promise.all(works)
    expect((await there.download()).data).toEqual(here.data)
    const powers = []
    let power = fixed
    for (let round = 0; round < 6; round++) {
      const out = await device.full([size, size], -(2 ** 31))
      powers.push(mpmm(fixed, power, { out }))
      power = out
    }
    let expected = step
    for (const _ of powers) expected = (await mpmm(step, expected)).c
    await Promise.all(powers)
    expect((await power.download()).data).toEqual(expected.data)
  })

  it('plans the executed variant', async () => {
    const size = 300
    const upload = (element: (row: number, col: number) => number) =>
      device.upload(
        matrix(
          size,
          size,
          Int32Array.from({ length: size * size }, (_, index) =>
            element(Math.floor(index / size), index % size),
          ),
        ),
      )
    const value = (row: number, col: number) => (7 * row + 3 * col) % 9
    const [large, far] = [2 ** 31 - 2, 100_000]
    const small = await upload(value)
    const apart = await upload((row, col) => far * Math.floor(row / 100) + value(row, col))
    const below = await upload((row, col) => (col < row ? large : value(row, col)))
    const diagonal = await upload((row, col) => (col === row && row > 250 ? large : value(row, col)))
    for (const [a, b, structure] of [
      [apart, small, undefined],
      [small, apart, undefined],
      [below, small, { a: 'upper' }],
      [below, small, { a: 'lower' }],
      [diagonal, small, { a: 'lower' }],
      [small, below, { b: 'upper' }],
      [small.view({ rows: [0, 6] }), small, undefined],
    ] as const) {
      const options = { structure, overflow: 'saturate' } as const
      const { variant, arithmetic } = await plan(a, b, options)
      expect(await mpmm(a, b, options)).toMatchObject({ variant, arithmetic })
    }
  })

  it('is rejected if the system refuses a thread', async () => {
    for (const nth of [1, 2]) {
      addon.failThread(nth + 1, 1e15)
      const opened = await caught(openDevice({ devices: 'all' }))
      addon.failThread(0)
      expectError(opened, 'OUT_OF_MEMORY', 'refused to start a thread')
    }
    await (await openDevice({ devices: 'all' })).close()
  })

  it('is aborted by its signal, and continues', async () => {
    const a = await device.full([1500, 1500], 1)
    const [error] = await errorsAfterAbort((signal) => [mpmm(a, a, { signal })])
    expectError(error, 'ABORTED')
    expect(new Set((await (await mpmm(a, a)).c.download()).data)).toEqual(new Set([2]))
  })
}
