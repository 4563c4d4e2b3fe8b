/** Many products over a semiring that a user has written, in one call. */
import { signal, throwIfAborted } from '../abort.js'
import { whereSet } from '../backend.js'
import { typeName } from '../describe.js'
import { DTypeError, fromNative } from '../errors.js'
import { REPORT_FIELDS } from '../fields.js'
import { addon, type NativeMemory } from '../native.js'
import { boolean, Options, type OptionsOf, requireNames } from '../options.js'
import { requireApart } from '../overlap.js'
import { placeOfProducts } from '../placement.js'
import type { ObservedCall } from '../product/diagnostics.js'
import { NamesInGroup } from '../product/names.js'
import { requireNoContradiction } from '../product/prepare.js'
import { readStructure, structure } from '../product/structure.js'
import type { UserGroupedOptions, UserGroupedProduct, UserProductResult } from '../product/user-product.js'
import { runNative } from '../run-native.js'
import { describeUser } from './messages.js'
import {
  allocateUserResult,
  checkUserProduct,
  locateUser,
  matricesOf,
  nameOfView,
  readUserProduct,
  requireUserThere,
  sessionOfUser,
  USER_REQUEST_FIELDS,
  type UserProduct,
  writeUserRequest,
} from './operands.js'
import { callOf, refusedSet, releaseAll, resultOf, userSemiring } from './product.js'
import { nativeOf } from './semiring.js'

const groupedOptions = new Options({
  semiring: userSemiring,
  ...whereSet,
  witness: boolean(false),
  structure,
  signal,
  overflow: refusedSet.overflow,
} satisfies OptionsOf<UserGroupedOptions & { overflow: undefined }>)

const productNames: readonly (keyof UserGroupedProduct)[] = ['a', 'b', 'out', 'accumulate', 'structure']

/** {@link mpmmGrouped}. */
export async function multiplyGrouped(
  values: unknown,
  optionsValue: unknown,
  watched: ObservedCall | null,
): Promise<UserProductResult[]> {
  const { semiring, ...options } = groupedOptions.read(optionsValue)
  const call = callOf(semiring, options)
  if (!Array.isArray(values)) {
    throw new DTypeError(
      `products must be an array of { a, b, out?, accumulate? }, but it is ${typeName(values)}`,
    )
  }
  const products = Array.from(values as unknown[], (value, index) => {
    const names = new NamesInGroup(index)
    if (typeof value !== 'object' || value === null) {
      throw new DTypeError(`${names} must be { a, b, out?, accumulate? }, but it is ${typeName(value)}`)
    }
    requireNames(value, productNames, names)
    const { a, b, out, accumulate, structure: its } = value as Record<keyof UserGroupedProduct, unknown>
    const own = its === undefined ? options.structure : readStructure(its, names.structure)
    return readUserProduct(semiring, call, { a, b, out, accumulate }, names, own)
  })
  throwIfAborted(options.signal, WORK)
  if (products.length === 0) return []
  for (const product of products) call.session ??= sessionOfUser(product)
  const located = () => products.map(locateUser).find((found) => found !== null)!
  for (const product of products) checkUserProduct(product, located)
  requireGroupApart(products)
  if (call.session) requireNoContradiction(call.options, call.session)
  else call.place = placeOfProducts(call.options)
  watched?.checkedAs(products, describeUser)
  products.forEach((product, index) => {
    allocateUserResult(product, `the result of ${new NamesInGroup(index)}`)
  })
  const reports = new Float64Array(products.length * REPORT_FIELDS)
  const borrowed = {
    requireStillThere() {
      for (const product of products) product.requireStillThere()
    },
  }
  const made = await runNative(
    { what: WORK, signal: options.signal, borrowed },
    ({ cancel }) => start(products, reports, cancel, watched),
    (each) => each.forEach(releaseAll),
  )
  return products.map((product, index) => resultOf(product, made[index], reports, index * REPORT_FIELDS))
}

/** Name of the work in messages. */
const WORK = 'the group'

/** Throws ShapeError if a product writes what another one uses. */
function requireGroupApart(products: readonly UserProduct[]): void {
  if (products.every(({ outValue }) => outValue === undefined)) return
  const lanes = products.flatMap((product) =>
    product.lanes.map((matrices, lane) => ({ product, lane, matrices })),
  )
  requireApart(
    lanes.map(({ matrices }) => matrices),
    (index, view) => nameOfView(lanes[index]!.product, lanes[index]!.lane, view),
  )
}

async function start(
  products: readonly UserProduct[],
  reports: Float64Array,
  cancel: Int32Array,
  watched: ObservedCall | null,
): Promise<(NativeMemory[] | undefined)[]> {
  const [{ semiring, call }] = products as [UserProduct]
  if (call.options.signal) for (const product of products) requireUserThere(product)
  const requests = new Float64Array(products.length * USER_REQUEST_FIELDS)
  products.forEach((product, index) => {
    writeUserRequest(requests, product, index * USER_REQUEST_FIELDS)
  })
  try {
    return await addon.multiplyUserGroup(
      nativeOf(semiring),
      products.map((product) => {
        const { a, b, c, c0, further } = matricesOf(product)
        return [a, b, c, c0, further]
      }),
      requests,
      reports,
      cancel,
      call.session ? call.session.native : null,
    )
  } catch (error) {
    throw namingProduct(fromNative(error), watched)
  }
}

/** An error of native code, with the product called what users call it. */
function namingProduct(error: unknown, watched: ObservedCall | null): unknown {
  if (!(error instanceof Error)) return error
  error.message = error.message.replace(/^product (\d+): /, (_, index: string) => {
    watched?.failing(Number(index))
    return `products[${index}]: `
  })
  return error
}
