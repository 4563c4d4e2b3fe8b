/** Computes residuals: the greatest solutions of A ⊗ X ≤ B and of X ⊗ B ≤ A. */

import { optionsOf, whereSet } from '../backend.js'
import type { BackendName } from '../backend-name.js'
import { BorrowedArrays, during } from '../borrowed.js'
import { assertSemiringType, readSemiring, storedZeroOf, zeroOf } from '../built-in-semirings.js'
import { showList } from '../describe.js'
import { type Device, DeviceMatrix, onHost } from '../device/device.js'
import { Resident, type Session } from '../device/resident.js'
import { FLOAT64, INT32, isNarrow, newUnwrittenArray, typeNameOf } from '../elements.js'
import { DeviceError, DTypeError, ShapeError } from '../errors.js'
import { type EdgeList, isEdgeList, type NamedEdgeList } from '../graph-core/edges.js'
import { inSlices, PER_SLICE, type Steps } from '../graph-core/slices.js'
import { MAX_INT32, MIN_INT32 } from '../integers.js'
import { shapeOf } from '../layout.js'
import { allocate, type DenseMatrix, type MatrixLike, rowMajorMatrix, type Shape } from '../matrix.js'
import { Options, type OptionsOf } from '../options.js'
import { outsideError, policy, policyFor, storedAs } from '../overflow.js'
import { mpmm } from '../product/multiply.js'
import { type AnyOperand, longWorkSet, type MpmmOptions, type Overflow } from '../product/options.js'
import { assertConsistent } from '../product/prepare.js'
import type { AlgebraResult, MpmmResult, ResultOf } from '../product/result.js'
import type { ElementArray, OperandArray } from '../storage.js'
import { type HostView, readBack } from '../view.js'
import { placementOf } from './options.js'
import { listMatrix } from './weight-matrix.js'
import { type SumSemiring, sumSemiring } from './weights.js'

/** The options of residuals. `undefined` means the default. */
export interface ResidualOptions
  extends Pick<MpmmOptions, 'backend' | 'device' | 'devices' | 'signal' | 'onProgress'> {
  /** 'max-plus' (default) for the greatest solutions; 'min-plus' for the least X of A ⊗ X ≥ B. */
  semiring?: SumSemiring | undefined
  /**
   * Policy for an element that is finite and outside of −2^31 + 1 to 2^31 − 2: 'throw', the default, rejects
   * with ERR_MPMML_OVERFLOW; 'saturate' stores the nearest value inside; 'wrap' stores the element modulo
   * 2^32. Only for int32.
   */
  overflow?: Overflow | undefined
}

const residualOptions = new Options({
  semiring: sumSemiring,
  overflow: policy,
  ...whereSet,
  ...longWorkSet,
} satisfies OptionsOf<ResidualOptions>)

/**
 * A function that computes a residual of two matrices, each in an array, on a device or as an edge list. The result is on a device if an
 * operand is, and in an array otherwise.
 */
export interface ResidualFunction {
  <
    A extends OperandArray = never,
    B extends OperandArray = never,
    ThereA extends OperandArray = never,
    ThereB extends OperandArray = never,
  >(
    a: MatrixLike<A> | DeviceMatrix<ThereA>,
    b: MatrixLike<B> | DeviceMatrix<ThereB>,
    options?: ResidualOptions,
  ): Promise<AlgebraResult<ResultOf<A, B, ThereA, ThereB>>>
  <Data extends ElementArray = Int32Array>(
    a: MatrixLike<Data> | EdgeList<Data> | NamedEdgeList<unknown, Data>,
    b: MatrixLike<Data> | EdgeList<Data> | NamedEdgeList<unknown, Data>,
    options?: ResidualOptions,
  ): Promise<AlgebraResult<DenseMatrix<Data>>>
}

const residualFunction = (left: boolean) =>
  (async (a: Listed, b: Listed, options?: ResidualOptions): Promise<AlgebraResult<AnyMatrix>> => {
    const began = performance.now()
    const request = await readRequest(a, b, options, left)
    const { c, backend, device, kernelMs } = await during(request.borrowed, () => compute(request))
    const placed = await request.place(c)
    return { c: placed, backend, device, timing: { totalMs: performance.now() - began, kernelMs } }
  }) as ResidualFunction

