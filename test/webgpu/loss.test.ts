/**
 * Loss of the GPU, and aborted calls. Dawn runs on the test's thread, so that the test can destroy the
 * device.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, expect, it, vi } from 'vitest'
import { matrix, mpmm, openDevice } from '../../lib/index.js'
import type { Addon } from '../../lib/native-interface.js'
import { describeUnless } from '../support/skip.js'

const gpu = vi.hoisted(() => ({ reason: '', device: undefined as GPUDevice | undefined }))

vi.mock('../../lib/load.js', async (original) => {
  const actual = await original<typeof import('../../lib/load.js')>()
  const { allowSoftware } = await import('../support/webgpu-adapter.js')
  const { withWebGpuNames } = await import('../../lib/webgpu/names.js')
  const { gpuFunctions } = await import('../../lib/webgpu/session.js')
  const { withGpu } = await import('../../lib/webgpu/with-gpu.js')
  allowSoftware()
  const dawn = await import('webgpu').catch(() => undefined)
  if (!dawn) gpu.reason = 'the package webgpu is not installed'
  else Object.assign(globalThis, dawn.globals)
  const root = dawn?.create([])
  const findGpu = async () =>
    (root && {
      async requestAdapter(options: GPURequestAdapterOptions) {
        const adapter = await root.requestAdapter(options)
        const requestDevice = adapter?.requestDevice.bind(adapter)
        if (adapter) {
          adapter.requestDevice = async (descriptor) => {
            gpu.device = await requestDevice!(descriptor)
            return gpu.device
          }
        }
        return adapter
      },
    }) as GPU
  const loaded = actual.load<Addon>()
  const native = withWebGpuNames(loaded.addon)
  const addon = withGpu(native, gpuFunctions(native, findGpu, true))
  if (gpu.reason === '') gpu.reason = (await addon.describeGpu(true)).reason
  return { ...actual, load: () => ({ ...loaded, addon }) }
})

// The import of native.js sets the reason why CUDA can't be used.
await import('../../lib/native.js')
const reason = gpu.reason === '' ? undefined : gpu.reason

const side = 200
const values = Int32Array.from({ length: side * side }, (_, at) => (at * 7919) % 1009)
const a = matrix(side, side, values)
/** Product of `a` with itself by the definition. */
function squared(): Int32Array {
  const c = new Int32Array(side * side).fill(-(2 ** 31))
  for (let i = 0; i < side; i++)
    for (let k = 0; k < side; k++)
      for (let j = 0; j < side; j++)
        c[i * side + j] = Math.max(c[i * side + j]!, values[i * side + k]! + values[k * side + j]!)
  return c
}

describeUnless(reason, 'webgpu', () => {
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  it('rejects a product in flight when the device is lost, and computes the next one on a new device', async () => {
    expect((await mpmm(a, a, { backend: 'webgpu' })).backend).toBe('webgpu')
    const out = matrix(side, side, new Int32Array(side * side).fill(7))
    const product = mpmm(a, a, { backend: 'webgpu', out })
    product.catch(() => {})
    await turn()
    gpu.device!.destroy()
    await expect(product).rejects.toMatchObject({ code: 'ERR_MPMML_DEVICE_LOST', name: 'ResourceError' })
    expect(out.data.every((value) => value === 7)).toBe(true)
    const { c, backend } = await mpmm(a, a, { backend: 'webgpu', out })
    expect(backend).toBe('webgpu')
    expect(c.data).toEqual(squared())
  })

  it('rejects the matrices of a lost device, and opens another device', async () => {
    const device = await openDevice({ backend: 'webgpu' })
    const there = await device.upload(a)
    gpu.device!.destroy()
    await turn()
    await expect(mpmm(there, there)).rejects.toMatchObject({ code: 'ERR_MPMML_DEVICE_LOST' })
    await expect(there.download()).rejects.toMatchObject({ code: 'ERR_MPMML_DEVICE_LOST' })
    there.dispose()
    await device.close()
    const again = await openDevice({ backend: 'webgpu' })
    const { c } = await mpmm(await again.upload(a), a)
    expect((await c.download()).data).toEqual(squared())
    await again.close()
  })

  it('computes on the CPU if the device that the environment selects is lost', async () => {
    vi.stubEnv('MPMML_BACKEND', 'webgpu')
    expect((await mpmm(a, a)).backend).toBe('webgpu')
    const product = mpmm(a, a)
    await turn()
    gpu.device!.destroy()
    const { c, backend } = await product
    expect(backend).toBe('cpu')
    expect(c.data).toEqual(squared())
  })

  it('leaves a matrix on the device unchanged if a sum leaves int32', async () => {
    const device = await openDevice({ backend: 'webgpu' })
    const out = await device.upload(matrix(2, 2, [7, 7, 7, 7]))
    const high = matrix(2, 2, [1, 2, 3, 2 ** 31 - 1])
    await expect(mpmm(high, high, { out })).rejects.toMatchObject({ code: 'ERR_MPMML_OVERFLOW' })
    expect((await out.download()).data).toEqual(Int32Array.of(7, 7, 7, 7))
    await device.close()
  })

  it('rejects an aborted product, and computes the next one', async () => {
    const controller = new AbortController()
    const product = mpmm(a, a, { backend: 'webgpu', signal: controller.signal })
    product.catch(() => {})
    await turn()
    controller.abort('not needed')
    await expect(product).rejects.toMatchObject({ code: 'ERR_MPMML_ABORTED', cause: 'not needed' })
    const { c } = await mpmm(a, a, { backend: 'webgpu' })
    expect(c.data).toEqual(squared())
  })
})
