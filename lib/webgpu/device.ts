/** Wrapper of a GPUDevice: units of work in error scopes, pipelines, buffers, and recordings of commands. */
import type { CpuAddon } from './cpu.js'
import { failure } from './failure.js'
import { ROUNDING_PROBE, roundingCases, roundsToNearest } from './probe.js'
import { roundUp, Transfers } from './transfers.js'

/** Workgroups of a dispatch in each dimension. */
export type Groups = readonly [x: number, y?: number, z?: number]

/** A whole buffer, or a part of it. */
type Binding = GPUBuffer | GPUBufferBinding

/** A dispatch with its buffers. */
interface Dispatch {
  readonly pipeline: GPUComputePipeline
  readonly group: GPUBindGroup
  readonly groups: Groups
}

/** Function that takes a buffer for a unit of work ({@link Gpu.take}). */
export type Take = (bytes: number, most?: number) => Promise<GPUBuffer>

// Numbers of the flags, because GPUBufferUsage is a global only in browsers.
const [COPY_SRC, COPY_DST, UNIFORM, STORAGE, QUERY_RESOLVE] = [4, 8, 64, 128, 512]

/** Bytes of free buffers that are kept for the next work. */
const MAX_FREE = 2 ** 32
const errorFilters = ['validation', 'internal', 'out-of-memory'] as const satisfies readonly GPUErrorFilter[]
/** Binding of the uniforms in every kernel. */
const UNIFORMS = 9
const UNIFORM_BYTES = 256
const MAX_DISPATCHES = 64
/** Work that is submitted at a time, in milliseconds: operating systems reset a GPU that doesn't answer for 2 s. */
const SUBMISSION_MS = 50
/** Operations per millisecond of a kernel that hasn't run yet. */
const FIRST_RATE = 2e7

/** Limits that are requested as large as the adapter has them. */
const wantedLimits = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupStorageSize',
] as const

/** Encoded commands that aren't submitted yet. */
export class Recording {
  #encoder: GPUCommandEncoder
  readonly #uniforms = new Int32Array((MAX_DISPATCHES * UNIFORM_BYTES) / 4)
  #used = 0
  #pass: GPUComputePassEncoder | null = null

  constructor(readonly gpu: Gpu) {
    this.#encoder = gpu.device.createCommandEncoder()
  }

  /** Encodes a dispatch. `buffers` are storage buffers by their binding; `uniforms` are at most 64 words. */
  dispatch(
    pipeline: GPUComputePipeline,
    buffers: Readonly<Record<number, Binding>>,
    uniforms: readonly number[],
    groups: Groups,
  ): void {
    const [x, y = 1, z = 1] = groups
    if (x * y * z === 0) return
    if (this.#used === MAX_DISPATCHES) this.submit()
    this.repeat(this.prepare(pipeline, buffers, uniforms, groups))
  }

  /** Returns a dispatch that may be encoded several times before the next submission. */
  prepare(
    pipeline: GPUComputePipeline,
    buffers: Readonly<Record<number, Binding>>,
    uniforms: readonly number[],
    groups: Groups,
  ): Dispatch {
    const { device, uniformBuffer } = this.gpu
    const offset = this.#used++ * UNIFORM_BYTES
    this.#uniforms.set(uniforms, offset / 4)
    const resources: Record<number, Binding> = {
      ...buffers,
      [UNIFORMS]: { buffer: uniformBuffer, offset, size: UNIFORM_BYTES },
    }
    const entries = Object.entries(resources).map(([binding, resource]) => ({
      binding: Number(binding),
      resource: 'buffer' in resource ? resource : { buffer: resource },
    }))
    return {
      pipeline,
      group: device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }),
      groups,
    }
  }

  repeat({ pipeline, group, groups }: Dispatch): void {
    this.#pass ??= this.#encoder.beginComputePass()
    this.#pass.setPipeline(pipeline)
    this.#pass.setBindGroup(0, group)
    this.#pass.dispatchWorkgroups(...groups)
  }

  copy(from: GPUBuffer, to: GPUBuffer, toAt: number, bytes: number): void {
    this.endPass()
    this.#encoder.copyBufferToBuffer(from, 0, to, toAt, bytes)
  }

  /** Begins a pass that writes the device's timestamps at its start and its end. */
  beginTimed(): void {
    this.endPass()
    const { timestamps: querySet } = this.gpu
    if (!querySet) return
    const timestampWrites = { querySet, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 }
    this.#pass = this.#encoder.beginComputePass({ timestampWrites })
  }

  /** Copies both timestamps to a buffer. */
  copyMarks(to: GPUBuffer, at: number): void {
    this.endPass()
    const { timestamps, resolved } = this.gpu
    if (!timestamps || !resolved) return
    this.#encoder.resolveQuerySet(timestamps, 0, 2, resolved, 0)
    this.copy(resolved, to, at, 16)
  }

  endPass(): void {
    this.#pass?.end()
    this.#pass = null
  }

  /** Submits the commands. Later ones are encoded anew. */
  submit(): void {
    this.endPass()
    const { device, uniformBuffer } = this.gpu
    if (this.#used > 0)
      device.queue.writeBuffer(uniformBuffer, 0, this.#uniforms, 0, (this.#used * UNIFORM_BYTES) / 4)
    device.queue.submit([this.#encoder.finish()])
    this.#encoder = device.createCommandEncoder()
    this.#used = 0
  }
}

/** Sizes of buffers: an eighth of a power of two apart, so that work of similar sizes finds the buffers of earlier work. */
function sizeClass(bytes: number): number {
  const step = Math.max(256, 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(bytes, 1))) - 3))
  return roundUp(Math.max(bytes, 16), step)
}

