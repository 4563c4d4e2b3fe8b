/** Devices for matrices: a single device, or several simulated devices. */
import { afterAll, beforeAll, expect } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import { type Device, openDevice } from '../../lib/index.js'
import { addon } from '../../lib/native.js'

export interface Home {
  readonly backend: BackendName
  /** Opens the device. */
  readonly where: { backend?: BackendName; devices?: number[] }
  /** Number of simulated devices; 0 for the real ones. */
  readonly pretended: number
}

export const onOne = (backend: BackendName): Home => ({ backend, where: { backend }, pretended: 0 })

/**
 * Three simulated devices, each of which is the same GPU, or the CPU. Devices are simulated only if no
 * backend is named.
 */
export const onThree = (backend: BackendName): Home => ({
  backend,
  where: { devices: [0, 1, 2] },
  pretended: 3,
})

export const openAt = ({ where }: Home): Promise<Device> => openDevice(where)

/** Opens a device for the tests of a suite, and returns the function that gives it. */
export function useDevice(where: Home['where']): () => Device {
  let device: Device
  beforeAll(async () => {
    device = await openDevice(where)
  })
  afterAll(() => device.close())
  return () => device
}

/**
 * Fails unless the used memory is the same as before. Several devices keep copies of existing matrices, which must be released
 * afterwards.
 */
export function expectUsed({ pretended }: Home, device: Device, before: number): void {
  const { used } = device.memory()
  if (pretended === 0) expect(used).toBe(before)
  else expect(used).toBeGreaterThanOrEqual(before)
}

/** Registers the tests of a home in a suite. */
export function useHome({ pretended }: Home): void {
  if (pretended === 0) return
  beforeAll(() => addon.pretendDevices(pretended))
  afterAll(() => addon.pretendDevices(0))
}
