/** Where matrices stay: on one device, or spread among several that are pretended. */

import { afterAll, beforeAll, expect } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import { type Device, openDevice } from '../../lib/index.js'
import { addon } from '../../lib/native.js'

export interface Home {
  readonly backend: BackendName
  /** How a device is opened there. */
  readonly where: { backend?: BackendName; devices?: number[] }
  /** How many devices are pretended; 0 if those are taken that there are. */
  readonly pretended: number
}

export const onOne = (backend: BackendName): Home => ({ backend, where: { backend }, pretended: 0 })

/** Devices are only pretended if no backend is named: all are the same GPU, or the CPU. */
export const onThree = (backend: BackendName): Home => ({
  backend,
  where: { devices: [0, 1, 2] },
  pretended: 3,
})

export const openAt = ({ where }: Home): Promise<Device> => openDevice(where)

/** Fails unless as much memory is used as before. Several devices keep copies of what exists; afterwards they must be gone too. */
export function expectUsed({ pretended }: Home, device: Device, before: number): void {
  const { used } = device.memory()
  if (pretended === 0) expect(used).toBe(before)
  else expect(used).toBeGreaterThanOrEqual(before)
}

/** In a suite: its tests run there. */
export function useHome({ pretended }: Home): void {
  if (pretended === 0) return
  beforeAll(() => addon.pretendDevices(pretended))
  afterAll(() => addon.pretendDevices(0))
}
