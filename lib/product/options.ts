/** The options of a product, read once and checked. */
import { signal } from '../abort.js'
import { assertDevicesOnly, whereSet } from '../backend.js'
import type { BackendChoice } from '../backend-name.js'
import { semiring } from '../built-in-semirings.js'
import type { DeviceMatrix } from '../device/device.js'
import { OptionError } from '../errors.js'
import type { MatrixLike } from '../matrix.js'
import { type AuxiliaryName, addon, indexIn } from '../native.js'
import {
  boolean,
  checkedLater,
  listener,
  type Option,
  Options,
  type OptionsOf,
  option,
  type ReadOf,
  readChoice,
  UNSET,
} from '../options.js'
import type { ElementArray, OperandArray } from '../storage.js'
import type { Semiring, VariantName } from '../variant-names.js'
import { variantIndex } from '../variants.js'
import type { Progress } from './progress.js'
import { type ProductStructure, structure } from './structure.js'

/** Policy for a finite sum that decides a result and is outside the finite range of int32. */
export type Overflow = 'throw' | 'saturate' | 'wrap'

/** An operand of a product: in an array, or on a device. */
export type AnyOperand<Data extends OperandArray = OperandArray> = MatrixLike<Data> | DeviceMatrix<Data>

export type { ElementsOf } from '../element-types.js'
export type { Progress }

/** Destination of a result. */
export type AnyResult = MatrixLike<ElementArray> | DeviceMatrix<ElementArray>

/** Type of the option `witness`. */
export type AnyWitness = boolean | undefined

/** Type of the option `accumulate`. */
export type AnyAccumulate = AnyResult | boolean | undefined

/** The options of {@link mpmm}. `undefined` means the default. */
export interface MpmmOptions<
  Out extends AnyResult | undefined = MatrixLike,
  Witness extends AnyWitness = AnyWitness,
  C0 extends AnyAccumulate = AnyAccumulate,
> {
  /** The semiring of the product; 'max-plus' by default. */
  semiring?: Semiring | undefined
  /**
   * Matrix of the result's shape to write into, which is then the result's `c`. Its elements must overlap
   * neither each other nor the operands. Interleaved parts of one array count as overlapping if their strides
   * don't nest, such as 3 and 2. If an operand is a {@link DeviceMatrix}, `out` must be one, too. After
   * ERR_MPMML_ABORTED and ERR_MPMML_CUDA its content is unspecified; after any other error it is unchanged.
   */
  out?: Out | undefined
  /**
   * C0 of C0 ⊕ A⊗B: a matrix of the result's shape, or one matrix for every product of a batch, or `true` for
   * the content of `out`. C0 may be `out` itself, but must not overlap it otherwise.
   */
  accumulate?: C0 | undefined
  /**
   * 'auto', the default, selects CUDA if it can be used and the product is large enough and fits into device
   * memory, otherwise the CPU. The environment variable MPMML_BACKEND (auto, cuda, webgpu or cpu) overrides
   * 'auto'. 'cuda' and 'webgpu' are errors without a usable GPU. Without CUDA, 'auto' computes large products
   * by WebGPU if a measurement showed that the GPU is faster than the CPU. docs/webgpu.md lists the products
   * that 'webgpu' computes. mpmmSync rejects 'webgpu', which can't block. Products of matrices on a device
   * are always computed by that device.
   */
  backend?: BackendChoice | undefined
  /** Index of the CUDA device; 0 by default. The CPU ignores this option. */
  device?: number | undefined
  /**
   * CUDA devices that compute together: 'all' devices, or an array of indices. Each computes rows of the
   * result (batch entries of a batch). A product uses only as many of the devices as make it faster, and its
   * result lists them in `devices`. The values don't depend on the devices. Without a GPU 'all' counts as
   * omitted. Not together with `device`.
   */
  devices?: 'all' | readonly number[] | undefined
  /**
   * Name of the kernel variant from {@link variants} that computes the product. A variant that can't compute
   * the product is an error. The variant implies the backend.
   */
  variant?: VariantName | undefined
  /**
   * Policy for a finite sum that decides a result and is outside the finite range: 'throw', the default,
   * rejects the product with ERR_MPMML_OVERFLOW; 'saturate' stores the nearest finite value; 'wrap' computes
   * finite sums modulo 2^32 (a sum that wraps onto the value of the semiring's zero is zero). Only for int32
   * and uint8: floating-point results that are too large become infinities, as in IEEE 754. In semirings
   * without sums, such as max-min and or-and, nothing can overflow, and the option has no effect.
   */
  overflow?: Overflow | undefined
  /**
   * Whether to return the argmax index of each element, the k that decides it. The result then has a
   * `witness`, an int32 matrix of the shape of c. Its element is the smallest k for which A[i, k] ⊗ B[k, j],
   * after `overflow` is applied, equals C[i, j]. The element is −1 if C[i, j] is the semiring's zero, or if
   * only `accumulate` attains it. Not allowed if every k contributes to a result, such as in 'plus-times'.
   */
  witness?: Witness
  /**
   * Elements of the matrices that belong to the product; all by default. Elements of a and b outside the
   * structure count as the semiring's zero and are never read. Only steps with both elements inside are
   * computed and counted. Elements of c outside the structure are no results: they stay unchanged in `out`,
   * are the semiring's zero in a new c, and −1 in a witness. They can't overflow. See {@link
   * MatrixStructure}.
   */
  structure?: ProductStructure | undefined
  /** Aborts the work with ERR_MPMML_ABORTED and the signal's reason as `cause`. */
  signal?: AbortSignal | undefined
  /**
   * Listener of the progress, called four times per second while the product runs, and with `done: 1` after
   * its success. A product of less than a quarter of a second never calls it. If the listener throws, the
   * product is aborted and rejects with that error. Not allowed in mpmmSync.
   */
  onProgress?: ((progress: Progress) => void) | undefined
}

