/** Functions of the addon on a WebGPU device: matrices that stay on it, products and closures. */
import {
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
import type { CpuAddon } from './cpu.js'
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
  type NewElements,
  newElements,
  receiver,
  rowMajor,
  type Sizes,
  takeView,
} from './views.js'
import { type GpuDescription, type GpuFunctions, withoutAdapter } from './with-gpu.js'

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

  private constructor(
    readonly device: GpuDevice,
    readonly bits: StoredBits,
    readonly bytes: number,
    readonly buffer: GPUBuffer,
  ) {
    device.used += bytes
    device.peak = Math.max(device.peak, device.used)
    device.memories.add(this)
    GpuMemory.#numbered.set(this.number, this)
  }

  static async allocate(device: GpuDevice, bits: StoredBits, count: number): Promise<GpuMemory> {
    const { gpu, maxBytes, used } = device
    const bytes = (count * bits) / 8
    if (maxBytes > 0 && used + bytes > maxBytes) throw tooLarge(used + bytes, maxBytes)
    return new GpuMemory(device, bits, bytes, await gpu.take(bytes, gpu.device.limits.maxBufferSize))
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
const viewOfNew = (matrix: Matrix): GpuView => (matrix as { view: GpuView }).view
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

/** Bytes of results whose pages are requested from the system in large units: new ones otherwise take longer than the copy. */
const MIN_HUGE = 2 ** 25

/** Allocates a row-major result. */
type Make = (sizes: Sizes, bits: StoredBits, isFloat?: boolean) => Promise<Matrix>
/** Gives the matrix of a name; `bits` of an element if it is a result that must be computed, otherwise 0. */
type FindMatrix = (
  name: MatrixName,
  layout: Layout,
  sizes: Sizes,
  bits: StoredBits | 0,
) => Matrix | null | Promise<Matrix | null>

const software = /swiftshader|llvmpipe|lavapipe|basic render|software/i

/**
 * Returns the functions of a WebGPU device.
 *
 * @param findGpu - gives `navigator.gpu`, or that of the package `webgpu`; null if there is none. Called when WebGPU is first needed.
 * @param allowsFallback - whether a software adapter may be used (MPMML_WEBGPU_FALLBACK=1): it is slower than the CPU kernels.
 */
export function gpuFunctions(
  lists: CpuAddon,
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
    return Gpu.open(adapter, lists).catch((error: Error) => {
      throw unusable(error.message)
    })
  }

  const run = async <Result>(device: GpuDevice | null, work: (gpu: Gpu) => Promise<Result>) => {
    const gpu = device?.gpu ?? (await open())
    return gpu.run(() => work(gpu))
  }

  /**
   * Runs work that allocates results: memories of a device, which are released if it fails, or arrays. Returns the memory of a device, or all
   * results if there are several.
   */
  const runMaking = (device: GpuDevice | null, work: (gpu: Gpu, make: Make) => Promise<void>) =>
    run(device, async (gpu) => {
      const made: (GpuMemory | NewElements)[] = []
      try {
        await work(gpu, async (sizes, bits, isFloat = false) => {
          const result = device
            ? await GpuMemory.allocate(device, bits, countOf(sizes))
            : newElements(isFloat, bits, countOf(sizes))
          if (!(result instanceof GpuMemory) && result.byteLength >= MIN_HUGE)
            lists.preferHugePages(result as ElementArray)
          made.push(result)
          const layout = contiguous(sizes)
          const matrix =
            result instanceof GpuMemory ? { view: result.view(layout) } : { array: result, layout }
          return { ...matrix, isNew: true }
        })
      } catch (error) {
        for (const result of made) if (result instanceof GpuMemory) result.release(true)
        throw error
      }
      return (device && made.length < 2 ? made[0] : made) as never
    })

  const kindAt = (request: Float64Array) =>
    kindOf(lists.semirings[request[requestAt.semiring]!]!.name, lists.dataTypes[request[requestAt.dtype]!]!)

  /** Reads a request, or a member of a group whose other fields are those of `request`. */
  async function readProduct(
    request: Float64Array,
    fields: Float64Array,
    at: typeof memberAt,
    reports: Float64Array,
    find: FindMatrix,
  ): Promise<ProductRequest> {
    if (fields[at.structured] !== 0) throw notExact('products with the option structure')
    const report = (name: ReportField, value: number) => {
      reports[reportAt[name]] = value
    }
    reports.fill(0)
    report('backend', backend)
    report('device', -1)
    const [kind, sizes] = [kindAt(request), resultSizes(fields, at)]
    const asksWitness = request[requestAt.asksWitness] !== 0
    const isComputed = request[requestAt.planOnly] === 0
    const get = async (name: MatrixName, bits: StoredBits | 0 = 0) =>
      find(name, layoutAt(fields, at[name]), sizes, isComputed ? bits : 0)
    const [a, b, c0] = [await get('a'), await get('b'), await get('c0')]
    return {
      ...{ kind, batch: sizes.batch, m: sizes.rows, n: sizes.cols, k: fields[at.k]!, report, asksWitness },
      ...{
        a: a!,
        b: b!,
        c0,
        c: await get('c', kind.bits),
        witness: await get('witness', asksWitness ? 32 : 0),
      },
      policy: request[requestAt.overflow]!,
      variant: request[requestAt.variant]!,
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
        const { buffer } = viewOfNew(await make(sizes, (array.BYTES_PER_ELEMENT * 8) as StoredBits))
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
        const view = viewOfNew(await make(sizes, bits))
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
        const sizes = { batch, rows: n, cols: n }
        const distances = target ?? (inPlace ? weights : viewOfNew(await make(sizes, 32)))
        const next = wantsNext ? viewOfNew(await make(sizes, 32)).buffer : null
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
      return runMaking(device, async (gpu, make) => {
        const product = await readProduct(fields, fields, requestAt, report, (name, layout, sizes, bits) => {
          if (given[name]) return matrixOf(given[name], layout)
          return bits === 0 ? null : make(sizes, bits, name === 'c' && kindAt(fields).isFloat)
        })
        await multiplyBlocks(gpu, watch(cancel), product)
      })
    },

    async multiplyGroup(arrays, request, members, reports, cancel, handle) {
      const device = handle ? deviceOf(handle) : null
      const [common, fields, stride] = [request.slice(), members.slice(), memberFields.length]
      const products = Array.from({ length: fields.length / stride }, (_, index) =>
        fields.subarray(index * stride, (index + 1) * stride),
      )
      const check = watch(cancel)
      const placeOf = (name: MatrixName, product: Float64Array) => product[memberAt[`${name}Memory`]]!
      // Found now, because a memory may be released before the group's turn.
      const memories = new Map(
        products
          .flatMap((product) => matrixNames.map((name) => placeOf(name, product)))
          .map((place) => [place, GpuMemory.byNumber(place)]),
      )
      return runMaking(device, async (gpu, make) => {
        /** Memory for results of a name that have no place: they follow each other. */
        const made: { c?: GpuView; witness?: GpuView } = {}
        const makeFor = async (name: 'c' | 'witness', bits: StoredBits) => {
          const ends = products
            .filter((product) => placeOf(name, product) === 0)
            .map((product) => product[memberAt[name].offset]! + countOf(resultSizes(product, memberAt)))
          const cols = ends.reduce((longest, end) => Math.max(longest, end), -1)
          if (device && cols >= 0) made[name] = viewOfNew(await make({ batch: 1, rows: 1, cols }, bits))
        }
        await makeFor('c', kindAt(common).bits)
        if (common[requestAt.asksWitness] !== 0) await makeFor('witness', 32)
        for (const [index, fields] of products.entries()) {
          const report = reports.subarray(index * reportFields.length, (index + 1) * reportFields.length)
          try {
            check()
            const product = await readProduct(
              common,
              fields,
              memberAt,
              report,
              (name, layout, sizes, bits) => {
                const place = placeOf(name, fields)
                if (name === 'witness' && bits === 0) return null
                if (place !== 0) return matrixOf(place < 0 ? arrays[-1 - place] : memories.get(place), layout)
                const view = made[name as 'c' | 'witness']
                return view ? { view: { ...view, ...contiguous(sizes, layout.offset) }, isNew: true } : null
              },
            )
            await multiplyBlocks(gpu, check, product)
          } catch (error) {
            if (error instanceof Error) error.message = `product ${index}: ${error.message}`
            throw error
          }
        }
      })
    },

    cancelWork(cancel) {
      cancel[0] = 1
    },
  }
}

/** Returns a row-major copy of a view. */
async function copyOf(gpu: Gpu, take: Take, view: GpuView, sizes: Sizes): Promise<GpuView> {
  const copy = await takeView(take, view.bits, sizes, gpu.device.limits.maxBufferSize)
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
