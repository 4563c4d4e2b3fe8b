/** Decides which products WebGPU rejects, and which products `auto` computes by WebGPU. */
import { AUTO, automaticBackend, builtWithCuda, CPU, indexOf, WEBGPU } from '../backend.js'
import { type Placement, ready } from '../backend-selection.js'
import { typeNameOf } from '../elements.js'
import {
  DeviceLostError,
  DTypeError,
  NoWebGpuError,
  OptionError,
  OutOfMemoryError,
  VariantError,
} from '../errors.js'
import { isFromListener } from '../listener.js'
import { addon } from '../native.js'
import { UNSET } from '../options.js'
import { exists, platform } from '../platform.js'
import { type Measure, type ProductKind, takesWebGpu } from '../webgpu/choice.js'
import { gpuName, lookForGpu } from '../webgpu/look.js'
import type { Call, Product } from './product.js'

const { variants } = addon

/** Pairs of a semiring and an element type that WebGPU computes exactly. */
const exact = new Set(
  variants.flatMap(({ backend, semiring, dtype }) => (backend === 'webgpu' ? [`${semiring} ${dtype}`] : [])),
)

/** Returns whether WebGPU computes products of a call. */
export const isByWebGpu = ({ session, place }: Call): boolean =>
  session ? session.backend === 'webgpu' : place.backend === WEBGPU

/** Returns why WebGPU computes no product of this kind; null if it does. */
function refusalOf({ call: { algebra, requestedOutputs }, type, structure }: Product): Error | null {
  const instead = "take the backend 'cpu' or 'cuda'"
  if (algebra.lanes !== null)
    return new OptionError(`option semiring is one of your own, which WebGPU doesn't compute: ${instead}`)
  if (structure)
    return new OptionError(
      `option structure is for other backends than 'webgpu': leave it out, or ${instead}`,
    )
  const dtype = typeNameOf(type)
  // Kernels compute 32 steps of truth values at once, and can't determine which step decides.
  if (dtype === 'uint8' && requestedOutputs.length > 0)
    return new OptionError(
      `option witness is for other types than uint8 with 'webgpu': leave it out, or ${instead}`,
    )
  if (exact.has(`${algebra.name} ${dtype}`)) return null
  return [...exact].some((pair) => pair.startsWith(`${algebra.name} `))
    ? new DTypeError(`WebGPU doesn't compute ${algebra.name} of ${dtype} exactly: ${instead}`)
    : new OptionError(`WebGPU doesn't compute the semiring ${algebra.name} exactly: ${instead}`)
}

/** Returns whether an option names WebGPU, as opposed to `auto` or the environment. */
export const isWebGpuByName = ({ options: { backend, variant } }: Call): boolean =>
  backend === WEBGPU || (variant !== UNSET && variants[variant]!.backend === 'webgpu')

/**
 * Throws OptionError or DTypeError for a product that WebGPU doesn't support, if an option names WebGPU or
 * matrices are on its device. If only the environment names WebGPU, the CPU computes such a product.
 */
export function assertWebGpuKind(product: Product): void {
  const { call } = product
  if (!isByWebGpu(call)) return
  const { backend, variant } = call.options
  if (!call.session && backend !== AUTO && backend !== WEBGPU) {
    throw new VariantError(
      `variant ${variants[variant]!.name} is of the webgpu backend, but option backend is '${addon.backendChoices[backend]}': leave one of them out`,
    )
  }
  const refusal = refusalOf(product)
  if (refusal === null) return
  if (call.session || isWebGpuByName(call)) throw refusal
  call.place = onCpuInstead()
}

/**
 * Prepares a blocking call. WebGPU can answer only while JavaScript's thread is free, so `auto` selects the
 * CPU.
 */
export function assertBlocking(call: Call): void {
  if (isWebGpuByName(call) || call.session?.backend === 'webgpu') {
    throw new OptionError(
      'mpmmSync blocks the thread, and WebGPU answers only while that is free: use await mpmm(…), or another backend',
    )
  }
  if (call.place.backend === WEBGPU) call.place = { backend: CPU, ...ready(CPU), atOnce: true }
}

