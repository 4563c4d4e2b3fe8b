/** The result of a product: from native code's report to what the user gets. */

import { deviceName } from '../backend.js'
import { DeviceMatrix } from '../device/device.js'
import { ResidentView, SharedMemory } from '../device/resident.js'
import { reportAt as at } from '../fields.js'
import { shapeOf } from '../layout.js'
import { type DenseMatrix, rowMajor } from '../matrix.js'
import { addon, type NativeMemory, type NativeVariant } from '../native.js'
import type { ElementArray } from '../storage.js'
import type { VariantName } from '../variant-names.js'
import type { AnyResult } from './options.js'
import type { Product } from './request.js'

/** What a product gives. */
export interface MpmmResult<C extends AnyResult = DenseMatrix> {
  /** The product: `out` itself if it was given, otherwise a new row-major matrix; on a device if an operand is. */
  c: C
  /** What computed it. */
  backend: 'cuda' | 'cpu'
  /** The name of the GPU or of the processor. */
  device: string
  /** The kernel variant that computed it. */
  variant: VariantName
  /**
   * How it was computed. The values of the operands decide; results of integers are exact on every path. 'direct': sums in
   * the element type itself, the only path for floating-point elements. 'translated': the same, with another value in place
   * of the semiring's zero. 'half' and 'half-translated': 16-bit sums, after an offset is subtracted from each operand.
   * 'exponent' and 'exponent-wide': on tensor cores, as exponents of numbers, if there are few levels.
   * 'wide': 64-bit sums. 'wrapping': 64-bit sums, the finite ones modulo 2^32.
   */
  path: string
  /** Milliseconds. */
  timing: {
    /** The whole work outside JavaScript. */
    totalMs: number
    /** The kernel: on the GPU without anything else, on the CPU with the packing of the operands. */
    kernelMs: number
    /** Finding the range of the values; 0 if the packing does it. */
    analysisMs: number
    /** The copy of the operands to the GPU; 0 on the CPU, and for operands that are there. */
    h2dMs: number
    /**
     * The copy of the result from the GPU; 0 on the CPU, for results that stay there, and for small products, whose kernels
     * write to host memory.
     */
    d2hMs: number
  }
  /** 10^9 operations per second of kernel time, with 2 operations (⊗ and ⊕) in each of the batch·M·N·K steps; 0 if no kernel ran. */
  gops: number
}

const { variants, backends, paths } = addon

/** The memory that native code made for a result; null if it made none. */
export function sharedMemory(product: Product, made: NativeMemory | undefined): SharedMemory | null {
  return made === undefined ? null : new SharedMemory(made, product.session!)
}

/** What the user gets; the report's fields begin at `start`. `made` is the memory of a result on a device. */
export function resultOf<C extends AnyResult>(
  product: Product,
  made: SharedMemory | null,
  report: Float64Array,
  start = 0,
): MpmmResult<C> {
  const kernelMs = report[start + at.kernelMs]!
  const variant = variants[report[start + at.variant]!] as NativeVariant
  const { batch, m, n, k, session } = product
  return {
    c: (product.out ? product.outValue : newMatrix(product, made)) as C,
    backend: backends[report[start + at.backend]!]!,
    device: session ? session.name : deviceName(report[start + at.device]!),
    variant: variant.name,
    path: paths[report[start + at.path]!]!,
    timing: {
      totalMs: report[start + at.totalMs]!,
      kernelMs,
      analysisMs: report[start + at.analysisMs]!,
      h2dMs: report[start + at.h2dMs]!,
      d2hMs: report[start + at.d2hMs]!,
    },
    gops: kernelMs > 0 ? (2 * batch * m * n * k) / kernelMs / 1e6 : 0,
  }
}

function newMatrix({ c }: Product, made: SharedMemory | null): DenseMatrix<ElementArray> | DeviceMatrix {
  if (made) return new DeviceMatrix(new ResidentView(made, c))
  const shape = shapeOf(c)
  return { data: c.data as ElementArray, shape, strides: rowMajor(shape), offset: 0 }
}