/**
 * Computes the residual A \ B: the greatest X with A ⊗ X ≤ B. Element [i, j] is the minimum over k of B[k, j]
 * − A[k, i], a product over min-plus of −Aᵀ and B.
 *
 * ε in A imposes no condition: ε ⊗ X ≤ B for every X. ε in B allows only ε: element [i, j] is ε if some B[k,
 * j] is ε and A[k, i] isn't. A column of A that contains only ε imposes no bound. The elements of the
 * greatest X are then ⊤: 2^31 − 1 in int32, Infinity in floats. ε ⊗ ⊤ = ε, so X can be multiplied with A
 * unchanged. Over int32 results are exact. Over floats each difference is rounded once, so A ⊗ X may exceed B
 * by a rounding error. Infinity in A and B is ⊤, and NaN imposes no condition.
 *
 * Matrices of a device are copied to the host, which computes −A. Their device computes the product and owns
 * the result. `onProgress` reports the progress of the product.
 *
 * @param a - M × N, or a batch of them as [batch, M, N]; an edge list, for a or b, is converted to a matrix
 * first, see {@link weightMatrix}.
 * @param b - M × P, or a batch of them. A single matrix, or a batch of one, is combined with every matrix of
 * the other operand.
 * @returns c, N × P, and how it was computed.
 * @throws Rejects with an {@link MpmmlError}: ERR_MPMML_SHAPE, ERR_MPMML_DTYPE, ERR_MPMML_OPTION,
 * ERR_MPMML_OVERFLOW (see the option), and the errors of {@link mpmm}.
 * @see F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, Synchronization and Linearity, on residuation; `maxpluslinsol` of Scilab's
 *   max-plus toolbox
 * @example
 * const { c } = await leftResidual(matrix(2, 2, [3, 7, 2, 4]), matrix(2, 1, [7, 4]))
 * console.log(c.data.join()) // 2,0
 */
export const leftResidual: ResidualFunction = residualFunction(true)

/**
 * Computes the residual A / B: the greatest X with X ⊗ B ≤ A. Element [i, j] is the minimum over k of A[i, k]
 * − B[j, k]. The rules of {@link leftResidual} apply, with B in place of A: a row of B that contains only ε
 * gives elements ⊤.
 *
 * @param a - M × P, or a batch of them as [batch, M, P].
 * @param b - N × P, or a batch of them.
 * @returns c, M × N, and how it was computed.
 * @throws Rejects with the errors of {@link leftResidual}.
 * @example
 * const { c } = await rightResidual(matrix(1, 2, [7, 4]), matrix(2, 2, [3, 2, 7, 4]))
 * console.log(c.data.join()) // 2,0
 */
export const rightResidual: ResidualFunction = residualFunction(false)

/** A matrix, or an edge list, which is converted to a matrix. */
type Listed = AnyOperand | EdgeList | NamedEdgeList

type AnyMatrix = DenseMatrix<ElementArray> | DeviceMatrix<ElementArray>

/** Result of {@link greatestSubsolution}. */
export interface Subsolution<X> extends Omit<AlgebraResult, 'c'> {
  /** The greatest x with A ⊗ x ≤ b. */
  x: X
  /** Whether A ⊗ x = b. If false, the equation has no solution. */
  solves: boolean
}

/**
 * Computes the greatest sub-solution of A ⊗ x = b, which is the greatest x with A ⊗ x ≤ b, and whether it
 * solves the equation. If the equation has a solution, x is the greatest one. In a production plan, x are the
 * latest starts that meet the deadlines b.
 *
 * Over floats row i counts as solved if some rounded difference b[i] − A[i, j] decides x[j].
 *
 * @param a - M × N.
 * @param b - M × 1, or M × P for P equations; then `solves` says whether all are solved.
 * @returns x, N × P, the result of {@link leftResidual}, with its options and errors.
 * @throws Rejects with the errors of {@link leftResidual}.
 * @see P. Butkovič, Max-linear Systems: Theory and Algorithms, section 3.1; `maxpluslinsol` of Scilab's max-plus toolbox
 * @example
 * const { x, solves } = await greatestSubsolution(matrix(2, 2, [3, 7, 2, 4]), matrix(2, 1, [7, 3]))
 * // A ⊗ x is (6, 3): there is no solution.
 * console.log(x.data.join(), solves) // 1,-1 false
 */
