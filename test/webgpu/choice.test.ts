/** Choice of backend auto between WebGPU and the CPU, with simulated measurements. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { ProductKind } from '../../lib/webgpu/choice.js'
import { useFolder } from '../support/folder.js'

const kind: ProductKind = { semiring: 'max-plus', dtype: 'int32', witness: false, m: 1024, n: 1024, k: 1024 }

const inFolder = useFolder(afterEach)
beforeEach(() => {
  // Choices are cached for the process, and a file of choices is read once.
  vi.resetModules()
  for (const name of ['XDG_CACHE_HOME', 'HOME', 'LOCALAPPDATA']) vi.stubEnv(name, inFolder())
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const choice = () => import('../../lib/webgpu/choice.js')

it('selects the faster backend, and measures each kind once', async () => {
  const { takesWebGpu } = await choice()
  const measured: [ProductKind, string][] = []
  const measure = async (one: ProductKind, backend: string) => {
    measured.push([one, backend])
    const isGpuFaster = one.semiring === 'max-plus'
    return (backend === 'webgpu') === isGpuFaster ? 1 : 2
  }
  expect(await Promise.all([takesWebGpu('gpu', kind, measure), takesWebGpu('gpu', kind, measure)])).toEqual([
    true,
    true,
  ])
  // The first WebGPU product compiles kernels.
  expect(measured.map(([, backend]) => backend)).toEqual(['webgpu', 'webgpu', 'cpu'])
  expect(await takesWebGpu('gpu', { ...kind, semiring: 'min-plus' }, measure)).toBe(false)
  expect(measured).toHaveLength(6)
})

it('measures smaller products instead of large ones, and doesn’t count them as separate kinds', async () => {
  const { nameOfKind, takesWebGpu } = await choice()
  const large = { ...kind, m: 8192, n: 4096, k: 8192 }
  const sizes: number[] = []
  await takesWebGpu('gpu', large, async ({ m, n, k }) => sizes.push(m * n * k))
  for (const size of sizes) {
    expect(size).toBeLessThanOrEqual(2 ** 30)
    expect(size).toBeGreaterThan(2 ** 29)
  }
  expect(nameOfKind(large)).toBe(nameOfKind(kind))
  expect(nameOfKind({ ...kind, m: 512 })).not.toBe(nameOfKind(kind))
  expect(nameOfKind({ ...kind, witness: true })).not.toBe(nameOfKind(kind))
})

it('selects the CPU if WebGPU can’t be measured', async () => {
  const { takesWebGpu } = await choice()
  expect(await takesWebGpu('gpu', kind, () => Promise.reject(new Error('lost')))).toBe(false)
})

it('uses the stored times of this GPU, and no times of others', async () => {
  const { nameOfKind } = await choice()
  const stored = { format: 1, gpus: { gpu: [{ kind: nameOfKind(kind), webgpuMs: 1, cpuMs: 2 }] } }
  const { ownCacheFolder } = await import('../../lib/environment.js')
  mkdirSync(ownCacheFolder()!, { recursive: true })
  writeFileSync(join(ownCacheFolder()!, 'webgpu.json'), JSON.stringify(stored))
  const slow = async (_: ProductKind, backend: string) => (backend === 'webgpu' ? 2 : 1)
  const never = () => Promise.reject(new Error('it was measured again'))
  expect(await (await choice()).takesWebGpu('gpu', kind, never)).toBe(true)
  vi.resetModules()
  expect(await (await choice()).takesWebGpu('another', kind, slow)).toBe(false)
})