/**
 * Least number of steps of a product for which `auto` searches for WebGPU: 512³ steps, about 2 ms on a CPU.
 */
const MIN_STEPS = 2 ** 27

/** Whether the GPU was lost; `auto` then selects the CPU. */
let wasLost = false

/**
 * Returns whether `auto` may give a product to WebGPU: a large one of arrays. Takes no time, because products on devices start before
 * their call returns.
 */
export function mayBeFasterByWebGpu(product: Product): boolean {
  const { call, batch, m, n, k } = product
  const { backend, variant, devices } = call.options
  if (call.session || wasLost || batch * m * n * k < MIN_STEPS) return false
  const isOpen = backend === AUTO && variant === UNSET && devices === 0 && automaticBackend() === AUTO
  return isOpen && refusalOf(product) === null && mayHaveGpu()
}

/**
 * Returns whether `auto` computes such a product by WebGPU: on a host without CUDA whose GPU computed
 * products of this kind faster than the CPU in a measurement. Searches for the GPU and measures once.
 */
export function isFasterByWebGpu(product: Product, measure: Measure): Promise<boolean> {
  const { call, batch, m, n, k, type } = product
  const witness = call.requestedOutputs.length > 0
  const kind = { semiring: call.algebra.name, dtype: typeNameOf(type), witness, m, n, k: batch * k }
  return isKindFaster(kind, call.options.device, measure)
}

async function isKindFaster(kind: ProductKind, device: number, measure: Measure): Promise<boolean> {
  if (builtWithCuda && addon.explain(indexOf(device)).backend === 'cuda') return false
  looked ??= lookForGpu()
  const gpu = await looked
  if (gpu.reason !== '' || gpu.adapter?.isFallback) return false
  return takesWebGpu(gpuName(gpu), kind, measure)
}

/** Work on square matrices in arrays that consists of products. */
export type SquareWork = Pick<ProductKind, 'semiring' | 'dtype' | 'witness'>

/**
 * Returns whether `auto` computes closures or powers by WebGPU. They take about the time of products of equal size, which has been
 * measured, or is measured now.
 */
export async function isSquareWorkFaster(
  work: SquareWork,
  steps: number,
  device: number,
  measure: Measure,
): Promise<boolean> {
  if (wasLost || steps < MIN_STEPS || !exact.has(`${work.semiring} ${work.dtype}`) || !mayHaveGpu())
    return false
  const n = Math.round(Math.cbrt(steps))
  return isKindFaster({ ...work, m: n, n, k: n }, device, measure)
}

/** Returns false on Linux without a device file of a GPU: then `auto` doesn't load drivers, which write to standard error. */
function mayHaveGpu(): boolean {
  try {
    return platform !== 'linux' || ['/dev/dri', '/dev/nvidiactl', '/dev/dxg'].some((file) => exists(file))
  } catch {
    // Deno may forbid reading the folder.
    return false
  }
}

/** Result of the search for a GPU, which `auto` runs only once. */
let looked: ReturnType<typeof lookForGpu> | undefined

/** Place of products that `auto` gives to WebGPU. */
export const onWebGpu = (): Placement => ({ backend: WEBGPU, ...ready(WEBGPU), atOnce: false })

/** Place of products that `auto` computes on the CPU because WebGPU failed. */
export const onCpuInstead = (): Placement => ({ backend: CPU, ...ready(CPU), atOnce: false })

/** Returns whether the CPU computes a product of `auto` after this error of WebGPU. */
export function mayComputeInstead(error: unknown): boolean {
  if (isFromListener(error)) return false
  if (error instanceof DeviceLostError || error instanceof NoWebGpuError) wasLost = true
  return (
    error instanceof DeviceLostError ||
    error instanceof NoWebGpuError ||
    error instanceof OutOfMemoryError ||
    error instanceof OptionError ||
    error instanceof DTypeError
  )
}
