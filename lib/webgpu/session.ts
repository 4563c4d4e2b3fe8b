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
import { Gpu, type Take, tooLarge } from './device.js'
import { failure, notExact } from './failure.js'
import type { StoredBits } from './kernels/arithmetic.js'
import type { Elementwise } from './kernels/elementwise.js'
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
  takeView,
} from './views.js'
import { type GpuDescription, type GpuFunctions, withoutAdapter } from './with-gpu.js'

/** Lists of the addon whose indices requests and reports have. */
type AddonLists = Pick<
  Addon,
  'semirings' | 'dataTypes' | 'paths' | 'overflowPolicies' | 'variants' | 'backends'
>

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

/** Positions of the sizes of a result. */
type ResultAt = Pick<typeof requestAt, 'batch' | 'm' | 'n'>
/** Positions of the fields of a layout. */
type LayoutAt = (typeof requestAt)['a']
const matrixNames = ['a', 'b', 'c', 'c0', 'witness'] as const
type MatrixName = (typeof matrixNames)[number]

const layoutAt = (fields: Float64Array, at: LayoutAt): Layout => ({
  offset: fields[at.offset]!,
  batchStride: fields[at.batchStride]!,
  rowStride: fields[at.rowStride]!,
  colStride: fields[at.colStride]!,
})

/** Returns the sizes of the result of a product. */
const resultSizes = (fields: Float64Array, at: ResultAt): Sizes => ({
  batch: fields[at.batch]!,
  rows: fields[at.m]!,
  cols: fields[at.n]!,
})

const sizesOf = (request: Float64Array): Sizes => ({
  batch: request[copyAt.batch]!,
  rows: request[copyAt.rows]!,
  cols: request[copyAt.cols]!,
})

const memoryOf = (memory: NativeMemory) => memory as unknown as GpuMemory
const viewOf = (memory: NativeMemory, request: Float64Array, at: LayoutAt): GpuView =>
  memoryOf(memory).view(layoutAt(request, at))
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

type Make = (bits: StoredBits, count: number) => GpuMemory

const software = /swiftshader|llvmpipe|lavapipe|basic render|software/i

/**
 * Returns the functions of a WebGPU device.
 *
 * @param findGpu - gives `navigator.gpu`, or that of the package `webgpu`; null if there is none. Called when WebGPU is first needed.
 * @param allowsFallback - whether a software adapter may be used (MPMML_WEBGPU_FALLBACK=1): it is slower than the CPU kernels.
 */
