/** Direct calls of the functions of a WebGPU device, without the public API. */
import { addon } from '../../lib/native.js'
import {
  copyAt,
  copyFields,
  type NativeMemory,
  reportAt,
  reportFields,
  requestAt,
  requestFields,
} from '../../lib/native-interface.js'
import type { ElementArray, OperandArray } from '../../lib/storage.js'
import { type GpuBackend, gpuFunctions } from '../../lib/webgpu/session.js'
import type { Layout } from '../../lib/webgpu/views.js'
import type { GpuFunctions } from '../../lib/webgpu/with-gpu.js'
import { allowSoftware } from './webgpu-adapter.js'

let gpu: GPU | undefined

/**
 * WebGPU instance of the package `webgpu`. The instance stays referenced, because devices don't outlive it.
 */
async function theGpu(): Promise<GPU> {
  if (gpu) return gpu
  allowSoftware()
  const { create, globals } = await import('webgpu')
  Object.assign(globalThis, globals)
  gpu = create([]) as GPU
  return gpu
}

/** Returns the reason why this machine has no adapter; undefined if it has one. */
export async function withoutAdapter(): Promise<string | undefined> {
  const adapter = await theGpu().then(
    (found) => found.requestAdapter(),
    () => null,
  )
  return adapter ? undefined : 'no adapter of WebGPU was found'
}

/** Simulated defects of a GPU. */
export interface Changes {
  /** Changes the text of each compiled kernel. */
  code?: (code: string) => string
  /** Changes the entries of each bind group. */
  entries?: (entries: GPUBindGroupEntry[]) => GPUBindGroupEntry[]
  /** Limits that are smaller than those of the device. */
  limits?: Partial<GPUSupportedLimits>
  /** Returns whether the allocation of a buffer of a size fails. */
  isOutOfMemory?: (size: number) => boolean
  /** Mode in which no buffer can be mapped: 1 to read, 2 to write. */
  failingMode?: GPUMapModeFlags
}

/** Lowers the limits that a device reports, and rejects bindings beyond them. */
function lowerLimits(device: GPUDevice, lower: Partial<GPUSupportedLimits>): void {
  const limits = { ...limitsOf(device), ...lower }
  Object.defineProperty(device, 'limits', { value: limits })
  const bind = device.createBindGroup.bind(device)
  device.createBindGroup = (group) => {
    for (const { resource } of group.entries) {
      const { buffer, size } = resource as GPUBufferBinding
      if ((size ?? (buffer ?? (resource as GPUBuffer)).size) > limits.maxStorageBufferBindingSize)
        throw new Error('a binding is larger than the limit')
    }
    return bind(group)
  }
}

const limitsOf = ({ limits }: GPUDevice) => {
  const { maxBufferSize, maxStorageBufferBindingSize, maxComputeWorkgroupStorageSize } = limits
  return { maxBufferSize, maxStorageBufferBindingSize, maxComputeWorkgroupStorageSize }
}

/** Lets allocations fail as those of a GPU do: the buffer is invalid, and the innermost error scope of the kind has an error. */
function failAllocations(device: GPUDevice, isOutOfMemory: (size: number) => boolean): void {
  const [create, push, pop] = [
    device.createBuffer.bind(device),
    device.pushErrorScope.bind(device),
    device.popErrorScope.bind(device),
  ]
  const scopes: { filter: GPUErrorFilter; hasFailed: boolean }[] = []
  device.pushErrorScope = (filter) => {
    scopes.push({ filter, hasFailed: false })
    push(filter)
  }
  device.createBuffer = (descriptor) => {
    const buffer = create(descriptor)
    if (descriptor.mappedAtCreation || !isOutOfMemory(descriptor.size)) return buffer
    const scope = scopes.filter(({ filter }) => filter === 'out-of-memory').at(-1)
    if (scope) scope.hasFailed = true
    buffer.destroy()
    return buffer
  }
  device.popErrorScope = async () => {
    const hasFailed = scopes.pop()?.hasFailed
    const found = await pop()
    return hasFailed ? ({ message: 'simulated' } as GPUError) : found
  }
}

/** Lets buffers for copies fail to be mapped, except at their creation. */
function failMappings(device: GPUDevice, mode: GPUMapModeFlags): void {
  const create = device.createBuffer.bind(device)
  device.createBuffer = (descriptor) => {
    const buffer = create(descriptor)
    const map = buffer.mapAsync.bind(buffer)
    buffer.mapAsync = async (wanted, ...range) => {
      if (wanted === mode) throw new Error('simulated')
      await map(wanted, ...range)
    }
    return buffer
  }
}

const backends: GpuBackend[] = []

/** Destroys all devices, so that the process of the tests can end. */
export async function endDevices(): Promise<void> {
  for (const backend of backends.splice(0)) await backend.end()
}

/** Returns the functions of a device of this machine with simulated defects. */
export function callsOf(changes: Changes = {}, allowsFallback = true): GpuFunctions {
  const { code, entries, limits: lower, isOutOfMemory, failingMode } = changes
  const find = async () => {
    const found = await theGpu()
    const requestAdapter = async () => {
      const adapter = await found.requestAdapter()
      if (!adapter) return null
      const { info, features, limits } = adapter
      const requestDevice = async (descriptor: GPUDeviceDescriptor) => {
        const device = await adapter.requestDevice(descriptor)
        const [compile, bind] = [device.createShaderModule.bind(device), device.createBindGroup.bind(device)]
        if (code) device.createShaderModule = (module) => compile({ ...module, code: code(module.code) })
        if (entries)
          device.createBindGroup = (group) => bind({ ...group, entries: entries([...group.entries]) })
        if (lower) lowerLimits(device, lower)
        if (isOutOfMemory) failAllocations(device, isOutOfMemory)
        if (failingMode) failMappings(device, failingMode)
        return device
      }
      return { info, features, limits, requestDevice } as unknown as GPUAdapter
    }
    return { requestAdapter } as unknown as GPU
  }
  const backend = gpuFunctions(addon, find, allowsFallback)
  backends.push(backend)
  return backend
}

