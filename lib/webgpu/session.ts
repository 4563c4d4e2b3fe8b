/** Functions of the addon on a WebGPU device: matrices that stay on it, products and closures. */
import {
  type Addon,
  copyAt,
  memberAt,
  memberFields,
  type NativeDevice,
  type NativeMemory,
  type ReportField,
  reportAt,
  reportFields,
  requestAt,
} from '../native-interface.js'
import type { ElementArray, OperandArray } from '../storage.js'
import { computeClosure } from './closure.js'
import { Gpu, tooLarge } from './device.js'
import { failure, notExact } from './failure.js'
import type { StoredBits } from './kernels/arithmetic.js'
import { floatBits } from './kernels/store.js'
import { type Matrix, multiplyBlocks, type ProductRequest } from './multiply.js'
import { kindOf } from './plan.js'
import {
  contiguous,
  copyElements,
  countOf,
  type GpuView,
  isContiguous,
  type Layout,
  receiver,
  rowMajor,
  type Sizes,
} from './views.js'
import { type GpuDescription, type GpuFunctions, withoutAdapter } from './with-gpu.js'

/** Lists of the addon whose indices requests and reports have. */
export type AddonLists = Pick<
  Addon,
  'semirings' | 'dataTypes' | 'paths' | 'overflowPolicies' | 'variants' | 'backends'
>

/** Settings of {@link gpuFunctions}. */
export interface GpuSettings {
  /** Whether a software adapter may be used (MPMML_WEBGPU_FALLBACK=1): it is slower than the CPU kernels. */
  readonly allowsFallback?: boolean
}

/** Functions of a device, and its end. */
export interface GpuBackend extends GpuFunctions {
  /** Destroys the device and waits for its work, which fails: a thread must not end before. */
  end(): Promise<unknown>
}

/** A device opened by openDevice(). All such devices share one GPUDevice. */
class GpuDevice {
  used = 0
  peak = 0
  isClosed = false
  readonly memories = new Set<GpuMemory>()

  constructor(
    readonly gpu: Gpu,
    readonly maxBytes: number,
  ) {}
}

/** Memory of a device for elements. Its content is undefined at first. */
class GpuMemory {
  static #last = 0
  static readonly #numbered = new Map<number, GpuMemory>()
  readonly number = ++GpuMemory.#last
  readonly buffer: GPUBuffer
  readonly bytes: number

  constructor(
    readonly device: GpuDevice,
    readonly bits: StoredBits,
    count: number,
  ) {
    const { gpu, maxBytes, used, memories } = device
    this.bytes = (count * bits) / 8
    if (maxBytes > 0 && used + this.bytes > maxBytes) throw tooLarge(used + this.bytes, maxBytes)
    this.buffer = gpu.take(this.bytes, gpu.device.limits.maxBufferSize)
    device.used += this.bytes
    device.peak = Math.max(device.peak, device.used)
    memories.add(this)
    GpuMemory.#numbered.set(this.number, this)
  }

  static byNumber(number: number): GpuMemory | undefined {
    return GpuMemory.#numbered.get(number)
  }

  view(layout: Layout): GpuView {
    return { buffer: this.buffer, bits: this.bits, ...layout }
  }

  /** Excludes the memory from the used bytes at once, and gives the buffer back after the work that uses it. Idempotent. */
  release(hasFailed = false): void {
    const { device, buffer, bytes, number } = this
    if (!device.memories.delete(this)) return
    GpuMemory.#numbered.delete(number)
    device.used -= bytes
    device.gpu.idle().then(() => device.gpu.give(buffer, hasFailed))
  }
}

/** Positions of the fields of a layout. */
type LayoutAt = (typeof requestAt)['a']
type MatrixName = 'a' | 'b' | 'c' | 'c0' | 'witness'

const layoutAt = (fields: Float64Array, at: LayoutAt, base = 0): Layout => ({
  offset: fields[base + at.offset]!,
  batchStride: fields[base + at.batchStride]!,
  rowStride: fields[base + at.rowStride]!,
  colStride: fields[base + at.colStride]!,
})