export function greatestSubsolution<
  A extends OperandArray = never,
  B extends OperandArray = never,
  ThereA extends OperandArray = never,
  ThereB extends OperandArray = never,
>(
  a: MatrixLike<A> | DeviceMatrix<ThereA>,
  b: MatrixLike<B> | DeviceMatrix<ThereB>,
  options?: ResidualOptions,
): Promise<Subsolution<ResultOf<A, B, ThereA, ThereB>>>
export function greatestSubsolution<Data extends ElementArray = Int32Array>(
  a: MatrixLike<Data> | EdgeList<Data> | NamedEdgeList<unknown, Data>,
  b: MatrixLike<Data> | EdgeList<Data> | NamedEdgeList<unknown, Data>,
  options?: ResidualOptions,
): Promise<Subsolution<DenseMatrix<Data>>>
export async function greatestSubsolution(
  a: Listed,
  b: Listed,
  options?: ResidualOptions,
): Promise<Subsolution<AnyMatrix>> {
  const began = performance.now()
  const request = await readRequest(a, b, options, true)
  for (const [view, name] of [
    [request.negated, 'a'],
    [request.unchanged, 'b'],
  ] as const) {
    if (view.batched)
      throw new ShapeError(`${name} must be one matrix, but its shape is ${showList(shapeOf(view))}`)
  }
  const { c, backend, device, kernelMs, solves } = await during(request.borrowed, async () => {
    const found = await compute(request)
    const solves = await inSlices(attained(request, found.c), request.signal, 'the check of the solution')
    return { ...found, solves }
  })
  const x = await request.place(c)
  return { x, solves, backend, device, timing: { totalMs: performance.now() - began, kernelMs } }
}

/** Checked call: the dual product of the matrix to negate and the other matrix. */
interface ResidualRequest {
  readonly left: boolean
  readonly negated: HostView
  readonly unchanged: HostView
  readonly borrowed: BorrowedArrays
  readonly semiring: SumSemiring
  readonly overflow: Overflow
  readonly signal: AbortSignal | undefined
  readonly where: Pick<MpmmOptions, 'backend' | 'device' | 'devices' | 'signal' | 'onProgress'>
  /** Moves the result to the device of the operands; returns the array if they are in arrays. */
  place(c: DenseMatrix<ElementArray>): Promise<AnyMatrix>
}

async function readRequest(
  a: Listed,
  b: Listed,
  options: ResidualOptions | undefined,
  left: boolean,
): Promise<ResidualRequest> {
  const {
    semiring,
    signal,
    overflow: chosen,
    onProgress,
    ...placementOptions
  } = residualOptions.read(options)
  const placement = placementOf(placementOptions)
  const session = sessionOf(a, b)
  if (session) assertConsistent(placement, session)
  const owner = session?.owner as Device | undefined
  const common = { signal, onProgress }
  const where = !owner
    ? { ...optionsOf(placementOptions), ...common }
    : owner.devices.length > 1
      ? { devices: owner.devices, ...common }
      : { backend: owner.backend, device: owner.index, ...common }
  const index = readSemiring(semiring)
  const hostOf = async (value: Listed) =>
    isEdgeList(value) ? (await listMatrix(value, { semiring: index, signal })).matrix : onHost(value)
  const [first, second] = await Promise.all([hostOf(a), hostOf(b)])
  const borrowed = new BorrowedArrays()
  const viewA = borrowed.view(readBack(first, 'a', 'operand'), 'a')
  const viewB = borrowed.view(readBack(second, 'b', 'operand'), 'b')
  if (viewA.type !== viewB.type) {
    throw new DTypeError(
      `a and b must be of one element type, but a is of ${typeNameOf(viewA.type)} and b of ${typeNameOf(viewB.type)}: convert one of them`,
    )
  }
  assertSemiringType(index, viewA.type)
  const overflow = policyFor(chosen, viewA.type)
  assertFit(viewA, viewB, left)
  const [negated, unchanged] = left ? [viewA, viewB] : [viewB, viewA]
  return {
    left,
    negated,
    unchanged,
    borrowed,
    semiring,
    overflow,
    signal,
    where,
    place: async (c) => (owner ? await owner.upload(c) : c),
  }
}

