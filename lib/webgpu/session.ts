/** Functions of the addon on a WebGPU device: matrices that stay on it, products and closures. */
import {
  type Addon,
  copyAt,
  memberAt,
  memberFields,
  type NativeDevice,
  type NativeMemory,
  reportAt,
  reportFields,
  requestAt,
} from '../native-interface.js'
import type { ElementArray, OperandArray } from '../storage.js'
import { close } from './closure.js'
import { Gpu, tooLarge } from './device.js'
import { failure, notExact } from './failure.js'
import type { StoredBits } from './kernels/arithmetic.js'
import { floatBits } from './kernels/store.js'
import { contiguous, type Layout, type Sizes, scatter, upload } from './layout.js'
import { type Matrix, multiplyBlocks, type ProductRequest } from './multiply.js'
import { kindOf } from './plan.js'
import { copyElements, Products } from './product.js'
import type { GpuView } from './task.js'
import type { GpuDescription, GpuFunctions } from './with-gpu.js'

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

/** A device with its products. */
interface Opened {
  readonly gpu: Gpu
  readonly products: Products
}

/** A device opened by openDevice(). All such devices share one GPUDevice. */
class GpuDevice {
  used = 0
  peak = 0
  isClosed = false
  readonly memories = new Set<GpuMemory>()

  constructor(
    readonly opened: Opened,
    readonly maxBytes: number,
  ) {}

  /** Makes memory for elements. Its content is undefined. */
  make(bits: StoredBits, count: number): GpuMemory {
    const bytes = (count * bits) / 8
    if (this.maxBytes > 0 && this.used + bytes > this.maxBytes)
      throw tooLarge(this.used + bytes, this.maxBytes)
    const memory = new GpuMemory(this, this.opened.gpu.take(bytes), bits, bytes)
    this.memories.add(memory)
    this.used += memory.bytes
    this.peak = Math.max(this.peak, this.used)
    return memory
  }
}

/** Memory of a device. */
class GpuMemory {
  static #last = 0
  static readonly #numbered = new Map<number, WeakRef<GpuMemory>>()
  readonly number = ++GpuMemory.#last
  isReleased = false

  constructor(
    readonly device: GpuDevice,
    readonly buffer: GPUBuffer,
    readonly bits: StoredBits,
    readonly bytes: number,
  ) {
    GpuMemory.#numbered.set(this.number, new WeakRef(this))
    collected.register(this, { device: new WeakRef(device), buffer, bytes, number: this.number }, this)
  }

  static byNumber(number: number): GpuMemory | undefined {
    return GpuMemory.#numbered.get(number)?.deref()
  }

  static forget(number: number): void {
    GpuMemory.#numbered.delete(number)
  }

  /** Excludes the memory from the used bytes at once, and gives the buffer back after the work that uses it. */
  release(): void {
    if (this.isReleased) return
    this.isReleased = true
    collected.unregister(this)
    this.device.memories.delete(this)
    giveBack(this.device, this)
  }
}

function giveBack(
  device: GpuDevice,
  { buffer, bytes, number }: { buffer: GPUBuffer; bytes: number; number: number },
): void {
  GpuMemory.forget(number)
  device.used -= bytes
  const { gpu } = device.opened
  gpu.idle().then(() => gpu.give(buffer))
}

/** Memories that nobody has released. */
const collected = new FinalizationRegistry<{
  device: WeakRef<GpuDevice>
  buffer: GPUBuffer
  bytes: number
  number: number
}>(({ device, ...memory }) => {
  const owner = device.deref()
  if (owner) giveBack(owner, memory)
})

/** Positions of the fields of a layout. */
type LayoutAt = (typeof requestAt)['a']

const memoryPlaces = [
  memberAt.aMemory,
  memberAt.bMemory,
  memberAt.cMemory,
  memberAt.c0Memory,
  memberAt.witnessMemory,
]

const layoutAt = (fields: Float64Array, at: LayoutAt, base = 0): Layout => ({
  offset: fields[base + at.offset]!,
  batchStride: fields[base + at.batchStride]!,
  rowStride: fields[base + at.rowStride]!,
  colStride: fields[base + at.colStride]!,
})

const isMemory = (value: unknown): value is GpuMemory => value instanceof GpuMemory
const viewOf = ({ buffer, bits }: GpuMemory, layout: Layout): GpuView => ({ buffer, bits, ...layout })

const software = /swiftshader|llvmpipe|lavapipe|basic render|software/i
const closed = () => failure('ERR_MPMML_DISPOSED', 'the WebGPU device has been closed')