const sizesOf = (request: Float64Array): Sizes => ({
  batch: request[copyAt.batch]!,
  rows: request[copyAt.rows]!,
  cols: request[copyAt.cols]!,
})

const memoryOf = (memory: NativeMemory) => memory as unknown as GpuMemory
const matrixOf = (data: unknown, layout: Layout): Matrix =>
  data instanceof GpuMemory ? { view: data.view(layout) } : { array: data as OperandArray, layout }

function deviceOf(handle: NativeDevice): GpuDevice {
  const device = handle as unknown as GpuDevice
  if (device.isClosed) throw failure('ERR_MPMML_DISPOSED', 'the WebGPU device has been closed')
  return device
}

/** Returns a function that throws AbortedError when the flag is set. */
const watch = (cancel: Int32Array) => () => {
  if (cancel[0] !== 0) throw failure('ERR_MPMML_ABORTED', 'the work was aborted')
}

/** Runs work that makes memories, which are released if it fails. Returns the memory, or all of them if there are several. */
async function making(
  device: GpuDevice | null,
  work: (make: (bits: StoredBits, count: number) => GpuMemory) => Promise<void>,
): Promise<never> {
  const allocated: GpuMemory[] = []
  try {
    await work((bits, count) => {
      const memory = new GpuMemory(device!, bits, count)
      allocated.push(memory)
      return memory
    })
  } catch (error) {
    for (const memory of allocated) memory.release(true)
    throw error
  }
  return (allocated.length > 1 ? allocated : allocated[0]) as never
}

const software = /swiftshader|llvmpipe|lavapipe|basic render|software/i

/**
 * Returns the functions of a WebGPU device.
 *
 * @param findGpu - gives `navigator.gpu`, or that of the package `webgpu`; null if there is none. Called when WebGPU is first needed.
 */