/** Returns the device of the matrices; undefined if both are in arrays. */
function sessionOf(a: unknown, b: unknown): Session | undefined {
  const [first, second] = [a, b].map((matrix) =>
    matrix instanceof DeviceMatrix ? Resident.viewOf(matrix)?.memory.session : undefined,
  )
  if (first && second && first !== second) {
    throw new DeviceError(
      'a and b must be on one device, but they are on two: upload one of them to the other',
    )
  }
  return first ?? second
}

function assertFit(a: HostView, b: HostView, left: boolean): void {
  const [came, expected, what] = left ? [b.rows, a.rows, 'rows'] : [b.cols, a.cols, 'columns']
  if (came !== expected) {
    throw new ShapeError(
      `b must have the ${expected} ${what} of a, but their shapes are ${showList(shapeOf(a))} and ${showList(shapeOf(b))}`,
    )
  }
  if (a.batch === b.batch || a.batch === 1 || b.batch === 1) return
  throw new ShapeError(
    `a and b must be batches of one size, but their shapes are ${showList(shapeOf(a))} and ${showList(shapeOf(b))}`,
  )
}

interface Computed {
  c: DenseMatrix<ElementArray>
  backend: BackendName
  device: string
  kernelMs: number
}

async function compute(request: ResidualRequest): Promise<Computed> {
  const { negated, unchanged, semiring, overflow, signal } = request
  // float64 has infinities of both signs, and is exact.
  const isWide = negated.type === INT32 && !(await inSlices(staysInt32(request), signal, WHAT))
  const type = isWide ? FLOAT64 : negated.type
  const inType = (view: HostView, zero: number, sign: 1 | -1) => {
    const own = storedZeroOf(semiring, view)
    return inSlices(
      copied(view, type, (value) => (value === own ? zero : sign * value)),
      signal,
      WHAT,
    )
  }
  const minus = await inType(negated, zeroOf(dualOf(semiring), typeNameOf(type)), -1)
  // An Int16Array has its own value for the zero of each semiring.
  const isPlain = unchanged.type === type && !isNarrow(unchanged)
  const other = isPlain ? viewed(unchanged) : await inType(unchanged, zeroOf(semiring, typeNameOf(type)), 1)
  const { c, backend, device, timing } = await dual(request, minus, other)
  const result = isWide ? await inSlices(narrowed(c, overflow), signal, WHAT) : c
  return { c: result, backend, device, kernelMs: timing.kernelMs }
}

const WHAT = 'the residual'

const dualOf = (semiring: SumSemiring) => (semiring === 'max-plus' ? 'min-plus' : 'max-plus')

/** Returns whether −A, B and all sums are finite in int32 over the dual semiring, and none has the value of ε or ⊤. */
function* staysInt32({ negated, unchanged, semiring }: ResidualRequest): Steps<boolean> {
  const n = yield* rangeOf(negated, semiring)
  const k = yield* rangeOf(unchanged, semiring)
  if (k.zeros) return false
  const isOperandFinite =
    -n.least < MAX_INT32 && -n.most > MIN_INT32 && k.least > MIN_INT32 && k.most < MAX_INT32
  return isOperandFinite && k.least - n.most > MIN_INT32 && k.most - n.least < MAX_INT32
}

/** Returns the matrix of a view. */
const viewed = (view: HostView): MatrixLike<ElementArray> => {
  const { data, offset, batchStride, rowStride, colStride, batched } = view
  const strides = batched ? [batchStride, rowStride, colStride] : [rowStride, colStride]
  return { data: data as ElementArray, shape: shapeOf(view), strides, offset }
}

/** Computes the product over the dual semiring. `minus` is row-major. */
function dual(
  { left, negated, semiring, where }: ResidualRequest,
  minus: DenseMatrix<ElementArray>,
  unchanged: MatrixLike<ElementArray>,
): Promise<MpmmResult<DenseMatrix<ElementArray>>> {
  const { batched, batch, rows, cols } = negated
  const transposed = {
    data: minus.data,
    shape: batched ? [batch, cols, rows] : [cols, rows],
    strides: batched ? [rows * cols, 1, cols] : [1, cols],
  }
  const options = { ...where, semiring: dualOf(semiring) } as const
  const product = left ? mpmm(transposed, unchanged, options) : mpmm(unchanged, transposed, options)
  return product as Promise<MpmmResult<DenseMatrix<ElementArray>>>
}

