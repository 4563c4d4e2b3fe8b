/** Measures one kernel variant on one product: kernel time and peak rate. The result is verified. */
import {
  info,
  type MpmmlError,
  matrix,
  mpmm,
  plan,
  type Shape,
  type Variant,
  type VariantName,
  variants,
} from '../../lib/index.js'
import { machine, type Spread, tensorPeak } from '../../lib/lab.js'
import type { ProductShape } from '../arguments.js'
import { type Verification, verifyRows } from '../verify.js'
import { ceilingOf, measureCeiling, repeatedly, timeKernel } from './products.js'
import { newArray, operandsOf, type ValueKind, valueKinds } from './values.js'

interface VariantRequest {
  variant: VariantName
  /** `batch` is the thesis' Ninst: products in one launch, the third dimension of the grid. */
  shape: ProductShape
  device: number
  repetitions: number | null
  wantsCeiling: boolean
}

export interface VariantRecord {
  variant: Variant
  shape: ProductShape
  values: ValueKind
  /** Name of the GPU or the CPU. */
  device: string
  kernelMs: Spread
  /** Time of packing or transposing before the kernel; null on the CPU. */
  prepareMs: Spread | null
  /** Speed of the kernel in 10^9 operations per second, with 2 operations per step. */
  gops: Spread
  /** Speed of steps on registers, in 10^9 operations per second; null if unknown or not requested. */
  ceilingGops: number | null
  verified: Verification & { rows: number }
}

/** Kinds of values, the widest first: a variant is measured on the first kind that it can compute exactly. */
const kinds: readonly ValueKind[] = [
  'int32',
  '16bit',
  'levels',
  'bounded',
  'float32',
  'float32-levels',
  'float64',
  'uint8',
]

/**
 * @throws ArgumentError if the variant doesn't exist in this build or can't compute the product;
 * VerificationError if its result is wrong; the signal's reason.
 */
export async function measureVariant(request: VariantRequest, signal: AbortSignal): Promise<VariantRecord> {
  const { variant: name, shape, device, repetitions } = request
  const variant = variants().find((row) => row.name === name)
  if (!variant) {
    const one = matrix(1, 1)
    await plan(one, one, { variant: name })
    throw new Error(`${name} is no variant`)
  }
  const { backend, semiring, dtype } = variant
  if (backend === 'cuda') machine(device)
  const { a, b, values, path } = await operandsFor(variant, request)
  const { batch, m, n } = shape
  const size: Shape = batch === 1 ? [m, n] : [batch, m, n]
  const options = {
    semiring,
    variant: name,
    device,
    signal,
    out: matrix(size, newArray(dtype, batch * m * n)),
  }
  const once = () => mpmm(a, b, options)
  const product = await once()
  const verified = await verifyRows(a, b, { semiring, signal }, product)
  const kernel = { backend, device, dtype, semiring, repetitions, products: [] }
  const called =
    backend === 'cuda'
      ? []
      : await repeatedly(
          kernel,
          1,
          async () => (await once()).timing.kernelMs,
          (ms) => ms,
        )
  const { kernelMs, gops, prepareMs } = await timeKernel(kernel, { ...shape, values }, name, called)
  signal.throwIfAborted()
  return {
    variant,
    shape,
    values,
    device: product.device,
    kernelMs,
    prepareMs,
    gops,
    ceilingGops: request.wantsCeiling ? await ceilingFor(variant, path, device) : null,
    verified,
  }
}

async function ceilingFor({ backend, semiring, dtype }: Variant, path: string, device: number) {
  if (backend === 'webgpu') return null
  const onGpu = backend === 'cuda'
  const ceiling = await measureCeiling({ device, dtype, semiring }, onGpu ? null : info().cpu.threads)
  const tensorGops = (onGpu && tensorPeak(machine(device))) || null
  return ceilingOf(path, { ceiling, tensorGops }) ?? null
}

/** Returns operands of the first kind of values that the variant can compute. */
async function operandsFor({ name, semiring, dtype }: Variant, { shape, device }: VariantRequest) {
  let refused: unknown
  for (const values of kinds.filter((kind) => valueKinds[kind].dtype === dtype)) {
    const { a, b } = operandsOf(shape, values, { semiring, inElements: true })
    try {
      const { arithmetic: path } = await plan(a, b, { semiring, variant: name, device })
      return { a, b, values, path }
    } catch (error) {
      if ((error as MpmmlError).code !== 'ERR_MPMML_VARIANT') throw error
      refused ??= error
    }
  }
  throw refused
}
