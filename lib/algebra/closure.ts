/** The closures of matrices: A ⊕ A² ⊕ A³ ⊕ …, with and without the identity. */

import { type ClosureResult, computeClosure } from '../closure/closure.js'
import type { DeviceMatrix } from '../device/device.js'
import { type EdgeList, isEdgeList, type NamedEdgeList } from '../graph-core/edges.js'
import type { DenseMatrix, MatrixLike } from '../matrix.js'
import type { AnyOperand, AnyResult, ElementsOf } from '../product/options.js'
import type {
  UserAlgebraOptions,
  UserAlgebraResult,
  UserOperand,
  UserResultOf,
} from '../product/user-product.js'
import type { ElementArray, OperandArray } from '../storage.js'
import { type Lanes, userWorkOf } from '../user-semiring.js'
import { readView } from '../view.js'
import { type AlgebraOptions, type AlgebraResult, readAlgebraOptions } from './options.js'
import { listMatrix } from './weight-matrix.js'
import { keysOf } from './weights.js'

/**
 * The star A* = I ⊕ A ⊕ A² ⊕ …, over a semiring whose ⊕ takes the better of two: element [i, j] is the weight of the best
 * path from i to j, a path of no edges included. In min-plus these are the lengths of shortest paths, in max-plus those of
 * longest ones, in max-min the widths of widest ones, in max-times the reliabilities of most reliable ones, and in or-and it
 * is the transitive and reflexive closure.
 *
 * Works off the event loop, on a GPU or the CPU, in n³ steps (Floyd and Warshall). Over int32 results are exact whatever
 * the weights: what may leave the type on the way is computed in float64, which is exact up to 2^53. Over floats each sum is
 * rounded once, in an order that is the same on every backend. max-plus and min-plus may differ in the sign of a zero.
 *
 * If a cycle *gains*, going round it makes paths better and better, and the star doesn't exist: the promise is rejected
 * with CycleError, which has such a cycle. In max-plus that is a cycle of positive weight, in min-plus of negative, in
 * max-times one of more than 1; in max-min, min-max and or-and none gains. Over floats rounding may make a cycle whose weight is one
 * (0, or 1 in max-times) count as one that gains. An infinite weight that isn't the semiring's zero counts as any other.
 *
 * Don't write to, transfer or detach the arrays until the promise settles.
 *
 * @param a - n × n, or a batch of them as [batch, n, n]; the semiring's zero means no edge. It may be a {@link DeviceMatrix}: then
 *   so is the result, on the same device. An edge list is made a matrix first, as {@link weightMatrix} does.
 * @returns c, of a's shape, and how it was computed.
 * @throws Rejects with an {@link MpmmlError}: ERR_MPMML_CYCLE; ERR_MPMML_SHAPE if a isn't square or `out` doesn't fit;
 *   ERR_MPMML_VALUE for NaN, and a negative element of max-times; ERR_MPMML_OVERFLOW (see the option `overflow`);
 *   ERR_MPMML_DTYPE, ERR_MPMML_OPTION, ERR_MPMML_DISPOSED, ERR_MPMML_DEVICE, ERR_MPMML_NO_CUDA, ERR_MPMML_OUT_OF_MEMORY,
 *   ERR_MPMML_ABORTED, ERR_MPMML_CUDA. After an error `out` is as it was, except after ERR_MPMML_CUDA.
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
 * The star over a semiring of your own, which has to be `idempotent` and to have a `one`: I ⊕ A is squared
 * until it no longer changes (floats: by at most 2^−20 of each element), with one product per doubling of the
 * longest path. If paths of 4·n edges still change it, the promise is rejected with a CycleError, which has
 * no cycle.
 *
 * @throws Rejects with what the other form rejects with; ERR_MPMML_OPTION if a law is broken.
 */
export function star<L extends Lanes, A extends UserOperand<L>>(
  a: A,
  options: UserAlgebraOptions<L>,
): Promise<UserAlgebraResult<UserResultOf<L, A, undefined>>>
export async function star(a: unknown, options?: unknown): Promise<unknown> {
  const own = userWorkOf(options)
  return own ? own.star(a, options) : closed(a, options, true)
}

/**
 * The plus A⁺ = A ⊕ A² ⊕ A³ ⊕ …: as {@link star}, but of paths of at least one edge, so that element [i, i]
 * is the weight of the best cycle through i. Errors and options are those of star.
 *
 * @throws Rejects with what {@link star} rejects with.
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
