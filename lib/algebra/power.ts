/** Powers of matrices. */
import { NEVER_CANCELLED } from '../abort.js'
import { oneOf, zeroOf } from '../built-in-semirings.js'
import {
  checkSquare,
  deliver,
  kindOfWork,
  onItsDevice,
  resident,
  type SquareRequest,
  settled,
  upload,
} from '../closure/square-matrix.js'
import { DeviceMatrix } from '../device/device.js'
import { fillRequest } from '../device/requests.js'
import { Resident, ResidentView, type Session } from '../device/resident.js'
import { newArray, typeNameOf } from '../elements.js'
import { type EdgeList, isEdgeList, type NamedEdgeList } from '../graph-core/edges.js'
import { rowMajorElements } from '../layout.js'
import { allocate, type DenseMatrix, type MatrixLike } from '../matrix.js'
import { addon } from '../native.js'
import { UNSET } from '../options.js'
import { multiplyFactors, readExponent } from '../product/factors.js'
import { mpmm } from '../product/multiply.js'
import type { AnyResult, ElementsOf, MpmmOptions, ReadOptions } from '../product/options.js'
import type { AlgebraResult } from '../product/result.js'
import type { UserAlgebraOptions, UserOperand, UserResultOf } from '../product/user-product.js'
import type { ElementArray, OperandArray } from '../storage.js'
import { type Lanes, userWorkOf } from '../user-semiring.js'
import { type HostView, readView } from '../view.js'
import { type AlgebraOptions, readAlgebraOptions } from './options.js'
import { listMatrix } from './weight-matrix.js'
import { keysOf } from './weights.js'

/** A checked call. */
interface Call extends SquareRequest {
  readonly n: number
  /** Options of the products that compute the power. */
  readonly productOptions: MpmmOptions<DeviceMatrix<ElementArray>>
}

/**
 * Computes the power Aⁿ = A ⊗ A ⊗ … ⊗ A of n factors, over any semiring. Element [i, j] is the weight of the
 * best path of exactly n edges from i to j. A⁰ is the identity: the semiring's one on the diagonal and its
 * zero elsewhere.
 *
 * Takes at most 2·log₂ n products of {@link mpmm}, on matrices that stay on a device. The intermediate powers
 * are A^m for m = ⌊n / 2^k⌋, from the greatest k down to 0. An odd m needs two products. Each intermediate
 * power is a factor of the result, so no unneeded power can overflow. `overflow` applies to each of these
 * products. 'throw' rejects if a sum outside the finite range decides an element of an intermediate power.
 * With 'saturate' and 'wrap' the next product uses the stored values. Over floats each product rounds like
 * mpmm.
 *
 * Don't write to, transfer or detach the arrays until the promise settles.
 *
 * @param a - a square matrix, or a batch of them; an edge list is converted to a matrix first, see {@link
 * weightMatrix}. If `a` is a {@link DeviceMatrix}, the result is one on the same device.
 * @param n - an integer from 0 to 2^53 − 1
 * @returns c, of a's shape, and how it was computed.
 * @throws Rejects with the errors of {@link mpmm}; with ERR_MPMML_OPTION if n isn't such an integer; with
 * ERR_MPMML_SHAPE if `a` isn't square. After an error `out` is unchanged, except after ERR_MPMML_CUDA.
 * @example
 * const { c } = await power(matrix(2, 2, [3, 7, 2, 4]), 2)
 * console.log(c.data.join()) // 9,11,6,9
 */
export function power<Data extends OperandArray>(
  a: DeviceMatrix<Data>,
  n: number,
  options?: AlgebraOptions<DeviceMatrix<ElementsOf<Data>>>,
): Promise<AlgebraResult<DeviceMatrix<ElementsOf<Data>>>>
export function power<
  Data extends OperandArray,
  Out extends
    | DenseMatrix<ElementsOf<Data>>
    | MatrixLike<ElementsOf<Data>>
    | DeviceMatrix<ElementsOf<Data>> = DenseMatrix<ElementsOf<Data>>,
>(
  a: MatrixLike<Data> | (Data extends ElementArray ? EdgeList<Data> | NamedEdgeList<unknown, Data> : never),
  n: number,
  options?: AlgebraOptions<Out>,
): Promise<AlgebraResult<Out>>
/**
 * Computes a power over a custom semiring, which must have a `one` for A⁰. The laws that powers rely on are
 * checked once: see `checkSemiring`.
 *
 * @throws Rejects with the errors of the other overload; with ERR_MPMML_OPTION if a law is broken.
 */
