/** Closures of weights: what star and plus and the graph functions have in common. */
import type { DeviceMatrix } from '../device/device.js'
import type { DenseMatrix } from '../matrix.js'
import type { ReadOptions } from '../product/options.js'
import type { ElementArray } from '../storage.js'
import type { View } from '../view.js'

/** What is asked besides the options. */
export interface Closing {
  /** Whether the diagonal is ⊕ one: paths of no edges. */
  readonly reflexive: boolean
  /** Whether `next` is wanted. */
  readonly next: boolean
  /** What messages call the weights; 'a' by default. */
  readonly name?: string
}

/** A closure: on the device of the weights if they are on one, else in arrays. */
export interface Closed {
  /** `options.out` itself if it was given. */
  readonly distances: DenseMatrix<ElementArray> | DeviceMatrix<ElementArray>
  /**
   * int32. For i ≠ j the node after i on a best path from i to j; −1 if there is none. On the diagonal −1 if `reflexive`, else
   * the node after i on a best cycle through i. Following it ends, cycles of weight one included; over floats, whose sums
   * are rounded, whoever follows it must still stop after n edges.
   */
  readonly next: DenseMatrix<Int32Array> | DeviceMatrix<Int32Array> | null
  readonly backend: 'cuda' | 'cpu'
  /** The name of the GPU or of the processor. */
  readonly device: string
  readonly timing: { readonly totalMs: number; readonly kernelMs: number }
}

/**
 * The closure of square matrices of weights, or of a batch. `weights` and `options` have been read (readView with the role
 * 'operand', readOptions); all else is checked here, and no user code runs before that.
 *
 * @throws Rejects with ShapeError (not square, `out`), DTypeError, OptionError (plus-times, overflow for floats, …),
 *   ValueError (NaN; negative in max-times), OverflowError, CycleError, DisposedError, DeviceError, NoCudaError,
 *   OutOfMemoryError, AbortedError, CudaError.
 */
export async function closeWeights(_weights: View, _options: ReadOptions, _closing: Closing): Promise<Closed> {
  throw new Error('closures are not built yet')
}