export function gpuFunctions(
  lists: AddonLists,
  findGpu: () => Promise<GPU | null>,
  settings: GpuSettings = {},
): GpuBackend {
  let allowsFallback = settings.allowsFallback ?? false
  let opening: Promise<Gpu> | null = null
  let adapterFound: GpuDescription['adapter'] = null
  const backend = (lists.backends as readonly string[]).indexOf('webgpu')

  /** Returns the device, which is opened on first use and after a loss. */
  async function open(): Promise<Gpu> {
    const current = opening
    const gpu = await current?.catch(() => null)
    if (gpu && !gpu.isLost) return gpu
    // Another call may have begun to open it meanwhile.
    if (opening === current) opening = start()
    return opening!
  }

  async function start(): Promise<Gpu> {
    const unusable = (why: string) => failure('ERR_MPMML_NO_WEBGPU', `WebGPU can't be used: ${why}`)
    const found = await findGpu().catch((error: Error) => {
      throw unusable(error.message)
    })
    if (!found) throw unusable('this host has no WebGPU')
    const adapter = await found.requestAdapter({ powerPreference: 'high-performance' })
    if (!adapter) throw unusable('no adapter was found')
    const { vendor, architecture, device, description, isFallbackAdapter } = adapter.info
    const isFallback = isFallbackAdapter || software.test(`${device} ${description} ${architecture}`)
    adapterFound = { vendor, architecture, device, description, isFallback }
    if (isFallback && !allowsFallback) {
      throw unusable(
        `the only adapter is software, ${description || device || architecture}, which is slower than the CPU backend (set MPMML_WEBGPU_FALLBACK=1 to use it)`,
      )
    }
    return Gpu.open(adapter).catch((error: Error) => {
      throw unusable(error.message)
    })
  }

  const run = async <Result>(device: GpuDevice | null, work: (gpu: Gpu) => Promise<Result>) => {
    const gpu = device?.gpu ?? (await open())
    return gpu.run(() => work(gpu))
  }

  const kindAt = (request: Float64Array) =>
    kindOf(lists.semirings[request[requestAt.semiring]!]!.name, lists.dataTypes[request[requestAt.dtype]!]!)

  /** Reads a request, or a member of a group whose other fields are those of `request`. */
  function readProduct(
    request: Float64Array,
    [fields, at, base]: [fields: Float64Array, at: typeof memberAt, base: number],
    [reports, reportBase]: [reports: Float64Array, base: number],
    matrix: (name: MatrixName, layout: Layout, sizes: Sizes) => Matrix | null,
  ): ProductRequest {
    const field = (position: number) => fields[base + position]!
    if (field(at.structured) !== 0) throw notExact('products with the option structure')
    const report = (name: ReportField, value: number) => {
      reports[reportBase + reportAt[name]] = value
    }
    for (const name of [
      'totalMs',
      'kernelMs',
      'analysisMs',
      'h2dMs',
      'd2hMs',
      'devices',
      'stepsDone',
      'steps',
    ] as const)
      report(name, 0)
    report('backend', backend)
    report('device', -1)
    const [batch, m, n, k] = [field(at.batch), field(at.m), field(at.n), field(at.k)]
    const sizes = { batch, rows: m, cols: n }
    const get = (name: MatrixName) => matrix(name, layoutAt(fields, at[name], base), sizes)
    return {
      ...{ kind: kindAt(request), batch, m, n, k, report },
      ...{ a: get('a')!, b: get('b')!, c: get('c'), c0: get('c0'), witness: get('witness') },
      policy: request[requestAt.overflow]!,
      variant: request[requestAt.variant]!,
      asksWitness: request[requestAt.asksWitness] !== 0,
      maxBytes: request[requestAt.deviceMemory]!,
    }
  }

  return {
    async describeGpu(allows?: boolean): Promise<GpuDescription> {
      allowsFallback ||= allows ?? false
      try {
        const { device, roundsToNearest, problem } = await open()
        const { maxBufferSize, maxStorageBufferBindingSize, maxComputeWorkgroupStorageSize } = device.limits
        const limits = { maxBufferSize, maxStorageBufferBindingSize, maxComputeWorkgroupStorageSize }
        return { adapter: adapterFound, limits, roundsToNearest, reason: problem }
      } catch (error) {
        return { ...withoutAdapter((error as Error).message), adapter: adapterFound }
      }
    },

    async end() {
      const gpu = await opening?.catch(() => null)
      gpu?.device.destroy()
      await gpu?.idle()
    },

    handleKind(handle) {
      if (handle instanceof GpuDevice) return 'device'
      return handle instanceof GpuMemory ? 'memory' : ''
    },

    async openDevice(deviceMemory) {
      const gpu = await open()
      gpu.assertUsable()
      return new GpuDevice(gpu, deviceMemory) as unknown as NativeDevice
    },

    describeDevice(handle) {
      const { gpu } = handle as unknown as GpuDevice
      return { backend, index: -1, name: gpu.name, devices: 0, all: false }
    },

    memoryUse(handle) {
      const { used, peak, gpu, maxBytes } = deviceOf(handle)
      const total = maxBytes || gpu.device.limits.maxBufferSize
      return { used, reserved: gpu.reserved, peak, free: Math.max(0, total - gpu.used), total }
    },

    async closeDevice(handle) {
      const device = deviceOf(handle)
      device.isClosed = true
      await device.gpu.idle()
      for (const memory of device.memories) memory.release()
    },

    async upload(handle, array, request, cancel) {
      const device = deviceOf(handle)
      const [sizes, layout] = [sizesOf(request), layoutAt(request, copyAt.array)]
      if (array instanceof Float64Array) kindOf('max-plus', 'float64')
      return run(device, (gpu) =>
        making(device, async (make) => {
          const { buffer } = make((array.BYTES_PER_ELEMENT * 8) as StoredBits, countOf(sizes))
          await gpu.transfers.write(rowMajor(array, layout, sizes), buffer, watch(cancel))
          await gpu.assertValid()
        }),
      )
    },

    async download(handle, memory, array, request, cancel) {
      const device = deviceOf(handle)
      const [sizes, layout] = [sizesOf(request), layoutAt(request, copyAt.array)]
      const view = memoryOf(memory).view(layoutAt(request, copyAt.memory))
      return run(device, (gpu) =>
        gpu.withBuffers(async (take) => {
          const bytes = array.BYTES_PER_ELEMENT
          let [buffer, at] = [view.buffer, view.offset * bytes]
          if (!isContiguous(view, sizes) || at % 4 !== 0) {
            ;[buffer, at] = [take(countOf(sizes) * bytes, gpu.device.limits.maxBufferSize), 0]
            const to = { buffer, bits: view.bits, ...contiguous(sizes) }
            await copyElements(gpu, { kind: 'copy', bits: view.bits }, to, view, sizes)
          }
          const { into, finish } = receiver(array as ElementArray, layout, sizes)
          await gpu.transfers.read([{ buffer, at, into, before: () => gpu.assertValid() }], watch(cancel))
          finish()
        }),
      )
    },

    async fill(handle, request) {
      const device = deviceOf(handle)
      const [sizes, value] = [sizesOf(request), request[copyAt.value]!]
      const dtype = lists.dataTypes[request[copyAt.dtype]!]!
      if (dtype === 'float64') kindOf('max-plus', dtype)
      return run(device, (gpu) =>
        making(device, async (make) => {
          const bits = dtype === 'uint8' ? 8 : 32
          const view = make(bits, countOf(sizes)).view(contiguous(sizes))
          const stored = dtype === 'float32' ? floatBits(value) : value
          await copyElements(gpu, { kind: 'fill', bits }, view, null, sizes, stored)
          await gpu.assertValid()
        }),
      )
    },

    async combine(handle, c, d, request) {
      const device = deviceOf(handle)
      const sizes = {
        batch: request[requestAt.batch]!,
        rows: request[requestAt.m]!,
        cols: request[requestAt.n]!,
      }
      const { semiring, isFloat } = kindAt(request)
      const to = memoryOf(c).view(layoutAt(request, requestAt.c))
      const source = memoryOf(d).view(layoutAt(request, requestAt.b))
      const what = { kind: 'combine', bits: to.bits, from: source.bits, semiring, isFloat } as const
      return run(device, (gpu) => copyThrough(gpu, to, source, sizes, what))
    },

    async copyMatrix(handle, source, to, request) {
      const device = deviceOf(handle)
      const sizes = sizesOf(request)
      const view = memoryOf(source).view(layoutAt(request, copyAt.memory))
      const target = memoryOf(to).view(layoutAt(request, copyAt.array))
      return run(device, (gpu) => copyThrough(gpu, target, view, sizes, { kind: 'copy', bits: view.bits }))
    },

    async closeMatrix(handle, matrix, out, inPlace, reflexive, wantsNext, request, report, cancel) {
      const device = deviceOf(handle)
      const [batch, n] = [request[requestAt.batch]!, request[requestAt.n]!]
      const { semiring, dtype } = kindAt(request)
      if (dtype !== 'int32') throw notExact(`closures of ${dtype}`)
      const weights = memoryOf(matrix).view(layoutAt(request, requestAt.a))
      const target = out && memoryOf(out).view(layoutAt(request, requestAt.c))
      const [check, started] = [watch(cancel), performance.now()]
      report[reportAt.gain] = -1
      report[reportAt.backend] = backend
      return run(device, (gpu) =>
        making(device, async (make) => {
          check()
          const layout = contiguous({ batch, rows: n, cols: n })
          const distances = target ?? (inPlace ? weights : make(32, batch * n * n).view(layout))
          const next = wantsNext ? make(32, batch * n * n).buffer : null
          const progress = (steps: number) => {
            report[reportAt.stepsDone]! += steps
          }
          const task = { semiring, batch, n, reflexive, weights, distances, next, check, progress }
          const { gain, kernelMs } =
            batch * n > 0 ? await computeClosure(gpu, task) : { gain: -1, kernelMs: 0 }
          report[reportAt.kernelMs] = kernelMs
          report[reportAt.totalMs] = performance.now() - started
          await gpu.assertValid()
          report[reportAt.gain] = gain
          if (gain >= 0) throw failure('ERR_MPMML_CYCLE', 'a cycle gains')
        }),
      )
    },

    memoryNumber: (memory) => memoryOf(memory).number,

    release: (memory) => memoryOf(memory).release(),

    async multiply(a, b, c, c0, request, report, cancel, handle, auxiliary) {
      const device = handle ? deviceOf(handle) : null
      const fields = request.slice()
      const isComputed = fields[requestAt.planOnly] === 0
      const isNew = {
        a: false,
        b: false,
        c: isComputed,
        c0: false,
        witness: isComputed && fields[requestAt.asksWitness] !== 0,
      }
      const given = { a, b, c, c0, witness: auxiliary?.[0] }
      return run(device, (gpu) =>
        making(device, async (make) => {
          const bits = { c: kindAt(fields).bits, witness: 32 } as const
          const product = readProduct(fields, [fields, requestAt, 0], [report, 0], (name, layout, sizes) => {
            if (given[name]) return matrixOf(given[name], layout)
            if (!isNew[name]) return null
            return { view: make(bits[name as 'c'], countOf(sizes)).view(contiguous(sizes)), isNew: true }
          })
          await multiplyBlocks(gpu, lists, watch(cancel), product)
        }),
      )
    },

    async multiplyGroup(arrays, request, members, reports, cancel, handle) {
      const device = handle ? deviceOf(handle) : null
      const [common, fields, stride] = [request.slice(), members.slice(), memberFields.length]
      const bases = Array.from({ length: fields.length / stride }, (_, index) => index * stride)
      const check = watch(cancel)
      const asksWitness = common[requestAt.asksWitness] !== 0
      const placeOf = (name: MatrixName, base: number) => fields[base + memberAt[`${name}Memory`]]!
      // Found now, because a memory may be released before the group's turn.
      const names = ['a', 'b', 'c', 'c0', 'witness'] as const
      const memories = new Map(
        bases.flatMap((base) =>
          names.map((name) => [placeOf(name, base), GpuMemory.byNumber(placeOf(name, base))]),
        ),
      )
      /** Elements of the memory for results that have no place, which follow each other. */
      const lengthFor = (name: 'c' | 'witness') =>
        bases
          .filter((base) => placeOf(name, base) === 0)
          .map((base) => {
            const field = (at: number) => fields[base + at]!
            return (
              field(memberAt[name].offset) + field(memberAt.batch) * field(memberAt.m) * field(memberAt.n)
            )
          })
          .reduce((longest, length) => Math.max(longest, length), -1)
      return run(device, (gpu) =>
        making(device, async (make) => {
          const allocated: Partial<Record<MatrixName, GpuMemory>> = {}
          if (device && lengthFor('c') >= 0) allocated.c = make(kindAt(common).bits, lengthFor('c'))
          if (device && asksWitness && lengthFor('witness') >= 0)
            allocated.witness = make(32, lengthFor('witness'))
          for (const [index, base] of bases.entries()) {
            const at = [fields, memberAt, base] as [Float64Array, typeof memberAt, number]
            try {
              check()
              const product = readProduct(
                common,
                at,
                [reports, index * reportFields.length],
                (name, layout, sizes) => {
                  const position = placeOf(name, base)
                  if (name === 'witness' && !asksWitness) return null
                  if (position !== 0)
                    return matrixOf(position < 0 ? arrays[-1 - position] : memories.get(position), layout)
                  const memory = allocated[name]
                  return memory ? { view: memory.view(contiguous(sizes, layout.offset)), isNew: true } : null
                },
              )
              await multiplyBlocks(gpu, lists, check, product)
            } catch (error) {
              if (error instanceof Error) error.message = `product ${index}: ${error.message}`
              throw error
            }
          }
        }),
      )
    },

    cancelWork(cancel) {
      cancel[0] = 1
    },
  }
}

/** Applies `what`, by way of a copy if both matrices are in one buffer. */
async function copyThrough(
  gpu: Gpu,
  to: GpuView,
  source: GpuView,
  sizes: Sizes,
  what: Parameters<typeof copyElements>[1],
): Promise<void> {
  await gpu.withBuffers(async (take) => {
    let view = source
    if (to.buffer === source.buffer) {
      const { bits } = source
      const bytes = (countOf(sizes) * bits) / 8
      view = { buffer: take(bytes, gpu.device.limits.maxBufferSize), bits, ...contiguous(sizes) }
      await copyElements(gpu, { kind: 'copy', bits }, view, source, sizes)
    }
    await copyElements(gpu, what, to, view, sizes)
    await gpu.assertValid()
  })
}
