/** The closures of matrices: A ⊕ A² ⊕ A³ ⊕ …, with and without the identity. */

import { type ClosureResult, computeClosure } from '../closure/closure.js'
import type { DeviceMatrix } from '../device/device.js'
import { type EdgeList, isEdgeList, type NamedEdgeList } from '../graph-core/edges.js'
import type { DenseMatrix, MatrixLike } from '../matrix.js'
import type { AnyOperand, AnyResult, ElementsOf } from '../product/options.js'
import type { AlgebraResult } from '../product/result.js'
import type { UserAlgebraOptions, UserOperand, UserResultOf } from '../product/user-product.js'
import type { ElementArray, OperandArray } from '../storage.js'
import { type Lanes, userWorkOf } from '../user-semiring.js'
import { readView } from '../view.js'
import { type AlgebraOptions, readAlgebraOptions } from './options.js'
import { listMatrix } from './weight-matrix.js'
import { keysOf } from './weights.js'

/**
 * Computes the star A* = I ⊕ A ⊕ A² ⊕ …, over a semiring whose ⊕ selects the better of two values. Element
 * [i, j] is the weight of the best path from i to j, the empty path included. In min-plus elements are the
 * lengths of shortest paths, in max-plus the lengths of longest paths. In max-min elements are the widths of
 * widest paths, in max-times the values of most reliable paths. In or-and the star is the reflexive
 * transitive closure.
 *
 * Runs off the event loop, on a GPU or the CPU, in n³ steps (Floyd and Warshall). Over int32 results are
 * exact for all weights: intermediate values that may lie outside int32 are computed in float64, which is
 * exact up to 2^53. Over floats each sum is rounded once, in an order that is the same on every backend.
 * Backends may differ in the sign of a zero in max-plus and min-plus.
 *
 * If a cycle *gains*, every further round improves paths, and the star doesn't exist: the promise is rejected
 * with CycleError, which contains such a cycle. In max-plus a cycle of positive weight gains, in min-plus a
 * cycle of negative weight, in max-times a cycle of weight above 1. In max-min, min-max and or-and no cycle
 * gains. Over floats, rounding may let a cycle whose weight is the semiring's one (0, or 1 in max-times)
 * count as gaining. An infinite weight that isn't the semiring's zero counts as a normal weight.
 *
 * Don't write to, transfer or detach the arrays until the promise settles.
 *
 * @param a - n × n, or a batch of them as [batch, n, n]; the semiring's zero means no edge. If `a` is a
 * {@link DeviceMatrix}, the result is one on the same device. An edge list is converted to a matrix first,
 * see {@link weightMatrix}.
 * @returns c, of a's shape, and how it was computed.
 * @throws Rejects with an {@link MpmmlError}: ERR_MPMML_CYCLE; ERR_MPMML_SHAPE if a isn't square or `out`
 * doesn't fit; ERR_MPMML_VALUE for NaN, and a negative element of max-times; ERR_MPMML_OVERFLOW (see the
 * option `overflow`); ERR_MPMML_DTYPE, ERR_MPMML_OPTION, ERR_MPMML_DISPOSED, ERR_MPMML_DEVICE,
 * ERR_MPMML_NO_CUDA, ERR_MPMML_OUT_OF_MEMORY, ERR_MPMML_ABORTED, ERR_MPMML_CUDA. After an error `out` is
 * unchanged, except after ERR_MPMML_CUDA.
 * @see F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, Synchronization and Linearity, theorem 3.20
 * @example
 * const { c } = await star(matrix(2, 2, [-1, 2, -3, EPSILON]))
 * console.log(c.data.join()) // 0,2,-3,0
 */
export function star<Data extends OperandArray>(
  a: DeviceMatrix<Data>,
  options?: AlgebraOptions<DeviceMatrix<ElementsOf<Data>>>,
): Promise<AlgebraResult<DeviceMatrix<ElementsOf<Data>>>>
export function star<
  Data extends OperandArray,
  Out extends
    | DenseMatrix<ElementsOf<Data>>
    | MatrixLike<ElementsOf<Data>>
    | DeviceMatrix<ElementsOf<Data>> = DenseMatrix<ElementsOf<Data>>,
>(
  a: MatrixLike<Data> | (Data extends ElementArray ? EdgeList<Data> | NamedEdgeList<unknown, Data> : never),
  options?: AlgebraOptions<Out>,
): Promise<AlgebraResult<Out>>
/**
 * Computes the star over a custom semiring, which must be `idempotent` and have a `one`. I ⊕ A is squared
 * until it no longer changes, or over floats until no element changes by more than 2^−20 of its value. Each
 * product doubles the length of the paths. If paths of 4·n edges still change the result, the promise is
 * rejected with a CycleError without a cycle.
 *
 * @throws Rejects with the errors of the other overload; with ERR_MPMML_OPTION if a law is broken.
 */
export function star<L extends Lanes, A extends UserOperand<L>>(
  a: A,
  options: UserAlgebraOptions<L>,
): Promise<AlgebraResult<UserResultOf<L, A, undefined>>>
export async function star(a: unknown, options?: unknown): Promise<unknown> {
  const own = userWorkOf(options)
  return own ? own.star(a, options) : closed(a, options, true)
}

/**
 * Computes the plus A⁺ = A ⊕ A² ⊕ A³ ⊕ …, the {@link star} without the empty path: element [i, i] is the
 * weight of the best cycle through i. Options and errors are those of star.
 *
 * @throws Rejects with the errors of {@link star}.
 * @example
 * const { c } = await plus(matrix(2, 2, [-1, 2, -3, EPSILON]))
 * console.log(c.data.join()) // -1,2,-3,-1
 */
export function plus<Data extends OperandArray>(
  a: DeviceMatrix<Data>,
  options?: AlgebraOptions<DeviceMatrix<ElementsOf<Data>>>,
): Promise<AlgebraResult<DeviceMatrix<ElementsOf<Data>>>>
export function plus<
  Data extends OperandArray,
  Out extends
    | DenseMatrix<ElementsOf<Data>>
    | MatrixLike<ElementsOf<Data>>
    | DeviceMatrix<ElementsOf<Data>> = DenseMatrix<ElementsOf<Data>>,
>(
  a: MatrixLike<Data> | (Data extends ElementArray ? EdgeList<Data> | NamedEdgeList<unknown, Data> : never),
  options?: AlgebraOptions<Out>,
): Promise<AlgebraResult<Out>>
export function plus(
  a: AnyOperand | EdgeList | NamedEdgeList,
  options?: AlgebraOptions<AnyResult>,
): Promise<AlgebraResult<AnyResult>> {
  return closed(a, options, false)
}

async function closed(a: unknown, value: unknown, reflexive: boolean): Promise<AlgebraResult<AnyResult>> {
  const options = readAlgebraOptions(value)
  const listed = isEdgeList(a) ? await listMatrix(a, options) : null
  const view = readView(listed ? listed.matrix : a, 'a', 'operand')
  const { distances, backend, device, timing }: ClosureResult = await computeClosure(view, options, {
    reflexive,
    next: false,
    names: listed?.names,
  })
  return { c: distances as AnyResult, backend, device, timing: { ...timing }, ...(listed && keysOf(listed)) }
}
