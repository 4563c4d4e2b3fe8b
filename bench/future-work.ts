/**
 * Times the future work of the thesis: products of triangles and bands, and the interaction of RNA strands.
 * Speeds count only the steps that are needed.
 */
import type { BackendName } from '../lib/index.js'
import { type Device, mpmm, type ProductStructure, type VariantName } from '../lib/index.js'
import { bpmax, type FoldResult, nussinov } from '../lib/rna.js'
import { repeat } from './experiment.js'
import { Draw } from './random.js'
import { integers } from './timing/values.js'

/** Structure of the product of two upper-triangular tables of a recurrence. */
export const triangles: Required<ProductStructure> = { a: 'upper', b: 'upper', c: 'upper' }

/** Times of repeated runs of one computation. */
export interface Timed {
  ms: number[]
  /** Number of (⊕, ⊗) steps of each repetition. */
  steps: number
  backend: BackendName
  device: string
  /** Variant and arithmetic of the product. */
  how: string
}

async function timed(
  repetitions: number,
  warmUp: number,
  call: () => Promise<Omit<Timed, 'ms'> & { ms: number }>,
): Promise<Timed> {
  const samples = await repeat(repetitions, warmUp, call)
  return { ...samples.at(-1)!, ms: samples.map(({ ms }) => ms) }
}

/** Returns the speed of each repetition in 10^9 operations per second. */
export const gopsOf = ({ ms, steps }: Timed): number[] => ms.map((one) => (2 * steps) / one / 1e6)

export interface ProductRequest {
  n: number
  batch?: number
  structure?: ProductStructure
  variant?: VariantName
  repetitions: number
}

/**
 * Times the kernel of square products of resident int32 matrices in ms. Products are accumulated, as in the
 * recurrences.
 */
export async function timeProduct(device: Device, request: ProductRequest): Promise<Timed> {
  const { n, batch = 1, structure, variant, repetitions } = request
  const shape = batch === 1 ? ([n, n] as const) : ([batch, n, n] as const)
  using a = await device.upload(repeated(integers([n, n], 1), batch))
  using b = await device.upload(repeated(integers([n, n], 2), batch))
  using out = await device.full(shape, 0)
  return await timed(repetitions, 2, async () => {
    const result = await mpmm(a, b, { out, accumulate: true, structure, variant })
    const { kernelMs } = result.timing
    const { backend, device: name } = result
    const steps = (result.gops * kernelMs * 1e6) / 2
    return { ms: kernelMs, steps, backend, device: name, how: `${result.variant}, ${result.arithmetic}` }
  })
}

function repeated(one: ReturnType<typeof integers>, batch: number): ReturnType<typeof integers> {
  if (batch === 1) return one
  const data = new Int32Array(batch * one.data.length)
  for (let item = 0; item < batch; item++) data.set(one.data, item * one.data.length)
  const [rows, cols] = one.shape as readonly [number, number]
  return { data, shape: [batch, rows, cols], strides: [rows * cols, cols, 1], offset: 0 }
}

/** Returns a random strand of RNA. */
export function strandOf(length: number, seed: number): string {
  const draw = new Draw(seed)
  return Array.from({ length }, () => draw.pick(['A', 'C', 'G', 'U'])).join('')
}

interface Where {
  backend: BackendName
  device: number
  repetitions: number
}

/** Times whole calls of bpmax with strands of n and m bases. */
export async function timeInteraction(n: number, m: number, where: Where): Promise<Timed> {
  const { repetitions, ...placement } = where
  const [first, second] = [strandOf(n, 1), strandOf(m, 2)]
  return timed(repetitions, 1, async () => {
    const { timing, steps, backend, device } = await bpmax(first, second, placement)
    return { ms: timing.totalMs, steps, backend, device, how: '' }
  })
}

/** Times calls of nussinov with `count` strands of n bases, end to end. */
export async function timeFolding(count: number, n: number, where: Where): Promise<Timed> {
  const { repetitions, ...placement } = where
  const strands = Array.from({ length: count }, (_, index) => strandOf(n, index))
  // The recurrence splits each interval of a strand at all of its bases except one.
  const steps = (count * n * (n * n - 1)) / 6
  return timed(repetitions, 1, async () => {
    const [{ timing, backend, device }] = (await nussinov(strands, placement)) as [FoldResult]
    return { ms: timing.totalMs, steps, backend, device, how: '' }
  })
}
