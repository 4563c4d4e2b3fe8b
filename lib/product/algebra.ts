/** Algebras of products: semirings of the library here, those that users write in lib/semirings. */
import { readSemiring, requireDecided, requireSemiringType } from '../built-in.js'
import { REQUEST_FIELDS, requestAt, writeLayout } from '../fields.js'
import { addon, type Made } from '../native.js'
import { LEFT_OUT, option } from '../options.js'
import { requireIntegers } from '../overflow.js'
import { userAlgebraOf } from '../user-semiring.js'
import { multiplyPart, PART } from './group-members.js'
import {
  type Algebra,
  type Call,
  furtherOf,
  type PartResults,
  type Product,
  writeRequest,
  writeResults,
} from './request.js'
import { type Plan, planOf } from './result.js'

// Native code reads a request before the call returns, and no user code runs in between: one serves all calls.
const request = new Float64Array(REQUEST_FIELDS)

/**
 * Whether a device has got a product since JavaScript last ran to its end. Native code may wait a moment for the first, because a program
 * that awaits each is faster then; a program that starts several isn't kept from it.
 */
let isBusy = false
const notBusy = () => {
  isBusy = false
}

class BuiltInAlgebra implements Algebra {
  readonly lanes = null
  readonly isList = false
  readonly partOfGroup = PART

  constructor(
    readonly name: string,
    /** Index in the addon's list. */
    readonly index: number,
  ) {}

  requireOperation({ options, asked }: Call, type: number): void {
    requireSemiringType(this.index, type)
    if (asked.length > 0) requireDecided(this.index, asked[0]!.name)
    if (options.overflow !== LEFT_OUT) requireIntegers(type, 'the operands are')
  }

  multiply(product: Product, report: Float64Array, cancel: Int32Array): Promise<Made> {
    const { a, b, c, c0, session } = product
    this.#write(product)
    if (session && !isBusy) {
      isBusy = true
      queueMicrotask(notBusy)
      request[requestAt.mayWait] = 1
    }
    const native = session ? session.native : null
    const [left, right, further] = [a.data, b.data, furtherOf(product)]
    return addon.multiply(left, right, c!.data, c0 ? c0.data : null, request, report, cancel, native, further)
  }

  multiplySync(product: Product, report: Float64Array): Made {
    const { a, b, c, c0, session } = product
    this.#write(product)
    const native = session ? session.native : null
    const further = furtherOf(product)
    return addon.multiplySync(a.data, b.data, c!.data, c0 ? c0.data : null, request, report, native, further)
  }

  multiplyPart(products: readonly Product[], call: Call, cancel: Int32Array): Promise<PartResults> {
    return multiplyPart(this.index, products, call, cancel)
  }

  async plan(product: Product, report: Float64Array, cancel: Int32Array): Promise<Plan> {
    const { a, b, c0, session, structure } = product
    writeRequest(request, product, this.index)
    writeLayout(request, 0, requestAt.c, product.newElements())
    request[requestAt.planOnly] = 1
    const native = session ? session.native : null
    await addon.multiply(a.data, b.data, null, c0 ? c0.data : null, request, report, cancel, native)
    return planOf(report, structure)
  }

  #write(product: Product): void {
    writeRequest(request, product, this.index)
    writeResults(request, product)
  }
}

const builtIn = addon.semirings.map(({ name }, index) => new BuiltInAlgebra(name, index))

/** The option `semiring` of products. */
export const algebra = option(
  builtIn[readSemiring('max-plus')] as Algebra,
  (value, name): Algebra => (userAlgebraOf(value) as Algebra | null) ?? builtIn[readSemiring(value, name)]!,
)