/** Options of auxiliary outputs. */
export const auxiliarySet = { witness: boolean(false) } satisfies Record<AuxiliaryName, Option<boolean>>

/** Options of long-running work: abort and progress. */
export const longWorkSet = { signal, onProgress: listener<Progress>() }

// Reading a property of the addon's object at each product would take longer.
const { overflowPolicies } = addon
export const THROW = indexIn(overflowPolicies, 'throw')

/** The option `overflow` as an index into the addon's list; {@link UNSET} if it isn't given. */
export const overflow = option(
  UNSET,
  (value, name) => readChoice(overflowPolicies, value, name),
  overflowPolicies,
)

/** The option `variant` as an index into the addon's list; {@link UNSET} if it isn't given. */
export const variant = option(UNSET, variantIndex)

/** The options of a product, with a semiring of the library. */
export const productSet = {
  semiring,
  // Matrices are read later, with the operands.
  out: checkedLater(),
  accumulate: checkedLater(),
  ...whereSet,
  variant,
  overflow,
  ...auxiliarySet,
  structure,
  ...longWorkSet,
} satisfies OptionsOf<MpmmOptions>

const productOptions = new Options(productSet)

/** Options as indices into the addon's lists; matrices and the signal as they came. */
export type ReadOptions = ReadOf<typeof productOptions>

/** Options that the products of a call have in common, apart from their algebra. */
export type CallOptions = Omit<ReadOptions, 'semiring' | 'out' | 'accumulate'>

const leftOut = productOptions.read(undefined)

/** Returns a product's options from some of them; the other options have their defaults. */
export function asProduct(some: Partial<ReadOptions>): ReadOptions {
  const read = { ...leftOut, ...some }
  assertDevicesOnly(read)
  return read
}

/** Throws OptionError for a listener of a product that is computed before the call returns. */
export function refuseListener({ onProgress }: CallOptions): void {
  if (!onProgress) return
  throw new OptionError(
    'mpmmSync blocks the thread that option onProgress is called on: leave it out, or use mpmm',
  )
}
