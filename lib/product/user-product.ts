/** Types of products over custom semirings, which lib/semirings computes. */
import type { BackendName } from '../backend-name.js'
import type { DeviceMatrix } from '../device/device.js'
import type { DenseMatrix, MatrixLike } from '../matrix.js'
import type { LaneArray, Lanes, LaneType, UserSemiring } from '../user-semiring.js'
import type { AnyWitness, MpmmOptions } from './options.js'
import type { IsOnDevice, MpmmResult } from './result.js'

/** A lane on a device. Lanes of uint32 are int32 there, with equal bits. */
type LaneOnDevice<T extends LaneType> = DeviceMatrix<T extends 'float32' ? Float32Array : Int32Array>

/** A lane of an operand. */
type LaneOperand<T extends LaneType> = MatrixLike<LaneArray<T>> | LaneOnDevice<T>

/**
 * A matrix of elements of a semiring: a matrix, or an array of them, one for each lane. Each of them is a {@link MatrixLike} of a
 * {@link LaneArray}, or a {@link DeviceMatrix}, on which lanes of uint32 are int32 with equal bits.
 */
export type UserOperand<L extends Lanes> = L extends readonly LaneType[]
  ? { readonly [Lane in keyof L]: LaneOperand<Extract<L[Lane], LaneType>> }
  : L extends LaneType
    ? LaneOperand<L>
    : never

/** A new matrix over a custom semiring: a matrix for each lane, on a device if any of the operands, or of their lanes, is. */
type NewUserMatrix<L extends Lanes, Operands> = L extends readonly LaneType[]
  ? { [Lane in keyof L]: NewUserMatrix<Extract<L[Lane], LaneType>, Operands> }
  : L extends LaneType
    ? IsOnDevice<Operands> extends true
      ? LaneOnDevice<L>
      : DenseMatrix<LaneArray<L>>
    : never

/** The type of a product's c: `out` if it was given; on a device if any matrix is. */
export type UserResultOf<L extends Lanes, Operands, Out> = [Out] extends [undefined]
  ? NewUserMatrix<L, Operands>
  : Out

/** The options of products over a custom semiring. `undefined` means the default. */
export interface UserProductOptions<
  L extends Lanes = Lanes,
  Out extends UserOperand<L> | undefined = UserOperand<L> | undefined,
  C0 extends UserOperand<L> | boolean | undefined = UserOperand<L> | boolean | undefined,
  Witness extends AnyWitness = AnyWitness,
> extends Pick<MpmmOptions, 'backend' | 'device' | 'devices' | 'structure' | 'signal' | 'onProgress'> {
  /** Semiring from `semiring()` of mpmml/semirings. */
  semiring: UserSemiring<L>
  /**
   * Matrix to write into, see {@link MpmmOptions.out}; an array with one matrix per lane if elements have
   * lanes.
   */
  out?: Out | undefined
  /**
   * C0 of C0 ⊕ A⊗B, see {@link MpmmOptions.accumulate}; an array with one matrix per lane if elements have
   * lanes.
   */
  accumulate?: C0 | undefined
  /**
   * Whether to return the argmax index of each element, see {@link MpmmOptions.witness}. Only for `selective`
   * semirings. The index is the smallest k whose candidate equals the result bit for bit; −1 if the result is
   * zero, or if only `accumulate` attains it.
   */
  witness?: Witness
}

/** Result of a product over a custom semiring. */
export interface UserProductResult<C = unknown>
  extends Pick<MpmmResult, 'backend' | 'device' | 'devices' | 'timing' | 'gops' | 'structure'> {
  /** The product: `out` itself if it was given, otherwise a new row-major matrix, one for each lane; on a device if an operand is. */
  c: C
}

/** A product of {@link mpmmGrouped} over a custom semiring. */
export interface UserGroupedProduct<L extends Lanes = Lanes> extends Pick<UserProductOptions, 'structure'> {
  /** The left operand, [rows, k] or [batch, rows, k]. */
  a: UserOperand<L>
  /** The right operand, [k, cols] or [batch, k, cols]. */
  b: UserOperand<L>
  /**
   * Matrix to write into, see {@link MpmmOptions.out}. It must not overlap a matrix of another product of the
   * group.
   */
  out?: UserOperand<L> | undefined
  /** Matrix to accumulate to, see {@link MpmmOptions.accumulate}. */
  accumulate?: UserOperand<L> | boolean | undefined
}

/** The options of {@link mpmmGrouped} for products over a custom semiring. */
export type UserGroupedOptions<L extends Lanes = Lanes, Witness extends AnyWitness = AnyWitness> = Pick<
  UserProductOptions<L, undefined, undefined, Witness>,
  'semiring' | 'backend' | 'device' | 'devices' | 'witness' | 'structure' | 'signal'
>

/** The options of {@link star} and {@link power} over a custom semiring. */
export type UserAlgebraOptions<L extends Lanes = Lanes> = Pick<
  UserProductOptions<L>,
  'semiring' | 'backend' | 'device' | 'devices' | 'signal' | 'onProgress'
>

/** Result of {@link star} and {@link power} over a custom semiring. */
export interface UserAlgebraResult<C = unknown> {
  /** The result, of a's shape, row-major; a matrix for each lane if elements have lanes; on a device if a is. */
  c: C
  /** Backend that computed the result. */
  backend: BackendName
  /** The name of the GPU or of the processor. */
  device: string
  /** Milliseconds. */
  timing: {
    /** Milliseconds from the call to the result. */
    totalMs: number
    /** Milliseconds of the computation, without copies between arrays and the device. */
    kernelMs: number
  }
}
