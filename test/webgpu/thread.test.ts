/** The thread that computes by WebGPU in Node.js: its failures, and the end of the process. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { addon, root } from '../../lib/native.js'
import { openThread } from '../../lib/webgpu/open-thread.js'
import { runModule } from '../support/child.js'
import { useFolder } from '../support/folder.js'
import { describeUnless } from '../support/skip.js'
import { withoutWebGpu } from '../support/webgpu.js'

const reason = await withoutWebGpu()

/** A thread that opens devices, and ends when one is closed. */
const program = `
import { parentPort } from 'node:worker_threads'
parentPort.on('message', ({ call, name, end }) => {
  const given = { $handle: 1, kind: 'device', description: {}, use: {} }
  if (name === 'openDevice') parentPort.postMessage({ call, given, arrays: [], spent: [] })
  if (name === 'closeDevice') process.exit(3)
  if (name === 'describeGpu') throw new Error('simulated')
  if (end) Atomics.store(end, 0, 1)
  if (end) Atomics.notify(end, 0)
})`

describe('a thread of WebGPU that ends', () => {
  const inFolder = useFolder()
  beforeAll(() => {
    writeFileSync(inFolder('thread.mjs'), program)
  })

  it('is reported once if it throws', async () => {
    const ended = vi.fn()
    const listening = vi.spyOn(Worker.prototype, 'on')
    const calls = openThread(addon, inFolder('thread.mjs'), ended)
    const worker = listening.mock.contexts[0] as Worker
    const exited = new Promise((resolve) => worker.once('exit', resolve))
    listening.mockRestore()
    const lost = { code: 'ERR_MPMML_DEVICE_LOST', message: expect.stringContaining('simulated') }
    await expect(calls.describeGpu()).rejects.toMatchObject(lost)
    await exited
    expect(ended).toHaveBeenCalledTimes(1)
  })

  it('rejects its calls, and its devices are unknown to the next thread', async () => {
    const ended = vi.fn()
    const first = openThread(addon, inFolder('thread.mjs'), ended)
    const device = await first.openDevice(0, 0, 0, 0)
    const lost = { code: 'ERR_MPMML_DEVICE_LOST', message: expect.stringContaining('status 3') }
    await expect(first.closeDevice(device)).rejects.toMatchObject(lost)
    await expect(first.openDevice(0, 0, 0, 0)).rejects.toMatchObject(lost)
    expect(ended).toHaveBeenCalledTimes(1)
    const second = openThread(addon, inFolder('thread.mjs'), ended)
    await second.openDevice(0, 0, 0, 0)
    await expect(second.closeDevice(device)).rejects.toThrow('no such object')
  })

  it('rejects calls if its file doesn’t exist', async () => {
    const ended = vi.fn()
    const { describeGpu } = openThread(addon, inFolder('none.mjs'), ended)
    await expect(describeGpu()).rejects.toMatchObject({ code: 'ERR_MPMML_DEVICE_LOST' })
    expect(ended).toHaveBeenCalled()
  })
})

describeUnless(reason, 'webgpu', () => {
  it.each([
    ['exits', 'process.exit(7)', 7],
    ['throws', "throw new Error('of the program')", 1],
    ['has no more work', 'await product', 0],
  ])('ends with its status if a process that computes %s', (_, end, status) => {
    const library = JSON.stringify(join(root, 'dist', 'lib', 'index.js'))
    const text = `import { matrix, mpmm, openDevice } from ${library}
const device = await openDevice({ backend: 'webgpu' })
const a = matrix(600, 600, new Int32Array(360_000))
const there = await device.upload(a)
const product = mpmm(a, a, { backend: 'webgpu' })
product.catch(() => {})
await new Promise((resolve) => setTimeout(resolve, 20))
${end}`
    const { status: found, signal } = runModule(text)
    expect([found, signal]).toEqual([status, null])
  })
})
