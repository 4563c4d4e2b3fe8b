/** Products over semirings that users write. */
import { throwIfAborted } from '../abort.js'
import { deviceName, whereSet } from '../backend.js'
import { DeviceMatrix } from '../device/device.js'
import { ResidentView, SharedMemory } from '../device/resident.js'
import { natively, OptionError } from '../errors.js'
import { REPORT_FIELDS, reportAt } from '../fields.js'
import { shapeOf } from '../layout.js'
import { type DenseMatrix, rowMajorMatrix } from '../matrix.js'
import { addon, type FurtherName, type NativeMemory } from '../native.js'
import { boolean, checkedLater, LEFT_OUT, Options, type OptionsOf, option, required } from '../options.js'
import { placeOfProducts } from '../placement.js'
import type { ObservedCall } from '../product/diagnostics.js'
import { plainNames } from '../product/names.js'
import { asProduct, longWorkSet, type ReadOptions, refuseListener } from '../product/options.js'
import { requireNoContradiction } from '../product/prepare.js'
import { Call, type Product, type Result, workOf } from '../product/request.js'
import { devicesOf, gopsOf, timingOf } from '../product/result.js'
import { structure } from '../product/structure.js'
import type { UserPlan, UserProductOptions, UserProductResult } from '../product/user-product.js'
import { runNative } from '../run-native.js'
import type { ElementArray } from '../storage.js'
import { configureCode } from './code-cache.js'
import { describeUser } from './messages.js'
import {
  allocateUserResult,
  asLane,
  checkUserProduct,
  locateUser,
  matricesOf,
  readUserProduct,
  requireSelective,
  requireUserThere,
  sessionOfUser,
  USER_REQUEST_FIELDS,
  type UserProduct,
  writeUserRequest,
} from './operands.js'
import { isUserSemiring, lanesOf, nativeOf, type WrittenSemiring } from './semiring.js'

/** The option `semiring`. */
export const userSemiring = required((value, name): WrittenSemiring => {
  if (isUserSemiring(value)) return value
  throw new OptionError(`option ${name} must be what semiring() has made`)
})

/** An option that products over semirings of the library have. */
const refused = (why: string) =>
  option(LEFT_OUT, (_, name): number => {
    throw new OptionError(`option ${name} is for the semirings of the library: ${why}`)
  })

/** What only products over semirings of the library have. */
export const refusedSet = {
  overflow: refused(
    'integers are computed modulo 2^32 here, and what else is to happen is written into times',
  ),
  variant: refused('plan() shows which kernel a semiring of your own takes'),
}

const productOptions = new Options({
  semiring: userSemiring,
  out: checkedLater(),
  accumulate: checkedLater(),
  ...whereSet,
  witness: boolean(false),
  structure,
  ...longWorkSet,
  ...refusedSet,
} satisfies OptionsOf<UserProductOptions & { overflow: undefined; variant: undefined }>)

/** What the products of a call have in common. */
export function callOf(semiring: WrittenSemiring, options: Partial<ReadOptions>): Call {
  configureCode()
  const call = new Call(asProduct(options))
  requireSelective(semiring, call.asked)
  return call
}

/** Reads and checks the arguments of a product. */
function prepare(a: unknown, b: unknown, value: unknown, watched: ObservedCall | null): UserProduct {
  const { semiring, out, accumulate, ...options } = productOptions.read(value)
  const call = callOf(semiring, options)
  const product = readUserProduct(semiring, call, { a, b, out, accumulate }, plainNames, options.structure)
  throwIfAborted(options.signal, 'the product')
  call.session = sessionOfUser(product)
  checkUserProduct(product, () => locateUser(product)!)
  if (call.session) requireNoContradiction(call.options, call.session)
  else {
    const { batch, m, n, k } = product.lanes[0]!
    call.place = placeOfProducts(
      call.options,
      product.lanes.length * batch * (m * n * k + m * k + k * n + m * n),
    )
  }
  watched?.checkedAs([product], describeUser)
  return product
}

// Native code reads a request before the call returns: one serves all calls.
const request = new Float64Array(USER_REQUEST_FIELDS)