/** A matrix in an array. */
export interface InArray<Data> {
  data: Data
  shape: readonly [rows: number, cols: number]
  layout?: Layout
}

const layoutOf = ({ shape: [, cols], layout }: Pick<InArray<unknown>, 'shape' | 'layout'>): Layout =>
  layout ?? { offset: 0, batchStride: 0, rowStride: cols, colStride: 1 }

function put(request: Float64Array, at: (typeof requestAt)['a'], layout: Layout): void {
  request[at.offset] = layout.offset
  request[at.batchStride] = layout.batchStride
  request[at.rowStride] = layout.rowStride
  request[at.colStride] = layout.colStride
}

export interface ProductOptions {
  semiring?: 'max-plus' | 'min-plus' | 'max-min'
  dtype?: 'int32' | 'float32'
  overflow?: 'throw' | 'saturate' | 'wrap'
  c0?: InArray<ElementArray>
  witness?: Int32Array
  deviceMemory?: number
  cancel?: Int32Array
}

/** Computes c = c0 ⊕ a ⊗ b of arrays, and returns the name of the path. */
export async function multiply(
  calls: GpuFunctions,
  a: InArray<OperandArray>,
  b: InArray<OperandArray>,
  c: InArray<ElementArray>,
  { semiring = 'max-plus', dtype = 'int32', overflow = 'throw', ...options }: ProductOptions = {},
): Promise<string> {
  const request = new Float64Array(requestFields.length)
  const [m, n] = c.shape
  const fields = {
    batch: 1,
    m,
    n,
    k: a.shape[1],
    semiring: addon.semirings.findIndex(({ name }) => name === semiring),
    dtype: addon.dataTypes.indexOf(dtype),
    overflow: addon.overflowPolicies.indexOf(overflow),
    variant: -1,
    deviceMemory: options.deviceMemory ?? 0,
    asksWitness: options.witness ? 1 : 0,
  }
  for (const [field, value] of Object.entries(fields))
    request[requestAt[field as keyof typeof fields]] = value
  put(request, requestAt.a, layoutOf(a))
  put(request, requestAt.b, layoutOf(b))
  put(request, requestAt.c, layoutOf(c))
  if (options.c0) put(request, requestAt.c0, layoutOf(options.c0))
  put(request, requestAt.witness, layoutOf({ shape: c.shape }))
  const report = new Float64Array(reportFields.length)
  const cancel = options.cancel ?? new Int32Array(1)
  const auxiliary = options.witness ? [options.witness] : null
  await calls.multiply(
    a.data,
    b.data,
    c.data,
    options.c0?.data ?? null,
    request,
    report,
    cancel,
    null,
    auxiliary,
  )
  return addon.paths[report[reportAt.path]!]!
}

/** Copies a row-major matrix to a new device. Products take its memory in place of the array. */
export async function upload<Data extends OperandArray>(
  calls: GpuFunctions,
  { data, shape }: InArray<Data>,
): Promise<InArray<Data>> {
  const copy = new Float64Array(copyFields.length)
  copy.set([1, ...shape], copyAt.batch)
  put(copy, copyAt.array, layoutOf({ shape }))
  const device = await calls.openDevice(0)
  const memory = await calls.upload(device, data, copy, new Int32Array(1))
  return { data: memory as never, shape }
}

/** Results of a closure apart from the distances. */
export interface Closed {
  /** Field `gain` of the report. */
  gain: number
  next: Int32Array | null
}

/**
 * Closes a square matrix in place on a device, copies it to `weights`, and returns the next nodes if
 * requested.
 */
export async function close(
  calls: GpuFunctions,
  weights: Int32Array,
  n: number,
  semiring = 'min-plus',
  wantsNext = false,
  batch = 1,
  reflexive = true,
): Promise<Closed> {
  const device = await calls.openDevice(0)
  const copy = new Float64Array(copyFields.length)
  copy[copyAt.batch] = batch
  copy[copyAt.rows] = n
  copy[copyAt.cols] = n
  const layout = { ...layoutOf({ shape: [n, n] }), batchStride: batch > 1 ? n * n : 0 }
  put(copy, copyAt.array, layout)
  put(copy, copyAt.memory, layout)
  const request = new Float64Array(requestFields.length)
  request[requestAt.batch] = batch
  request[requestAt.n] = n
  request[requestAt.semiring] = addon.semirings.findIndex(({ name }) => name === semiring)
  put(request, requestAt.a, layout)
  const report = new Float64Array(reportFields.length)
  const flag = new Int32Array(1)
  const memory = await calls.upload(device, weights, copy, flag)
  let next: Int32Array | null = null
  try {
    const created = await calls.closeMatrix(
      device,
      memory,
      null,
      true,
      reflexive,
      wantsNext,
      request,
      report,
      flag,
    )
    if (wantsNext) {
      next = new Int32Array(batch * n * n)
      await calls.download(device, created as NativeMemory, next, copy, flag)
    }
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MPMML_CYCLE') throw error
  } finally {
    await calls.download(device, memory, weights, copy, flag)
    await calls.closeDevice(device)
  }
  return { gain: report[reportAt.gain]!, next }
}
