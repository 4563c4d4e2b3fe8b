/** Wrapper of a GPUDevice: reused buffers, pipelines, error scopes, and transfers through mapped memory. */
import { failure } from './failure.js'
import { ROUNDING_PROBE, roundingCases, roundsToNearest } from './probe.js'

/** Workgroups of a dispatch in each dimension. */
export type Groups = readonly [x: number, y?: number, z?: number]

/** A dispatch with its buffers. */
export interface Dispatch {
  readonly pipeline: GPUComputePipeline
  readonly group: GPUBindGroup
  readonly groups: Groups
}

export const roundUp = (value: number, multiple: number): number => Math.ceil(value / multiple) * multiple

// Numbers of the flags, because GPUBufferUsage is a global only in browsers.
const [MAP_READ, MAP_WRITE, COPY_SRC, COPY_DST, UNIFORM, STORAGE, QUERY_RESOLVE] = [1, 2, 4, 8, 64, 128, 512]
const MODE_READ = 1
const MODE_WRITE = 2

/** Bytes that are copied at a time between arrays and mapped buffers, and buffers of that size that are kept for each direction. */
const CHUNK = 2 ** 23
const MAX_STAGING = 8
/** Arrays up to this size are copied by writeBuffer, which makes a copy of its own. */
const SMALL = 2 ** 18
/** Bytes of free buffers that are kept for the next products. */
const MAX_SPARE = 2 ** 32
const errorFilters = ['validation', 'internal', 'out-of-memory'] as const satisfies readonly GPUErrorFilter[]
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
  readonly encoder: GPUCommandEncoder
  readonly #uniforms = new Int32Array((MAX_DISPATCHES * UNIFORM_BYTES) / 4)
  #used = 0
  #pass: GPUComputePassEncoder | null = null

  constructor(readonly gpu: Gpu) {
    this.encoder = gpu.device.createCommandEncoder()
  }

  /** Encodes a dispatch. `buffers` are storage buffers by their binding; `uniforms`, at most 64 words, are at `uniformAt`. */
  dispatch(
    pipeline: GPUComputePipeline,
    buffers: Readonly<Record<number, GPUBuffer>>,
    uniformAt: number,
    uniforms: readonly number[],
    groups: Groups,
  ): void {
    const [x, y = 1, z = 1] = groups
    if (x * y * z > 0) this.repeat(this.prepare(pipeline, buffers, uniformAt, uniforms, groups))
  }

  /** A dispatch that may be encoded several times in this recording. */
  prepare(
    pipeline: GPUComputePipeline,
    buffers: Readonly<Record<number, GPUBuffer>>,
    uniformAt: number,
    uniforms: readonly number[],
    groups: Groups,
  ): Dispatch {
    const { device, uniformBuffer } = this.gpu
    const offset = this.#used++ * UNIFORM_BYTES
    for (const [index, word] of uniforms.entries()) this.#uniforms[offset / 4 + index] = word
    const entries: GPUBindGroupEntry[] = Object.entries(buffers).map(([binding, buffer]) => ({
      binding: Number(binding),
      resource: { buffer },
    }))
    entries.push({ binding: uniformAt, resource: { buffer: uniformBuffer, offset, size: UNIFORM_BYTES } })
    return {
      pipeline,
      group: device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }),
      groups,
    }
  }

  repeat({ pipeline, group, groups }: Dispatch): void {
    this.#pass ??= this.encoder.beginComputePass()
    this.#pass.setPipeline(pipeline)
    this.#pass.setBindGroup(0, group)
    this.#pass.dispatchWorkgroups(...groups)
  }

  copy(from: GPUBuffer, fromAt: number, to: GPUBuffer, toAt: number, bytes: number): void {
    this.endPass()
    if (bytes > 0) this.encoder.copyBufferToBuffer(from, fromAt, to, toAt, roundUp(bytes, 4))
  }

  /** Begins a pass that writes the device's timestamps at its start and its end. */
  beginTimed(): void {
    this.endPass()
    const { timestamps: querySet } = this.gpu
    if (!querySet) return
    const timestampWrites = { querySet, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 }
    this.#pass = this.encoder.beginComputePass({ timestampWrites })
  }

  /** Copies both timestamps to a buffer. */
  copyMarks(to: GPUBuffer, at: number): void {
    this.endPass()
    const { timestamps, resolved } = this.gpu
    if (!timestamps || !resolved) return
    this.encoder.resolveQuerySet(timestamps, 0, 2, resolved, 0)
    this.copy(resolved, 0, to, at, 16)
  }

  endPass(): void {
    this.#pass?.end()
    this.#pass = null
  }

  submit(): void {
    this.endPass()
    const { queue } = this.gpu.device
    if (this.#used > 0)
      queue.writeBuffer(this.gpu.uniformBuffer, 0, this.#uniforms, 0, (this.#used * UNIFORM_BYTES) / 4)
    queue.submit([this.encoder.finish()])
  }
}

/** Bytes that are copied from a buffer to an array. */
export interface ReadPart {
  readonly buffer: GPUBuffer
  readonly at: number
  readonly into: ArrayBufferView
  /** Called before the first byte is written to the array; may throw. */
  readonly before?: (() => Promise<void>) | undefined
}

/** Free buffers by their size. */
class Pool {
  readonly #free = new Map<number, GPUBuffer[]>()
  bytes = 0

  take(size: number): GPUBuffer | undefined {
    const buffer = this.#free.get(size)?.pop()
    if (buffer) this.bytes -= size
    return buffer
  }

  give(buffer: GPUBuffer): void {
    this.bytes += buffer.size
    const list = this.#free.get(buffer.size)
    if (list) list.push(buffer)
    else this.#free.set(buffer.size, [buffer])
  }

  clear(): void {
    for (const buffers of this.#free.values()) for (const buffer of buffers) buffer.destroy()
    this.#free.clear()
    this.bytes = 0
  }
}

/** Sizes of buffers: an eighth of a power of two apart, so that products of similar sizes find the buffers of earlier ones. */
function sizeClass(bytes: number): number {
  const step = Math.max(256, 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(bytes, 1))) - 3))
  return roundUp(Math.max(bytes, 16), step)
}

