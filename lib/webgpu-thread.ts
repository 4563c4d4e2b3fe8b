/**
 * The thread that computes by WebGPU in Node.js (lib/webgpu/open-thread.ts starts it), with the package `webgpu`: Dawn, the implementation
 * of Chromium.
 */
import { parentPort } from 'node:worker_threads'
import { hasVulkanDriver } from './environment.js'
import { addon } from './native.js'
import { optionalPackages } from './optional-packages.js'
import type { Port, Reply, Request } from './remote/messages.js'
import { serve } from './remote/service.js'
import type { Exports } from './remote/written.js'
import { gpuFunctions } from './webgpu/session.js'
import { withGpu } from './webgpu/with-gpu.js'

const dawn = optionalPackages('WebGPU in Node.js needs', ['webgpu'], () => import('webgpu'))

/**
 * Reference for the life of the thread: the process hangs or crashes if the GPU object is garbage-collected.
 */
let gpu: GPU | undefined

async function findGpu(): Promise<GPU> {
  if (gpu) return gpu
  // Without this check, Dawn writes warnings to the standard error of the process.
  if (process.platform === 'linux' && !hasVulkanDriver()) throw new Error('no Vulkan driver is installed')
  const { create, globals } = await dawn()
  Object.assign(globalThis, globals)
  gpu = create([])
  return gpu
}

async function begin(): Promise<Exports> {
  const backend = gpuFunctions(addon, findGpu)
  return { ...withGpu(addon, backend), end: backend.end } as unknown as Exports
}

// `parentPort` is null if the main thread imports this file.
if (parentPort) serve(parentPort as unknown as Port<Reply, Request>, begin)