/** A device and its adapter. */
export class Gpu {
  readonly uniformBuffer: GPUBuffer
  readonly timestamps: GPUQuerySet | null
  readonly resolved: GPUBuffer | null
  readonly transfers: Transfers
  readonly #pipelines = new Map<string, Promise<GPUComputePipeline>>()
  readonly #tested = new Map<string, Promise<void>>()
  /** Free buffers by their size. */
  readonly #free = new Map<number, GPUBuffer[]>()
  #freeBytes = 0
  #last: Promise<unknown> = Promise.resolve()
  /** Operations per millisecond, by kernel. */
  readonly #rates = new Map<string, number>()
  #error = ''
  /** Bytes of buffers in use. */
  used = 0
  roundsToNearest = false
  /** Reason why the device can no longer compute; '' if it can. */
  problem = ''
  isLost = false

  private constructor(
    readonly adapter: GPUAdapter,
    readonly device: GPUDevice,
    /** The addon, with which self-tests compare. */
    readonly cpu: CpuAddon,
  ) {
    const hasTimestamps = device.features.has('timestamp-query')
    const size = MAX_DISPATCHES * UNIFORM_BYTES
    this.uniformBuffer = device.createBuffer({ size, usage: UNIFORM | COPY_DST })
    this.timestamps = hasTimestamps ? device.createQuerySet({ type: 'timestamp', count: 2 }) : null
    this.resolved = hasTimestamps ? device.createBuffer({ size: 16, usage: QUERY_RESOLVE | COPY_SRC }) : null
    this.transfers = new Transfers(this)
    device.lost.then(({ message, reason }) => {
      this.isLost = true
      this.problem ||= `the WebGPU device was lost (${reason || 'unknown'})${message && `: ${message.split('\n')[0]}`}`
    })
    device.onuncapturederror = ({ error }) => {
      this.#error ||= error.message
    }
  }