export function power<L extends Lanes, A extends UserOperand<L>>(
  a: A,
  n: number,
  options: UserAlgebraOptions<L>,
): Promise<AlgebraResult<UserResultOf<L, A, undefined>>>
export async function power(a: unknown, n: number, options?: unknown): Promise<unknown> {
  const own = userWorkOf(options)
  if (own) return own.power(a, n, options)
  const started = performance.now()
  const algebra = readAlgebraOptions(options)
  const listed = isEdgeList(a) ? await listMatrix(a, algebra) : null
  const call = check(listed ? listed.matrix : a, n, algebra)
  const result = await onItsDevice(call, kindOfWork(call, false), (session) => raise(session, call, started))
  return { ...result, ...(listed && keysOf(listed)) }
}

function check(matrix: unknown, n: unknown, options: ReadOptions): Call {
  const a = readView(matrix, 'a', 'operand')
  const exponent = readExponent(n)
  const square = checkSquare('a', a, options, 'the power', ', so that it can be its own factor')
  const { semiring, overflow, signal, onProgress } = options
  const productOptions = {
    semiring: addon.semirings[semiring]!.name,
    overflow: overflow === UNSET ? undefined : addon.overflowPolicies[overflow],
    signal,
    onProgress,
  }
  return { ...square, n: exponent, productOptions }
}

async function raise(session: Session, call: Call, started: number): Promise<AlgebraResult<AnyResult>> {
  const { matrix: a, n } = call
  const baseOf = async () => {
    if (n === 0) return uploaded(session, identity(call))
    if (!a.memory) return uploaded(session, a)
    return new DeviceMatrix<OperandArray>(new ResidentView(a.memory, a))
  }
  const base = await baseOf()
  let result: Power
  try {
    result = n < 2 ? { c: await firstPower(session, call, base), kernelMs: 0 } : await byProducts(call, base)
  } finally {
    base.dispose()
  }
  const c = await deliver(session, call, Resident.viewOf(result.c)!.data)
  return {
    c: c as AnyResult,
    backend: session.backend,
    device: session.name,
    timing: { totalMs: performance.now() - started, kernelMs: result.kernelMs },
  }
}

/** A power that owns its memory. */
interface Power {
  readonly c: DeviceMatrix<ElementArray>
  readonly kernelMs: number
}

/** Computes the power for n ≥ 2. */
async function byProducts({ n, productOptions }: Call, base: DeviceMatrix<OperandArray>): Promise<Power> {
  let kernelMs = 0
  const multiply = async (
    x: DeviceMatrix<OperandArray>,
    y: DeviceMatrix<OperandArray>,
    onProgress: MpmmOptions['onProgress'],
  ) => {
    const { c, timing } = await mpmm(x, y, { ...productOptions, onProgress })
    kernelMs += timing.kernelMs
    return c as DeviceMatrix<OperandArray>
  }
  const { onProgress } = productOptions
  const c = await multiplyFactors(base, n, { multiply, onProgress, dispose: (power) => power.dispose() })
  return { c: c as DeviceMatrix<ElementArray>, kernelMs }
}

/**
 * Computes A¹ as zero ⊕ a, which converts int16 operands to the element type and normalizes elements with
 * several representations.
 */
async function firstPower(
  session: Session,
  { elements, productOptions, options, name }: Call,
  base: DeviceMatrix<OperandArray>,
): Promise<DeviceMatrix<ElementArray>> {
  const { semiring, signal } = productOptions
  const zero = zeroOf(addon.semirings[options.semiring]!.name, typeNameOf(elements.type))
  const memory = await settled(addon.fill(session.native, fillRequest(elements, zero)), name)
  const power = resident<Int32Array>(memory, session, elements)
  try {
    return (await settled(power.combine(base as DeviceMatrix, { semiring, signal }), name)) as never
  } catch (error) {
    power.dispose()
    throw error
  }
}

async function uploaded(session: Session, view: HostView): Promise<DeviceMatrix<OperandArray>> {
  return resident(await upload(session, view, NEVER_CANCELLED, 'a'), session, rowMajorElements(view))
}

/** Returns the identities of a batch, in an array. */
function identity({ elements, options }: Call): HostView {
  const { type, batch, rows: n, reach } = elements
  const dtype = typeNameOf(type)
  const data = allocate(reach, 'the identity', type, newArray)
  data.fill(zeroOf(addon.semirings[options.semiring]!.name, dtype))
  const one = oneOf(options.semiring, dtype)
  for (let node = 0; node < batch * n; node++) data[node * n + (node % n)] = one
  return { ...elements, data, memory: null }
}
