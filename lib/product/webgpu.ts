/** Products by WebGPU: those that it refuses, and those that `auto` gives to it. */
import { AUTO, automaticBackend, builtWithCuda, CPU, indexOf, WEBGPU } from '../backend.js'
import { typeNameOf } from '../elements.js'
import { DeviceLostError, DTypeError, NoWebGpuError, OptionError, OutOfMemoryError } from '../errors.js'
import { isFromListener } from '../listener.js'
import { addon } from '../native.js'
import { LEFT_OUT } from '../options.js'
import { type Place, ready } from '../placement.js'
import { type Measure, takesWebGpu } from '../webgpu/choice.js'
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
function refusalOf({ call: { algebra, asked }, type, structure }: Product): Error | null {
  const instead = "take the backend 'cpu' or 'cuda'"
  if (algebra.lanes !== null)
    return new OptionError(`option semiring is one of your own, which WebGPU doesn't compute: ${instead}`)
  if (structure)
    return new OptionError(
      `option structure is for other backends than 'webgpu': leave it out, or ${instead}`,
    )
  const dtype = typeNameOf(type)
  // Kernels take 32 steps of truth values at once, and don't know which of them decides.
  if (dtype === 'uint8' && asked.length > 0)
    return new OptionError(
      `option witness is for other types than uint8 with 'webgpu': leave it out, or ${instead}`,
    )
  if (exact.has(`${algebra.name} ${dtype}`)) return null
  return [...exact].some((pair) => pair.startsWith(`${algebra.name} `))
    ? new DTypeError(`WebGPU doesn't compute ${algebra.name} of ${dtype} exactly: ${instead}`)
    : new OptionError(`WebGPU doesn't compute the semiring ${algebra.name} exactly: ${instead}`)
}

/** Returns whether an option names WebGPU; otherwise `auto` or the environment takes it. */
export const isWebGpuByName = ({ options: { backend, variant } }: Call): boolean =>
  backend === WEBGPU || (variant !== LEFT_OUT && variants[variant]!.backend === 'webgpu')

/**
 * Throws OptionError or DTypeError for a product that WebGPU is to compute by name, or because its matrices are on its device, and doesn't. If only
 * the environment names WebGPU, the CPU computes it.
 */
export function requireWebGpuKind(product: Product): void {
  const { call } = product
  const refusal = isByWebGpu(call) ? refusalOf(product) : null
  if (refusal === null) return
  if (call.session || isWebGpuByName(call)) throw refusal
  call.place = onCpuInstead()
}

/** Makes a call one that blocks: WebGPU answers only while JavaScript's thread is free, so `auto` is the CPU. */
export function requireBlocking(call: Call): void {
  if (isWebGpuByName(call) || call.session?.backend === 'webgpu') {
    throw new OptionError(
      'mpmmSync blocks the thread, and WebGPU answers only while that is free: use await mpmm(…), or another backend',
    )
  }
  if (call.place.backend === WEBGPU) call.place = { backend: CPU, ...ready(CPU), atOnce: true }
}

/** Fewest steps of a product for which `auto` looks for WebGPU: as many as of 512³, about 2 ms on a CPU. */
const LEAST_STEPS = 2 ** 27

/** Whether the GPU was lost: from then on `auto` takes the CPU. */
let wasLost = false

/**
 * Returns whether `auto` gives a product to WebGPU: a large one on a host without CUDA, with a GPU that was measured to compute products
 * of its kind in less time than the CPU. Looks for the GPU and measures once.
 */
export async function isFasterByWebGpu(product: Product, measure: Measure): Promise<boolean> {
  const { call, batch, m, n, k, type } = product
  const { backend, variant, devices, device } = call.options
  const steps = batch * m * n * k
  const isOpen = backend === AUTO && variant === LEFT_OUT && devices === 0 && automaticBackend() === AUTO
  if (!isOpen || call.session || wasLost || steps < LEAST_STEPS || refusalOf(product)) return false
  if (builtWithCuda && addon.explain(indexOf(device)).backend === 'cuda') return false
  looked ??= lookForGpu()
  const gpu = await looked
  if (gpu.reason !== '' || gpu.adapter?.isFallback) return false
  const witness = call.asked.length > 0
  const kind = { semiring: call.algebra.name, dtype: typeNameOf(type), witness, m, n, k: batch * k }
  return takesWebGpu(gpuName(gpu), kind, measure)
}

/** `auto` looks once: a host has a GPU or it hasn't. */
let looked: ReturnType<typeof lookForGpu> | undefined

/** Place of products that `auto` gives to WebGPU. */
export const onWebGpu = (): Place => ({ backend: WEBGPU, ...ready(WEBGPU), atOnce: false })

/** Place of products that `auto` computes on the CPU after WebGPU has not. */
export const onCpuInstead = (): Place => ({ backend: CPU, ...ready(CPU), atOnce: false })

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