  /** Creates a device from an adapter and probes its float32 rounding. */
  static async open(adapter: GPUAdapter, cpu: CpuAddon): Promise<Gpu> {
    const requiredFeatures = [...adapter.features].filter((name) => name === 'timestamp-query')
    const requiredLimits = Object.fromEntries(wantedLimits.map((name) => [name, adapter.limits[name]]))
    const gpu = new Gpu(adapter, await adapter.requestDevice({ requiredLimits, requiredFeatures }), cpu)
    try {
      gpu.roundsToNearest = await gpu.run(() => gpu.#probe())
    } catch (error) {
      gpu.device.destroy()
      throw error
    }
    return gpu
  }

  #probe(): Promise<boolean> {
    return this.withBuffers(async (take) => {
      const pairs = roundingCases()
      const sums = new Float32Array(pairs.length / 2)
      const [from, to] = [await take(pairs.byteLength), await take(sums.byteLength)]
      await this.transfers.write(pairs, from)
      const recording = new Recording(this)
      const pipeline = await this.pipeline('probe', () => ROUNDING_PROBE)
      recording.dispatch(pipeline, { 0: from, 1: to }, [sums.length], [sums.length / 64])
      recording.submit()
      await this.transfers.read([{ buffer: to, at: 0, into: sums }])
      return roundsToNearest(pairs, sums)
    })
  }

  /** Name of the GPU for messages. */
  get name(): string {
    const { vendor, architecture, device, description } = this.adapter.info
    return description || device || [vendor, architecture].filter((part) => part !== '').join(' ') || 'a GPU'
  }

  /** Throws unless the device can compute. */
  assertUsable(): void {
    if (this.problem === '') return
    throw failure(this.isLost ? 'ERR_MPMML_DEVICE_LOST' : 'ERR_MPMML_NO_WEBGPU', this.problem)
  }

  /**
   * Runs work after all that was started before, in error scopes: invalid commands throw nothing and compute nothing. Work must await
   * {@link assertValid} before it writes its results.
   */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(() => this.#scoped(work))
    this.#last = result.catch(() => {})
    return result
  }

  /** Resolves when all that was started before has ended. */
  idle(): Promise<unknown> {
    return this.#last
  }