/** Visits the elements in row-major order. */
function* visiting(view: HostView, visit: (value: number) => void): Steps<void> {
  const { data, batch, rows, cols, offset, batchStride, rowStride, colStride } = view
  let looked = 0
  for (let item = 0; item < batch; item++) {
    for (let i = 0; i < rows; i++) {
      let at = offset + item * batchStride + i * rowStride
      for (let j = 0; j < cols; j++, at += colStride) {
        visit(data[at]!)
        if (++looked % PER_SLICE === 0) yield
      }
    }
  }
}

function* copied(
  view: HostView,
  type: number,
  change: (value: number) => number,
): Steps<DenseMatrix<ElementArray>> {
  const shape = shapeOf(view) as Shape
  const length = view.batch * view.rows * view.cols
  const data = allocate(length, 'a copy', type, newUnwrittenArray)
  let at = 0
  yield* visiting(view, (value) => {
    data[at++] = change(value)
  })
  return rowMajorMatrix(data, shape)
}

/**
 * Returns the least and the greatest finite element, 0 without finite elements, and whether the matrix has
 * zeros of the semiring.
 */
function* rangeOf(view: HostView, semiring: SumSemiring) {
  const zero = storedZeroOf(semiring, view)
  let least = Infinity
  let most = -Infinity
  let zeros = false
  yield* visiting(view, (value) => {
    if (value === zero) zeros = true
    else {
      if (value < least) least = value
      if (value > most) most = value
    }
  })
  return least <= most ? { least, most, zeros } : { least: 0, most: 0, zeros }
}

/** Least and greatest int32 value that is neither ε nor ⊤. */
const FINITE = [MIN_INT32 + 1, MAX_INT32 - 1] as const

/** Converts a result in float64 to int32 elements. */
function* narrowed(
  { data, shape }: DenseMatrix<ElementArray>,
  overflow: Overflow,
): Steps<DenseMatrix<ElementArray>> {
  const narrow = allocate(data.length, 'the residual', INT32, newUnwrittenArray)
  for (let at = 0; at < data.length; at++) {
    if (at % PER_SLICE === PER_SLICE - 1) yield
    const value = data[at]!
    if (value === -Infinity) narrow[at] = MIN_INT32
    else if (value === Infinity) narrow[at] = MAX_INT32
    else {
      const stored = storedAs(overflow, value, FINITE)
      if (Number.isNaN(stored)) outside(value, at, shape)
      narrow[at] = stored
    }
  }
  return rowMajorMatrix(narrow, shape)
}

function outside(value: number, at: number, shape: Shape): never {
  const cols = shape.at(-1)!
  const rows = shape.at(-2)!
  const position = [Math.floor(at / cols) % rows, at % cols]
  if (shape.length === 3) position.unshift(Math.floor(at / (rows * cols)))
  const advice = "use matrices of float64, or choose overflow 'saturate' or 'wrap'"
  throw outsideError(`element ${showList(position)} of the residual`, value, FINITE, advice)
}

/**
 * Returns whether A ⊗ X = B: for each element B[i, j] some k exists for which B[i, j] is the bound that
 * decided X[k, j].
 */
function* attained(
  { negated: a, unchanged: b, semiring }: ResidualRequest,
  x: DenseMatrix<ElementArray>,
): Steps<boolean> {
  const single = x.data instanceof Float32Array
  const [zeroA, zeroB] = [storedZeroOf(semiring, a), storedZeroOf(semiring, b)]
  const top = zeroB < 0 ? Infinity : -Infinity
  const bottom = -top
  const zeroX = x.data instanceof Int32Array ? (semiring === 'max-plus' ? MIN_INT32 : MAX_INT32) : bottom
  const cols = b.cols
  let looked = 0
  for (let i = 0; i < b.rows; i++) {
    for (let j = 0; j < cols; j++) {
      const target = b.data[b.offset + i * b.rowStride + j * b.colStride]!
      if (target === zeroB) continue
      let found = false
      for (let k = 0; k < a.cols && !found; k++) {
        if (++looked % PER_SLICE === 0) yield
        const own = a.data[a.offset + i * a.rowStride + k * a.colStride]!
        const value = x.data[k * cols + j]!
        if (own === zeroA || value === zeroX) continue
        if (target === top) found = own === top || value === top
        else found = (single ? Math.fround(target - own) : target - own) === value
      }
      if (!found) return false
    }
  }
  return true
}