export function gpuFunctions(
  lists: AddonLists,
  findGpu: () => Promise<GPU | null>,
  allowsFallback = false,
): GpuBackend {
  let mayFallBack = allowsFallback
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
    if (isFallback && !mayFallBack) {
      throw unusable(
        `the only adapter is software, ${description || device || architecture}, which is slower than the CPU backend (set MPMML_WEBGPU_FALLBACK=1 to use it)`,
      )
    }
    return Gpu.open(adapter).catch((error: Error) => {
      throw unusable(error.message)
    })
  }

  const run = async <Result>(
    device: GpuDevice | null,
    work: (gpu: Gpu) => Promise<Result>,
    isRepeatable = true,
  ) => {
    const gpu = device?.gpu ?? (await open())
    return gpu.run(() => work(gpu), isRepeatable)
  }

  /** Runs work that makes memories, which are released if it fails. Returns the memory, or all of them if there are several. */
  const runMaking = (
    device: GpuDevice | null,
    work: (gpu: Gpu, make: Make) => Promise<void>,
    isRepeatable = true,
  ) => {
    const making = async (gpu: Gpu) => {
      const made: GpuMemory[] = []
      try {
        await work(gpu, (bits, count) => {
          const memory = new GpuMemory(device!, bits, count)
          made.push(memory)
          return memory
        })
      } catch (error) {
        for (const memory of made) memory.release(true)
        throw error
      }
      return (made.length > 1 ? made : made[0]) as never
    }
    return run(device, making, isRepeatable)
  }

  const kindAt = (request: Float64Array) =>
    kindOf(lists.semirings[request[requestAt.semiring]!]!.name, lists.dataTypes[request[requestAt.dtype]!]!)

  /** Reads a request, or a member of a group whose other fields are those of `request`. */
  function readProduct(
    request: Float64Array,
    fields: Float64Array,
    at: typeof memberAt,
    reports: Float64Array,
    matrix: (name: MatrixName, layout: Layout, sizes: Sizes) => Matrix | null,
  ): ProductRequest {
    if (fields[at.structured] !== 0) throw notExact('products with the option structure')
    const report = (name: ReportField, value: number) => {
      reports[reportAt[name]] = value
    }
    reports.fill(0)
    report('backend', backend)
    report('device', -1)
    const [batch, m, n, k] = [fields[at.batch]!, fields[at.m]!, fields[at.n]!, fields[at.k]!]
    const sizes = { batch, rows: m, cols: n }
    const get = (name: MatrixName) => matrix(name, layoutAt(fields, at[name]), sizes)
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
      mayFallBack ||= allows ?? false
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
      return runMaking(device, async (gpu, make) => {
        const { buffer } = make((array.BYTES_PER_ELEMENT * 8) as StoredBits, countOf(sizes))
        await gpu.transfers.write(rowMajor(array, layout, sizes), buffer, watch(cancel))
        await gpu.assertValid()
      })
    },

    async download(handle, memory, array, request, cancel) {
      const device = deviceOf(handle)
      const [sizes, layout] = [sizesOf(request), layoutAt(request, copyAt.array)]
      const view = viewOf(memory, request, copyAt.memory)
      return run(device, (gpu) =>
        gpu.withBuffers(async (take) => {
          const isReadable = isContiguous(view, sizes) && (view.offset * view.bits) % 32 === 0
          const { buffer, offset } = isReadable ? view : await copyOf(gpu, take, view, sizes)
          const at = (offset * view.bits) / 8
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
      return runMaking(device, async (gpu, make) => {
        const bits = dtype === 'uint8' ? 8 : 32
        const view = make(bits, countOf(sizes)).view(contiguous(sizes))
        const stored = dtype === 'float32' ? floatBits(value) : value
        await copyElements(gpu, view, null, sizes, { kind: 'fill', bits }, stored)
        await gpu.assertValid()
      })
    },

    async combine(handle, c, d, request) {
      const device = deviceOf(handle)
      const sizes = resultSizes(request, requestAt)
      const { semiring, isFloat } = kindAt(request)
      const to = viewOf(c, request, requestAt.c)
      const source = viewOf(d, request, requestAt.b)
      const what = { kind: 'combine', bits: to.bits, from: source.bits, semiring, isFloat } as const
      return run(device, (gpu) => copyThrough(gpu, to, source, sizes, what))
    },

    async copyMatrix(handle, source, to, request) {
      const device = deviceOf(handle)
      const sizes = sizesOf(request)
      const view = viewOf(source, request, copyAt.memory)
      const target = viewOf(to, request, copyAt.array)
      return run(device, (gpu) => copyThrough(gpu, target, view, sizes))
    },

    async closeMatrix(handle, matrix, out, inPlace, reflexive, wantsNext, request, report, cancel) {
      const device = deviceOf(handle)
      const [batch, n] = [request[requestAt.batch]!, request[requestAt.n]!]
      const { semiring, dtype } = kindAt(request)
      if (dtype !== 'int32') throw notExact(`closures of ${dtype}`)
      const weights = viewOf(matrix, request, requestAt.a)
      const target = out && viewOf(out, request, requestAt.c)
      const [check, started] = [watch(cancel), performance.now()]
      report[reportAt.gain] = -1
      report[reportAt.backend] = backend
      return runMaking(device, async (gpu, make) => {
        check()
        report[reportAt.stepsDone] = 0
        const layout = contiguous({ batch, rows: n, cols: n })
        const distances = target ?? (inPlace ? weights : make(32, batch * n * n).view(layout))
        const next = wantsNext ? make(32, batch * n * n).buffer : null
        const progress = (steps: number) => {
          report[reportAt.stepsDone]! += steps
        }
        const task = { semiring, batch, n, reflexive, weights, distances, next, check, progress }
        const { gain, kernelMs } = batch * n > 0 ? await computeClosure(gpu, task) : { gain: -1, kernelMs: 0 }
        report[reportAt.kernelMs] = kernelMs
        report[reportAt.totalMs] = performance.now() - started
        await gpu.assertValid()
        report[reportAt.gain] = gain
        if (gain >= 0) throw failure('ERR_MPMML_CYCLE', 'a cycle gains')
      })
    },

    memoryNumber: (memory) => memoryOf(memory).number,

    release: (memory) => memoryOf(memory).release(),

    async multiply(a, b, c, c0, request, report, cancel, handle, auxiliary) {
      const device = handle ? deviceOf(handle) : null
      const fields = request.slice()
      const given = { a, b, c, c0, witness: auxiliary?.[0] }
      /** Returns the bits of the elements of a result that has no matrix yet; null if the call doesn't compute it. */
      const newBits = (name: MatrixName): StoredBits | null => {
        if (fields[requestAt.planOnly] !== 0) return null
        if (name === 'c') return kindAt(fields).bits
        return name === 'witness' && fields[requestAt.asksWitness] !== 0 ? 32 : null
      }
      return runMaking(device, async (gpu, make) => {
        const product = readProduct(fields, fields, requestAt, report, (name, layout, sizes) => {
          if (given[name]) return matrixOf(given[name], layout)
          const bits = newBits(name)
          return bits && { view: make(bits, countOf(sizes)).view(contiguous(sizes)), isNew: true }
        })
        await multiplyBlocks(gpu, lists, watch(cancel), product)
      })
    },

    async multiplyGroup(arrays, request, members, reports, cancel, handle) {
      const device = handle ? deviceOf(handle) : null
      const [common, fields, stride] = [request.slice(), members.slice(), memberFields.length]
      const products = Array.from({ length: fields.length / stride }, (_, index) =>
        fields.subarray(index * stride, (index + 1) * stride),
      )
      const check = watch(cancel)
      const asksWitness = common[requestAt.asksWitness] !== 0
      const placeOf = (name: MatrixName, product: Float64Array) => product[memberAt[`${name}Memory`]]!
      // Found now, because a memory may be released before the group's turn.
      const memories = new Map(
        products
          .flatMap((product) => matrixNames.map((name) => placeOf(name, product)))
          .map((place) => [place, GpuMemory.byNumber(place)]),
      )
      const compute = async (gpu: Gpu, make: Make) => {
        /** Makes the memory for results that have no place, which follow each other. */
        const makeFor = (name: 'c' | 'witness', bits: StoredBits) => {
          const length = products
            .filter((product) => placeOf(name, product) === 0)
            .map((product) => product[memberAt[name].offset]! + countOf(resultSizes(product, memberAt)))
            .reduce((longest, length) => Math.max(longest, length), -1)
          return device && length >= 0 ? make(bits, length) : null
        }
        const made = {
          ...{ a: null, b: null, c: makeFor('c', kindAt(common).bits), c0: null },
          witness: asksWitness ? makeFor('witness', 32) : null,
        }
        for (const [index, fields] of products.entries()) {
          const report = reports.subarray(index * reportFields.length, (index + 1) * reportFields.length)
          try {
            check()
            const product = readProduct(common, fields, memberAt, report, (name, layout, sizes) => {
              const place = placeOf(name, fields)
              if (name === 'witness' && !asksWitness) return null
              if (place !== 0) return matrixOf(place < 0 ? arrays[-1 - place] : memories.get(place), layout)
              const memory = made[name]
              return memory && { view: memory.view(contiguous(sizes, layout.offset)), isNew: true }
            })
            await multiplyBlocks(gpu, lists, check, product)
          } catch (error) {
            if (error instanceof Error) error.message = `product ${index}: ${error.message}`
            throw error
          }
        }
      }
      // Products before the failed one may have been added to their C0, and would be added again.
      return runMaking(device, compute, lists.semirings[common[requestAt.semiring]!]!.idempotent)
    },

    cancelWork(cancel) {
      cancel[0] = 1
    },
  }
}

/** Returns a row-major copy of a view. */
async function copyOf(gpu: Gpu, take: Take, view: GpuView, sizes: Sizes): Promise<GpuView> {
  const copy = takeView(take, view.bits, sizes, gpu.device.limits.maxBufferSize)
  await copyElements(gpu, copy, view, sizes)
  return copy
}

/** Copies or combines matrices, by way of a copy if both are in one buffer. */
const copyThrough = (gpu: Gpu, to: GpuView, source: GpuView, sizes: Sizes, what?: Elementwise) =>
  gpu.withBuffers(async (take) => {
    const view = to.buffer === source.buffer ? await copyOf(gpu, take, source, sizes) : source
    await copyElements(gpu, to, view, sizes, what)
    await gpu.assertValid()
  })
