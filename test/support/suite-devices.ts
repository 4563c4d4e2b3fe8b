/** Matrices on a device, and their products. The tests of both backends run this suite. */
import { describe, expect, it } from 'vitest'
import { plus } from '../../lib/algebra.js'
import type { BackendName } from '../../lib/backend-name.js'
import { type Device, DeviceMatrix, info, mpmm, mpmmGrouped, openDevice } from '../../lib/index.js'
import { expectRejected } from './expect.js'
import { useDevice } from './homes.js'
import { chains } from './suite-devices-chains.js'
import { combining } from './suite-devices-combine.js'
import { copies } from './suite-devices-copies.js'
import { products } from './suite-devices-products.js'
import { views } from './suite-devices-views.js'

export function deviceSuite(backend: BackendName): void {
  const open = useDevice({ backend })

  describe('a device', () => theDevice(backend, open))
  describe('copies', () => copies(open))
  describe('views', () => views(open))
  describe('products', () => products(backend, open))
  describe('chains', () => chains(backend, open))
  describe('combine', () => combining(open))
}

function theDevice(backend: BackendName, open: () => Device): void {
  it('describes itself', () => {
    const device = open()
    expect(device.backend).toBe(backend)
    expect(device.index).toBe(0)
    expect(device.name).not.toBe('')
    const { used, reserved, peak, free, total } = device.memory()
    for (const bytes of [used, reserved, peak, free, total]) expect(Number.isSafeInteger(bytes)).toBe(true)
    expect(reserved).toBeGreaterThanOrEqual(used)
    expect(peak).toBeGreaterThanOrEqual(used)
    expect(total).toBeGreaterThan(free)
    expect(free).toBeGreaterThan(0)
  })

  it('rejects wrong options', async () => {
    const refused = async (options: unknown, ...patterns: (string | RegExp)[]) =>
      await expectRejected(openDevice(options as never), 'OPTION', ...patterns)
    await refused({ backends: 'cpu' }, "'backends'", "'backend', 'device', 'devices' or 'signal'")
    await refused({ backend: 'gpu' }, 'backend', "'gpu'")
    await refused({ device: -1 }, 'device', '-1')
    await refused(null, 'options must be an object', 'null')
  })

  it('computes the products of its matrices for every subset of its devices in the option', async () => {
    const device = open()
    const a = await device.full([30, 30], 2)
    const only = info().cuda.devices.length < 2
    // The option 'all' has no effect without a GPU.
    const named = [
      ...(only || backend === 'cpu' ? ['all' as const] : []),
      ...(backend === 'cuda' ? [[0]] : []),
    ]
    for (const devices of named) {
      const { c } = await mpmm(a, a, { devices })
      expect(new Set((await c.download()).data)).toEqual(new Set([4]))
      const [group] = await mpmmGrouped([{ a, b: a }], { devices })
      group!.c.dispose()
      c.dispose()
      const closed = await plus(await device.full([30, 30], 0), { devices })
      expect(new Set((await closed.c.download()).data)).toEqual(new Set([0]))
    }
    const refused = backend === 'cpu' ? [[0], [1, 2]] : [...(only ? [] : ['all' as const]), [1], [0, 1]]
    for (const devices of refused) {
      const shown = devices === 'all' ? "'all'" : `\\[${devices.join(', ')}\\]`
      for (const multiply of [
        mpmm(a, a, { devices }),
        mpmmGrouped([{ a, b: a }], { devices }),
        plus(a, { devices }),
      ]) {
        await expectRejected(
          multiply,
          'OPTION',
          new RegExp(`^option devices is ${shown}, but the matrices are on`),
        )
      }
    }
    a.dispose()
  })

  it('has no public constructor, and neither have its matrices', async () => {
    const device = open()
    const a = await device.full([1, 1], 0)
    for (const Class of [device.constructor, a.constructor, DeviceMatrix]) {
      const make = Class as new (...values: unknown[]) => unknown
      for (const values of [[], [{}], [device], [a]]) {
        expect(() => new make(...values)).toThrow(TypeError)
      }
    }
    a.dispose()
  })
}