  async #scoped<Result>(work: () => Promise<Result>): Promise<Result> {
    this.assertUsable()
    this.#pushScopes()
    try {
      return await work()
    } finally {
      await this.transfers.idle()
      await this.#popScopes()
    }
  }

  /** Throws if a command since the last call was refused, or the device is lost. */
  async assertValid(): Promise<void> {
    const errors = this.#popScopes()
    this.#pushScopes()
    await errors
  }

  #pushScopes(): void {
    for (const filter of errorFilters) this.device.pushErrorScope(filter)
  }

  async #popScopes(): Promise<void> {
    const errors = await Promise.all(errorFilters.map(() => this.device.popErrorScope().catch(() => null)))
    this.assertUsable()
    const message = errors.find((found) => found !== null)?.message ?? this.#error
    this.#error = ''
    if (message)
      throw failure('ERR_MPMML_NO_WEBGPU', `WebGPU has refused the work: ${message.split('\n')[0]}`)
  }

  /** Returns a pipeline; `code` is compiled when it is first needed. */
  pipeline(name: string, code: () => string): Promise<GPUComputePipeline> {
    const known = this.#pipelines.get(name)
    if (known) return known
    const module = this.device.createShaderModule({ code: code(), label: name })
    const created = this.device
      .createComputePipelineAsync({ layout: 'auto', compute: { module, entryPoint: 'main' }, label: name })
      .catch((error: Error) => {
        throw failure('ERR_MPMML_NO_WEBGPU', `WebGPU can't compile the kernel ${name}: ${error.message}`)
      })
    this.#pipelines.set(name, created)
    return created
  }

  /** Tests pipelines once. If they are wrong the device computes nothing any more. */
  assertTested(pipelines: string, test: () => Promise<void>): Promise<void> {
    const known = this.#tested.get(pipelines)
    if (known) return known
    const testing = test()
    this.#tested.set(pipelines, testing)
    testing.catch((error: Error & { code?: string }) => {
      if (error.code === 'ERR_MPMML_NO_WEBGPU') this.problem ||= error.message
      else this.#tested.delete(pipelines)
    })
    return testing
  }

  /** Bytes of all buffers, in use or kept for reuse. */
  get reserved(): number {
    return this.used + this.#freeBytes
  }

  /** Limit of a part of a buffer that kernels access, in bytes. */
  get maxBinding(): number {
    const { maxBufferSize, maxStorageBufferBindingSize } = this.device.limits
    return Math.floor(Math.min(maxBufferSize, maxStorageBufferBindingSize) / 256) * 256
  }

  /** Takes a buffer, whose content is undefined. `most`: limit in bytes, that of a binding by default. */
  async take(bytes: number, most: number = this.maxBinding): Promise<GPUBuffer> {
    if (bytes > most) throw tooLarge(bytes, most)
    const size = Math.min(sizeClass(bytes), Math.floor(most / 256) * 256)
    const free = this.#free.get(size)?.pop()
    if (free) this.#freeBytes -= size
    const buffer = free ?? (await this.allocate(size, STORAGE | COPY_SRC | COPY_DST))
    this.used += size
    return buffer
  }

  /** Creates a buffer. If the GPU lacks memory, the free buffers of earlier work are destroyed for it. */
  async allocate(size: number, usage: GPUBufferUsageFlags): Promise<GPUBuffer> {
    const buffer = (await this.#create(size, usage)) ?? (await this.#createAgain(size, usage))
    if (buffer) return buffer
    this.assertUsable()
    throw failure(
      'ERR_MPMML_OUT_OF_MEMORY',
      `the GPU has too little memory for ${mebibytes(size)} MiB more: ${ADVICE}`,
    )
  }

  /** Returns null if the GPU lacks memory. */
  async #create(size: number, usage: GPUBufferUsageFlags): Promise<GPUBuffer | null> {
    this.device.pushErrorScope('out-of-memory')
    const buffer = this.device.createBuffer({ size, usage })
    const error = await this.device.popErrorScope().catch(() => null)
    if (error === null) return buffer
    buffer.destroy()
    return null
  }

  async #createAgain(size: number, usage: GPUBufferUsageFlags): Promise<GPUBuffer | null> {
    for (const buffers of this.#free.values()) for (const buffer of buffers) buffer.destroy()
    this.#free.clear()
    this.#freeBytes = 0
    await this.finished()
    return this.#create(size, usage)
  }

  /** Gives a buffer back, for later work on the queue. A buffer of failed work may be invalid, and is destroyed. */
  give(buffer: GPUBuffer, hasFailed = false): void {
    const { size } = buffer
    this.used -= size
    if (hasFailed || this.isLost || this.#freeBytes + size > MAX_FREE) {
      buffer.destroy()
      return
    }
    this.#freeBytes += size
    const list = this.#free.get(size)
    if (list) list.push(buffer)
    else this.#free.set(size, [buffer])
  }

  /** Runs work with buffers that are given back when it ends. */
  async withBuffers<Result>(work: (take: Take) => Promise<Result>): Promise<Result> {
    const taken: GPUBuffer[] = []
    let hasFailed = true
    try {
      const result = await work(async (bytes, most) => {
        const buffer = await this.take(bytes, most)
        taken.push(buffer)
        return buffer
      })
      hasFailed = false
      return result
    } finally {
      for (const buffer of taken) this.give(buffer, hasFailed)
    }
  }

  /** Operations of a kernel that are submitted at a time. */
  operationsAtOnce(kernel: string): number {
    return (this.#rates.get(kernel) ?? FIRST_RATE) * SUBMISSION_MS
  }

  /** Notes that a kernel took `ms` milliseconds for `operations` operations. Short times count only if the kernel is faster than was known. */
  noteRate(kernel: string, operations: number, ms: number): void {
    const rate = operations / Math.max(ms, 0.05)
    if (ms > 2 || rate > (this.#rates.get(kernel) ?? 0)) this.#rates.set(kernel, rate)
  }

  /** Waits until the queue is empty. */
  async finished(): Promise<void> {
    await this.device.queue.onSubmittedWorkDone().catch(() => {})
    this.assertUsable()
  }
}

const ADVICE = "use smaller matrices, or the backend 'cpu' or 'cuda'"
const mebibytes = (bytes: number) => Math.ceil(bytes / 2 ** 20)

export const tooLarge = (bytes: number, most: number) =>
  failure(
    'ERR_MPMML_OUT_OF_MEMORY',
    `${mebibytes(bytes)} MiB are needed at once, and this GPU gives ${Math.floor(most / 2 ** 20)} MiB: ${ADVICE}`,
  )