/** A device and its adapter. */
export class Gpu {
  readonly device: GPUDevice
  readonly uniformBuffer: GPUBuffer
  readonly timestamps: GPUQuerySet | null
  readonly resolved: GPUBuffer | null
  readonly #pipelines = new Map<string, Promise<GPUComputePipeline>>()
  readonly #pool = new Pool()
  readonly #writable: GPUBuffer[] = []
  readonly #readable: GPUBuffer[] = []
  #writableCount = 0
  #turn: Promise<unknown> = Promise.resolve()
  /** Operations per millisecond, by kernel. */
  readonly #rates = new Map<string, number>()
  #error = ''
  /** Bytes of buffers in use. */
  used = 0
  peak = 0
  roundsToNearest = false
  /** Reason why the device can no longer compute; '' if it can. */
  problem = ''
  isLost = false

  private constructor(
    readonly adapter: GPUAdapter,
    device: GPUDevice,
  ) {
    this.device = device
    const hasTimestamps = device.features.has('timestamp-query')
    this.uniformBuffer = device.createBuffer({
      size: MAX_DISPATCHES * UNIFORM_BYTES,
      usage: UNIFORM | COPY_DST,
    })
    this.timestamps = hasTimestamps ? device.createQuerySet({ type: 'timestamp', count: 2 }) : null
    this.resolved = hasTimestamps ? device.createBuffer({ size: 16, usage: QUERY_RESOLVE | COPY_SRC }) : null
    device.lost.then(({ message, reason }) => {
      this.isLost = true
      this.problem ||= `the WebGPU device was lost (${reason || 'unknown'})${message && `: ${message.split('\n')[0]}`}`
    })
    device.onuncapturederror = ({ error }) => {
      this.#error ||= error.message
    }
  }

  /** Name of the GPU for messages. */
  get name(): string {
    const { vendor, architecture, device, description } = this.adapter.info
    return description || device || [vendor, architecture].filter((part) => part !== '').join(' ') || 'a GPU'
  }

  /** Creates a device from an adapter and probes its float32 rounding. */
  static async open(adapter: GPUAdapter): Promise<Gpu> {
    const requiredFeatures: GPUFeatureName[] = adapter.features.has('timestamp-query')
      ? ['timestamp-query']
      : []
    const requiredLimits = Object.fromEntries(wantedLimits.map((name) => [name, adapter.limits[name]]))
    const device = await adapter.requestDevice({ requiredLimits, requiredFeatures })
    const gpu = new Gpu(adapter, device)
    gpu.roundsToNearest = await gpu.run(() => gpu.#probe())
    return gpu
  }

  async #probe(): Promise<boolean> {
    const pairs = roundingCases()
    const [from, to] = [this.take(pairs.byteLength), this.take(pairs.byteLength / 2)]
    await this.write(pairs, from)
    const recording = new Recording(this)
    const pipeline = await this.pipeline('probe', () => ROUNDING_PROBE)
    recording.dispatch(pipeline, { 0: from, 1: to }, 2, [pairs.length / 2], [pairs.length / 128])
    recording.submit()
    const sums = new Float32Array(pairs.length / 2)
    await this.read([{ buffer: to, at: 0, into: sums }])
    this.give(from, to)
    return roundsToNearest(pairs, sums)
  }

