/** Types of products on a GPU. */
import type { ReadPart } from './device.js'
import type { StoredBits } from './kernels/arithmetic.js'
import type { Kind, TileRows } from './plan.js'

/** Matrices of a batch in memory of a GPU. Offsets and strides count elements. */
export interface GpuView {
  readonly buffer: GPUBuffer
  readonly bits: StoredBits
  readonly offset: number
  readonly batchStride: number
  readonly rowStride: number
  readonly colStride: number
}

/** A product of one block. Results are row-major, `c` and `witness` with these strides. */
export interface ProductTask {
  readonly kind: Kind
  readonly rows: TileRows
  readonly batch: number
  readonly m: number
  readonly n: number
  readonly k: number
  readonly a: GpuView
  readonly b: GpuView
  readonly c0: GpuView | null
  readonly c: GpuView
  readonly witness: GpuView | null
  /** Index in the addon's overflowPolicies. */
  readonly policy: number
  /** Throws if the work was aborted. */
  readonly check: () => void
}

/** A product that was submitted. Its result may be used when `status` was read and `verify` has returned. */
export interface Submitted {
  readonly status: ReadPart & { into: Int32Array<ArrayBuffer> }
  readonly path: string
  /** Throws if the result isn't that of the product; {@link RETRY_WIDE} if sums need 33 bits. */
  verify(): void
  /** Index of the first result outside the finite range; −1 if there is none. */
  fault(): number
  /** Time of the kernel; undefined if the device has no timestamps. */
  kernelMs(): number | undefined
  release(): void
}