/** {@link mpmm}. */
export async function multiply(
  a: unknown,
  b: unknown,
  options: unknown,
  watched: ObservedCall | null,
): Promise<UserProductResult> {
  const product = prepare(a, b, options, watched)
  const { call } = product
  if (call.place.atOnce) return computeNow(product)
  allocateUserResult(product)
  const report = new Float64Array(REPORT_FIELDS)
  const work = workOf(product.lanes[0]!, 'the product', report, product)
  const made = await runNative(work, ({ cancel }) => start(product, report, cancel), releaseAll)
  return resultOf(product, made, report, 0)
}

function start(product: UserProduct, report: Float64Array, cancel: Int32Array) {
  const { semiring, call } = product
  if (call.options.signal) requireUserThere(product)
  const { a, b, c, c0, further } = matricesOf(product)
  writeUserRequest(request, product)
  const own = nativeOf(semiring)
  const device = nativeSessionOf(product)
  return addon.multiplyUser(own, a, b, c, c0, request, report, cancel, device, further)
}

const nativeSessionOf = ({ call: { session } }: UserProduct) => (session ? session.native : null)

/** Gives back what native code has made for a result that isn't returned. */
export function releaseAll(made: readonly NativeMemory[] | undefined): void {
  for (const memory of made ?? []) addon.release(memory)
}

/** Computes a product before it returns. */
function computeNow(product: UserProduct): UserProductResult {
  allocateUserResult(product)
  const report = new Float64Array(REPORT_FIELDS)
  const { a, b, c, c0, further } = matricesOf(product)
  writeUserRequest(request, product)
  const made = natively(() => {
    const own = nativeOf(product.semiring)
    return addon.multiplyUserSync(own, a, b, c, c0, request, report, nativeSessionOf(product), further)
  })
  return resultOf(product, made, report, 0)
}

/** {@link mpmmSync}. */
export function multiplySync(
  a: unknown,
  b: unknown,
  options: unknown,
  watched: ObservedCall | null,
): UserProductResult {
  const product = prepare(a, b, options, watched)
  refuseListener(product.call.options)
  return computeNow(product)
}

/** What the user gets; the report's fields begin at `start`. */
export function resultOf(
  product: UserProduct,
  made: readonly NativeMemory[] | undefined,
  report: Float64Array,
  start: number,
): UserProductResult {
  const { semiring, lanes, call, outValue } = product
  const [head] = lanes as [Product]
  const { session, asked } = call
  const types = lanesOf(semiring)
  const memories = [...(made ?? [])]
  const newMatrix = (elements: Product['newElements'], result: Result): unknown => {
    if (session)
      return new DeviceMatrix(new ResidentView(new SharedMemory(memories.shift()!, session), elements()))
    return rowMajorMatrix(result.data as ElementArray, shapeOf(result))
  }
  const matrices =
    outValue === undefined
      ? lanes.map((lane, index) => {
          const matrix = newMatrix(() => lane.newElements(), lane.c!)
          return session ? matrix : asLane(matrix as DenseMatrix, types[index]!)
        })
      : null
  const result: UserProductResult & { [Name in FurtherName]?: unknown } = {
    c: matrices ? (Array.isArray(semiring.dtype) ? matrices : matrices[0]) : outValue,
    backend: addon.backends[report[start + reportAt.backend]!]!,
    device: session ? session.name : deviceName(report[start + reportAt.device]!),
    devices: devicesOf(report[start + reportAt.devices]!, report[start + reportAt.device]!),
    timing: timingOf(report, start),
    gops: gopsOf(report, start),
  }
  if (head.structure) result.structure = head.structure.shown
  asked.forEach(({ name }, index) => {
    result[name] = newMatrix(() => head.newFurther(), head.further[index]!)
  })
  return result
}

/** {@link plan}. */
export async function plan(
  a: unknown,
  b: unknown,
  options: unknown,
  watched: ObservedCall | null,
): Promise<UserPlan> {
  const product = prepare(a, b, options, watched)
  writeUserRequest(request, product)
  const explanation = await natively(() =>
    addon.explainUser(nativeOf(product.semiring), request, nativeSessionOf(product)),
  )
  return { backend: explanation.startsWith('cuda') ? 'cuda' : 'cpu', explanation }
}
