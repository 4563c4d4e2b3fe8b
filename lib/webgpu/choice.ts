/**
 * The choice between WebGPU and the CPU: products of a kind are timed once on this machine, and the result is
 * kept for the process. In Node.js `mpmml tune --backend webgpu` stores the choice on disk.
 */
import { type MeasuredChoice, storedChoices } from './stored-choices.js'

/** Kind of products, and the sizes of one of them. */
export interface ProductKind {
  readonly semiring: string
  readonly dtype: string
  readonly witness: boolean
  readonly m: number
  readonly n: number
  readonly k: number
}

/** Milliseconds of a product of this kind on a backend, from array to array. */
export type Measure = (kind: ProductKind, backend: 'webgpu' | 'cpu') => Promise<number>

/**
 * Limit of the steps of a timed product: 1024³. Larger products of a kind are assumed to have an equal rate.
 */
const MAX_STEPS = 2 ** 30

/** Returns a kind of products: semiring, type, whether there is a witness, and the steps as a power of two. */
export function nameOfKind({ semiring, dtype, witness, m, n, k }: ProductKind): string {
  const size = Math.floor(Math.log2(Math.min(m * n * k, MAX_STEPS)))
  return `${semiring} ${dtype}${witness ? ' witness' : ''} 2^${size}`
}

/** Returns the kind with sizes of at most as many steps as are timed. */
function scaled(kind: ProductKind): ProductKind {
  const { m, n, k } = kind
  const factor = Math.min(1, Math.cbrt(MAX_STEPS / (m * n * k)))
  const size = (side: number) => Math.max(1, Math.floor(side * factor))
  return { ...kind, m: size(m), n: size(n), k: size(k) }
}

/** Times a kind of products on both backends. The first product of WebGPU compiles kernels and isn't counted. */
export async function measureKind(kind: ProductKind, measure: Measure): Promise<MeasuredChoice> {
  const product = scaled(kind)
  await measure(product, 'webgpu')
  const webgpuMs = await measure(product, 'webgpu')
  return { kind: nameOfKind(kind), webgpuMs, cpuMs: await measure(product, 'cpu') }
}

const chosen = new Map<string, Promise<boolean>>()

/** Returns whether products of a kind take less time by WebGPU on the GPU of this name. */
export function takesWebGpu(gpu: string, kind: ProductKind, measure: Measure): Promise<boolean> {
  const name = nameOfKind(kind)
  const stored = storedChoices(gpu).find((choice) => choice.kind === name)
  let choice = chosen.get(name)
  if (choice === undefined) {
    choice = decide(stored ?? measureKind(kind, measure))
    chosen.set(name, choice)
  }
  return choice
}

async function decide(measuring: MeasuredChoice | Promise<MeasuredChoice>): Promise<boolean> {
  try {
    const { webgpuMs, cpuMs } = await measuring
    return webgpuMs < cpuMs
  } catch {
    // A backend that can't be measured isn't chosen. A product that names WebGPU explicitly reports the
    // error.
    return false
  }
}