  /** Throws unless the device can compute. */
  assertUsable(): void {
    if (this.problem === '') return
    throw failure(this.isLost ? 'ERR_MPMML_DEVICE_LOST' : 'ERR_MPMML_NO_WEBGPU', this.problem)
  }

  /**
   * Runs work after all that was started before, in error scopes: invalid commands throw nothing and compute nothing. Before the work
   * writes its results it must await {@link assertValid}.
   */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(() => this.#scoped(work))
    this.#turn = result.catch(() => {})
    return result
  }

  /** Resolves when all that was started before has ended. */
  idle(): Promise<unknown> {
    return this.#turn
  }

  async #scoped<Result>(work: () => Promise<Result>): Promise<Result> {
    this.assertUsable()
    this.#pushScopes()
    try {
      return await work()
    } finally {
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
    if (!message) return
    // Scopes end in the order opposite to the one in which they began.
    const isShort = errors[errors.length - 1 - errorFilters.indexOf('out-of-memory')] !== null
    if (isShort) this.#pool.clear()
    throw isShort
      ? failure('ERR_MPMML_OUT_OF_MEMORY', `the GPU has too little memory: ${message.split('\n')[0]}`)
      : failure('ERR_MPMML_NO_WEBGPU', `WebGPU has refused the work: ${message.split('\n')[0]}`)
  }

  /** Returns a pipeline; `code` is compiled when it is first needed. */
  pipeline(name: string, code: () => string): Promise<GPUComputePipeline> {
    const known = this.#pipelines.get(name)
    if (known) return known
    const module = this.device.createShaderModule({ code: code(), label: name })
    const made = this.device
      .createComputePipelineAsync({ layout: 'auto', compute: { module, entryPoint: 'main' }, label: name })
      .catch(async (error: Error) => {
        const { messages } = await module.getCompilationInfo()
        const text =
          messages.map(({ lineNum, message }) => `${lineNum}: ${message}`).join('; ') || error.message
        throw failure('ERR_MPMML_NO_WEBGPU', `WebGPU can't compile the kernel ${name}: ${text}`)
      })
    this.#pipelines.set(name, made)
    return made
  }