/**
 * Returns the functions of a WebGPU device.
 *
 * @param findGpu - gives `navigator.gpu`, or that of the package `webgpu`; null if there is none. Called when WebGPU is first needed.
 */
export function gpuFunctions(
  lists: AddonLists,
  findGpu: () => Promise<GPU | null>,
  settings: GpuSettings = {},
): GpuFunctions {
  let allowsFallback = settings.allowsFallback ?? false
  let opening: Promise<Opened> | null = null
  let adapterFound: GpuDescription['adapter'] = null
  const backend = (lists.backends as readonly string[]).indexOf('webgpu')

  /** Returns the device, which is opened on first use and after a loss. */
  async function open(): Promise<Opened> {
    const current = opening
    const opened = await current?.catch(() => null)
    if (opened && !opened.gpu.isLost) return opened
    // Another call may have begun to open it meanwhile.
    if (opening === current) opening = start()
    return opening!
  }

  async function start(): Promise<Opened> {
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
    const gpu = await Gpu.open(adapter).catch((error: Error) => {
      throw unusable(error.message)
    })
    return { gpu, products: new Products(gpu) }
  }

  /** Runs work on a device, or on that of products of arrays, after all that was started before. */
  async function run<Result>(
    device: GpuDevice | null,
    work: (opened: Opened) => Promise<Result>,
  ): Promise<Result> {
    const opened = device?.opened ?? (await open())
    return opened.gpu.run(() => work(opened))
  }

  function deviceOf(handle: NativeDevice): GpuDevice {
    const device = handle as unknown as GpuDevice
    if (device.isClosed) throw closed()
    return device
  }

  /** The name of an element type by its number. */
  const dtypeAt = (type: number) => lists.dataTypes[type]!
  const semiringAt = (index: number) => lists.semirings[index]!.name

  const sizesOf = (request: Float64Array): Sizes => ({
    batch: request[copyAt.batch]!,
    rows: request[copyAt.rows]!,
    cols: request[copyAt.cols]!,
  })

  /** Throws AbortedError when the flag is set. */
  const watch = (cancel: Int32Array) => () => {
    if (cancel[0] !== 0) throw failure('ERR_MPMML_ABORTED', 'the work was aborted')
  }

  /** Reads a request, or a member of a group whose other fields are those of `request`. */
  function readProduct(
    request: Float64Array,
    fields: Float64Array,
    at: typeof memberAt,
    base: number,
    report: Float64Array,
    reportBase: number,
  ): Omit<ProductRequest, 'a' | 'b' | 'c' | 'c0' | 'witness' | 'planOnly'> {
    const field = (place: number) => fields[base + place]!
    const kind = kindOf(semiringAt(request[requestAt.semiring]!), dtypeAt(request[requestAt.dtype]!))
    if (field(at.structured) !== 0) throw notExact('products with the option structure')
    return {
      kind,
      batch: field(at.batch),
      m: field(at.m),
      n: field(at.n),
      k: field(at.k),
      policy: request[requestAt.overflow]!,
      variant: request[requestAt.variant]!,
      asksWitness: request[requestAt.asksWitness] !== 0,
      maxBytes: request[requestAt.deviceMemory]!,
      report: (name, value) => {
        report[reportBase + reportAt[name]] = value
      },
    }
  }

  const arrayOrMemory = (data: unknown, layout: Layout): Matrix => {
    if (isMemory(data)) return { view: viewOf(data, layout) }
    return { array: data as OperandArray, layout }
  }

  /** Memory that is made for a result on a device, row-major. */
  const newResult = (
    memory: GpuMemory,
    offset: number,
    { batch, m, n }: { batch: number; m: number; n: number },
  ): Matrix => ({
    view: viewOf(memory, { offset, ...contiguous({ batch, rows: m, cols: n }) }),
    isNew: true,
  })

  function begin(report: (name: keyof typeof reportAt, value: number) => void): void {
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
  }

  return {
    async describeGpu(allows?: boolean): Promise<GpuDescription> {
      allowsFallback ||= allows ?? false
      try {
        const { gpu } = await open()
        const { maxBufferSize, maxStorageBufferBindingSize, maxComputeWorkgroupStorageSize } =
          gpu.device.limits
        const limits = { maxBufferSize, maxStorageBufferBindingSize, maxComputeWorkgroupStorageSize }
        return { adapter: adapterFound, limits, roundsToNearest: gpu.roundsToNearest, reason: gpu.problem }
      } catch (error) {
        return { adapter: adapterFound, limits: {}, roundsToNearest: false, reason: (error as Error).message }
      }
    },

    handleKind(handle) {
      if (handle instanceof GpuDevice) return 'device'
      return isMemory(handle) ? 'memory' : ''
    },

    async openDevice(deviceMemory) {
      const opened = await open()
      opened.gpu.assertUsable()
      return new GpuDevice(opened, deviceMemory) as unknown as NativeDevice
    },

    describeDevice(handle) {
      const { gpu } = (handle as unknown as GpuDevice).opened
      return { backend, index: -1, name: gpu.name, devices: 0, all: false }
    },

    memoryUse(handle) {
      const { used, peak, opened, maxBytes } = deviceOf(handle)
      const { gpu } = opened
      const total = maxBytes || gpu.device.limits.maxBufferSize
      return { used, reserved: gpu.reserved, peak, free: Math.max(0, total - gpu.used), total }
    },

    async closeDevice(handle) {
      const device = deviceOf(handle)
      device.isClosed = true
      await device.opened.gpu.idle()
      for (const memory of [...device.memories]) memory.release()
    },

    async upload(handle, array, request, cancel) {
      const device = deviceOf(handle)
      const [sizes, from] = [sizesOf(request), layoutAt(request, copyAt.array)]
      const check = watch(cancel)
      return run(device, async ({ gpu }) => {
        const { batch, rows, cols } = sizes
        const memory = device.make((array.BYTES_PER_ELEMENT * 8) as StoredBits, batch * rows * cols)
        try {
          await upload(gpu, array, from, sizes, memory.buffer, check)
          await gpu.assertValid()
          return memory as unknown as NativeMemory
        } catch (error) {
          memory.release()
          throw error
        }
      })
    },

    async download(handle, memory, array, request, cancel) {
      const device = deviceOf(handle)
      const [sizes, to] = [sizesOf(request), layoutAt(request, copyAt.array)]
      const from = viewOf(memory as unknown as GpuMemory, layoutAt(request, copyAt.memory))
      const check = watch(cancel)
      return run(device, async ({ gpu }) => {
        const { batch, rows, cols } = sizes
        if (batch * rows * cols === 0) return
        const row = contiguous(sizes)
        const isRowMajor =
          from.colStride === 1 && from.rowStride === cols && (batch === 1 || from.batchStride === rows * cols)
        const bytes = array.BYTES_PER_ELEMENT
        const isAligned = (from.offset * bytes) % 4 === 0
        let [source, at] = [from.buffer, from.offset * bytes]
        let copied: GPUBuffer | null = null
        if (!isRowMajor || !isAligned) {
          copied = gpu.take(batch * rows * cols * bytes)
          await copyElements(
            gpu,
            { kind: 'copy', bits: from.bits },
            { buffer: copied, bits: from.bits, offset: 0, ...row },
            from,
            [batch, rows, cols],
          )
          ;[source, at] = [copied, 0]
        }
        await scatter(
          gpu,
          { buffer: source, at, before: () => gpu.assertValid() },
          array as ElementArray,
          to,
          sizes,
          check,
        )
        gpu.give(copied)
      })
    },

    async fill(handle, request) {
      const device = deviceOf(handle)
      const sizes = sizesOf(request)
      const dtype = dtypeAt(request[copyAt.dtype]!)
      const value = request[copyAt.value]!
      if (dtype === 'float64') kindOf('max-plus', dtype)
      return run(device, async ({ gpu }) => {
        const { batch, rows, cols } = sizes
        const bits = dtype === 'uint8' ? 8 : 32
        const memory = device.make(bits, batch * rows * cols)
        const view = viewOf(memory, { offset: 0, ...contiguous(sizes) })
        const stored = dtype === 'float32' ? floatBits(value) : value
        await copyElements(gpu, { kind: 'fill', bits }, view, null, [batch, rows, cols], stored)
        await gpu.assertValid()
        return memory as unknown as NativeMemory
      })
    },

    async combine(handle, c, d, request) {
      const device = deviceOf(handle)
      const [batch, rows, cols] = [request[requestAt.batch]!, request[requestAt.m]!, request[requestAt.n]!]
      const kind = kindOf(semiringAt(request[requestAt.semiring]!), dtypeAt(request[requestAt.dtype]!))
      const to = viewOf(c as unknown as GpuMemory, layoutAt(request, requestAt.c))
      const from = viewOf(d as unknown as GpuMemory, layoutAt(request, requestAt.b))
      return run(device, async ({ gpu }) => {
        const what = {
          kind: 'combine',
          bits: to.bits,
          from: from.bits,
          semiring: kind.semiring,
          isFloat: kind.isFloat,
        } as const
        await throughCopy(gpu, to, from, { batch, rows, cols }, what)
      })
    },

    async copyMatrix(handle, from, to, request) {
      const device = deviceOf(handle)
      const sizes = sizesOf(request)
      const source = viewOf(from as unknown as GpuMemory, layoutAt(request, copyAt.memory))
      const target = viewOf(to as unknown as GpuMemory, layoutAt(request, copyAt.array))
      return run(device, ({ gpu }) =>
        throughCopy(gpu, target, source, sizes, { kind: 'copy', bits: source.bits }),
      )
    },

    async closeMatrix(handle, matrix, out, inPlace, reflexive, wantsNext, request, report, cancel) {
      const device = deviceOf(handle)
      const [batch, n] = [request[requestAt.batch]!, request[requestAt.n]!]
      const { semiring, dtype } = kindOf(
        semiringAt(request[requestAt.semiring]!),
        dtypeAt(request[requestAt.dtype]!),
      )
      if (dtype !== 'int32') throw notExact(`closures of ${dtype}`)
      const weights = viewOf(matrix as unknown as GpuMemory, layoutAt(request, requestAt.a))
      const target = out && viewOf(out as unknown as GpuMemory, layoutAt(request, requestAt.c))
      const [check, started] = [watch(cancel), performance.now()]
      report[reportAt.gain] = -1
      report[reportAt.backend] = backend
      return run(device, async ({ gpu }) => {
        check()
        const made: GpuMemory[] = []
        const make = () => {
          const memory = device.make(32, batch * n * n)
          made.push(memory)
          return memory
        }
        try {
          const sizes = { batch, rows: n, cols: n }
          const distances =
            target ?? (inPlace ? weights : viewOf(make(), { offset: 0, ...contiguous(sizes) }))
          const next = wantsNext ? make().buffer : null
          const progress = (steps: number) => {
            report[reportAt.stepsDone]! += steps
          }
          const task = { semiring, batch, n, reflexive, weights, distances, next, check, progress }
          const { gain, kernelMs } = batch * n > 0 ? await close(gpu, task) : { gain: -1, kernelMs: 0 }
          report[reportAt.kernelMs] = kernelMs
          report[reportAt.totalMs] = performance.now() - started
          await gpu.assertValid()
          if (gain >= 0) {
            report[reportAt.gain] = gain
            throw failure('ERR_MPMML_CYCLE', 'a cycle gains')
          }
        } catch (error) {
          for (const memory of made) memory.release()
          throw error
        }
        const given = made as unknown as NativeMemory[]
        return given.length === 2 ? [given[0]!, given[1]!] : given[0]
      })
    },

    memoryNumber: (memory) => (memory as unknown as GpuMemory).number,

    release: (memory) => (memory as unknown as GpuMemory).release(),

    async multiply(a, b, c, c0, request, report, cancel, handle, further) {
      const device = handle ? deviceOf(handle) : null
      const product = readProduct(request, request, requestAt, 0, report, 0)
      const [layoutA, layoutB, layoutC] = [requestAt.a, requestAt.b, requestAt.c].map((at) =>
        layoutAt(request, at),
      ) as [Layout, Layout, Layout]
      const [layoutC0, layoutW] = [layoutAt(request, requestAt.c0), layoutAt(request, requestAt.witness)]
      const planOnly = request[requestAt.planOnly] !== 0
      const witness = further?.[0] ?? null
      begin(product.report)
      return run(device, async (opened) => {
        const made: GpuMemory[] = []
        const make = (bits: StoredBits) => {
          const memory = device!.make(bits, product.batch * product.m * product.n)
          made.push(memory)
          return newResult(memory, 0, product)
        }
        try {
          await multiplyBlocks(opened, lists, watch(cancel), {
            ...product,
            planOnly,
            a: arrayOrMemory(a, layoutA),
            b: arrayOrMemory(b, layoutB),
            c: c ? arrayOrMemory(c, layoutC) : planOnly ? null : make(product.kind.bits),
            c0: c0 && arrayOrMemory(c0, layoutC0),
            witness:
              !product.asksWitness || planOnly ? null : witness ? arrayOrMemory(witness, layoutW) : make(32),
          })
        } catch (error) {
          for (const memory of made) memory.release()
          throw error
        }
        const given = made as unknown as NativeMemory[]
        return given.length > 1 ? given : given[0]
      })
    },

    async multiplyGroup(arrays, request, members, reports, cancel, handle) {
      const device = handle ? deviceOf(handle) : null
      const [common, stride] = [request.slice(), memberFields.length]
      const count = members.length / stride
      const check = watch(cancel)
      // Found now, because a memory may be released before the group's turn.
      const memories = new Map<number, GpuMemory | undefined>()
      for (let base = 0; base < members.length; base += stride) {
        for (const place of memoryPlaces) {
          const number = members[base + place]!
          if (number > 0) memories.set(number, GpuMemory.byNumber(number))
        }
      }
      return run(device, async (opened) => {
        const kind = kindOf(semiringAt(common[requestAt.semiring]!), dtypeAt(common[requestAt.dtype]!))
        const asksWitness = common[requestAt.asksWitness] !== 0
        // Results that have no place follow each other in memory that is made for them.
        const endOf = (place: number, at: LayoutAt) => {
          let end = 0
          for (let base = 0; base < members.length; base += stride) {
            if (members[base + place] !== 0) continue
            const size =
              members[base + memberAt.batch]! * members[base + memberAt.m]! * members[base + memberAt.n]!
            end = Math.max(end, members[base + at.offset]! + size)
          }
          return end
        }
        const isAnyNew = (place: number) =>
          members.some((value, index) => index % stride === place && value === 0)
        const made: GpuMemory[] = []
        const make = (bits: StoredBits, length: number) => {
          const memory = device!.make(bits, length)
          made.push(memory)
          return memory
        }
        try {
          const newC =
            device && isAnyNew(memberAt.cMemory) ? make(kind.bits, endOf(memberAt.cMemory, memberAt.c)) : null
          const newWitness =
            device && asksWitness ? make(32, endOf(memberAt.witnessMemory, memberAt.witness)) : null
          for (let index = 0; index < count; index++) {
            const base = index * stride
            try {
              check()
              const product = readProduct(
                common,
                members,
                memberAt,
                base,
                reports,
                index * reportFields.length,
              )
              begin(product.report)
              const matrix = (place: number, at: LayoutAt, memory: GpuMemory | null): Matrix | null => {
                const number = members[base + place]!
                const layout = layoutAt(members, at, base)
                if (number < 0) return { array: arrays[-1 - number]!, layout }
                if (number > 0) return arrayOrMemory(memories.get(number), layout)
                return memory && newResult(memory, layout.offset, product)
              }
              await multiplyBlocks(opened, lists, check, {
                ...product,
                planOnly: false,
                a: matrix(memberAt.aMemory, memberAt.a, null)!,
                b: matrix(memberAt.bMemory, memberAt.b, null)!,
                c: matrix(memberAt.cMemory, memberAt.c, newC)!,
                c0: matrix(memberAt.c0Memory, memberAt.c0, null),
                witness: asksWitness ? matrix(memberAt.witnessMemory, memberAt.witness, newWitness) : null,
              })
            } catch (error) {
              if (error instanceof Error) error.message = `product ${index}: ${error.message}`
              throw error
            }
          }
        } catch (error) {
          for (const memory of made) memory.release()
          throw error
        }
        const given = made as unknown as NativeMemory[]
        return given.length > 1 ? given : given[0]
      })
    },

    giveUp(cancel) {
      cancel[0] = 1
    },
  }
}

/** Applies `what`, by way of a copy if both matrices are in one buffer. */
async function throughCopy(
  gpu: Gpu,
  to: GpuView,
  from: GpuView,
  sizes: Sizes,
  what: Parameters<typeof copyElements>[1],
): Promise<void> {
  const { batch, rows, cols } = sizes
  const shape = [batch, rows, cols] as const
  if (batch * rows * cols === 0) return
  if (to.buffer !== from.buffer) {
    await copyElements(gpu, what, to, from, shape)
  } else {
    const buffer = gpu.take((batch * rows * cols * from.bits) / 8)
    const copy: GpuView = { buffer, bits: from.bits, offset: 0, ...contiguous(sizes) }
    await copyElements(gpu, { kind: 'copy', bits: from.bits }, copy, from, shape)
    await copyElements(gpu, what, to, copy, shape)
    gpu.give(buffer)
  }
  await gpu.assertValid()
}