  readonly #tested = new Map<string, Promise<void>>()

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
    return this.used + this.#pool.bytes
  }

  /** Limit of one buffer in bytes. */
  get mostPerBuffer(): number {
    const { maxBufferSize, maxStorageBufferBindingSize } = this.device.limits
    return Math.floor(Math.min(maxBufferSize, maxStorageBufferBindingSize) / 256) * 256
  }

  /** Takes a storage buffer of at least `bytes` bytes. Its content is undefined. */
  take(bytes: number): GPUBuffer {
    const size = sizeClass(bytes)
    const most = this.mostPerBuffer
    if (bytes > most) throw tooLarge(bytes, most)
    const fitting = Math.min(size, most)
    const buffer =
      this.#pool.take(fitting) ??
      this.device.createBuffer({ size: fitting, usage: STORAGE | COPY_SRC | COPY_DST })
    this.used += buffer.size
    this.peak = Math.max(this.peak, this.used)
    return buffer
  }

  /** Gives buffers back, for later work on the queue. */
  give(...buffers: (GPUBuffer | null | undefined)[]): void {
    for (const buffer of buffers) {
      if (!buffer) continue
      this.used -= buffer.size
      if (this.isLost || this.#pool.bytes + buffer.size > MAX_SPARE) buffer.destroy()
      else this.#pool.give(buffer)
    }
  }

  /** Copies the bytes of an array to a buffer; `check` is called between parts. */
  async write(array: ArrayBufferView, buffer: GPUBuffer, check?: () => void): Promise<void> {
    const bytes = new Uint8Array(array.buffer as ArrayBuffer, array.byteOffset, array.byteLength)
    const { queue } = this.device
    if (bytes.length <= SMALL) {
      const whole = bytes.length & ~3
      if (whole > 0) queue.writeBuffer(buffer, 0, bytes, 0, whole)
      if (whole === bytes.length) return
      const rest = new Uint8Array(4)
      rest.set(bytes.subarray(whole))
      queue.writeBuffer(buffer, whole, rest)
      return
    }
    for (let at = 0; at < bytes.length; at += CHUNK) {
      check?.()
      const part = bytes.subarray(at, at + CHUNK)
      const staging = await this.#takeWritable()
      new Uint8Array(staging.getMappedRange()).set(part)
      staging.unmap()
      const encoder = this.device.createCommandEncoder()
      encoder.copyBufferToBuffer(staging, 0, buffer, at, roundUp(part.length, 4))
      queue.submit([encoder.finish()])
      this.#giveWritable(staging)
    }
  }

  readonly #waiting: ((buffer: GPUBuffer) => void)[] = []

  async #takeWritable(): Promise<GPUBuffer> {
    const ready = this.#writable.pop()
    if (ready) return ready
    if (this.#writableCount < MAX_STAGING) {
      this.#writableCount++
      return this.device.createBuffer({ size: CHUNK, usage: MAP_WRITE | COPY_SRC, mappedAtCreation: true })
    }
    const mapped = new Promise<GPUBuffer>((resolve) => this.#waiting.push(resolve))
    await Promise.race([mapped, this.device.lost])
    this.assertUsable()
    return mapped
  }

  /** Returns a mapped buffer to the pool when the copies from it have ended. */
  #giveWritable(buffer: GPUBuffer): void {
    buffer.mapAsync(MODE_WRITE).then(
      () => {
        const next = this.#waiting.shift()
        if (next) next(buffer)
        else this.#writable.push(buffer)
      },
      () => {},
    )
  }

  /** Copies from buffers into arrays. All is submitted before this waits, as far as mapped buffers suffice. */
  async read(parts: readonly ReadPart[], check?: () => void): Promise<void> {
    const chunks = parts.flatMap(({ buffer, at, into, before }) => {
      const count = Math.ceil(into.byteLength / CHUNK)
      return Array.from({ length: count }, (_, index) => {
        const from = index * CHUNK
        const bytes = Math.min(CHUNK, into.byteLength - from)
        return {
          buffer,
          at: at + from,
          before: index === 0 ? before : undefined,
          target: new Uint8Array(into.buffer as ArrayBuffer, into.byteOffset + from, bytes),
        }
      })
    })
    const begun: {
      target: Uint8Array
      staging: GPUBuffer
      mapped: Promise<void>
      before: ReadPart['before']
    }[] = []
    let next = 0
    const begin = () => {
      const { buffer, at, target, before } = chunks[next++]!
      const size = roundUp(target.length, 4)
      const staging =
        this.#takeReadable(size) ??
        this.device.createBuffer({ size: sizeClass(size), usage: MAP_READ | COPY_DST })
      const encoder = this.device.createCommandEncoder()
      encoder.copyBufferToBuffer(buffer, at, staging, 0, size)
      this.device.queue.submit([encoder.finish()])
      const mapped = staging.mapAsync(MODE_READ, 0, size)
      mapped.catch(() => {})
      begun.push({ target, staging, mapped, before })
    }
    while (next < Math.min(chunks.length, MAX_STAGING)) begin()
    for (let index = 0; index < begun.length; index++) {
      const { target, staging, mapped, before } = begun[index]!
      check?.()
      await before?.()
      await mapped.catch((error: Error) => {
        this.assertUsable()
        throw failure('ERR_MPMML_DEVICE_LOST', `a result can't be read from the GPU: ${error.message}`)
      })
      target.set(new Uint8Array(staging.getMappedRange(0, roundUp(target.length, 4)), 0, target.length))
      staging.unmap()
      if (this.#readable.length < 2 * MAX_STAGING) this.#readable.push(staging)
      else staging.destroy()
      if (next < chunks.length) begin()
    }
  }

  #takeReadable(size: number): GPUBuffer | undefined {
    const index = this.#readable.findIndex(
      (buffer) => buffer.size >= size && buffer.size <= Math.max(4 * size, 4096),
    )
    return index < 0 ? undefined : this.#readable.splice(index, 1)[0]
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
    await Promise.race([this.device.queue.onSubmittedWorkDone(), this.device.lost])
    this.assertUsable()
  }

  destroy(): void {
    this.device.destroy()
  }
}

export const tooLarge = (bytes: number, most: number) =>
  failure(
    'ERR_MPMML_OUT_OF_MEMORY',
    `${Math.ceil(bytes / 2 ** 20)} MiB are needed at once, and this GPU gives ${Math.floor(most / 2 ** 20)} MiB: compute with smaller matrices`,
  )
