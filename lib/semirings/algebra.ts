/** Algebras of custom semirings, which call native code. */
import type { BackendName } from '../backend-name.js'
import { OptionError } from '../errors.js'
import { REPORT_FIELDS, writeLayout } from '../fields.js'
import { type AuxiliaryMatrices, addon, type LaneMatrix, type NativeResult } from '../native.js'
import { userRequestAt as at, userRequestFields } from '../native-interface.js'
import { UNSET } from '../options.js'
import { auxiliaryOf, writeSizes } from '../product/algebra.js'
import { type Algebra, asksField, type Call, type PartResults, type Product } from '../product/product.js'
import { allocatedMemories, releaseAllocated, resultOf } from '../product/result.js'
import type { LaneType } from '../user-semiring.js'
import { configureCode } from './code-cache.js'
import { factsOf, isUserSemiring, nativeOf, type WrittenSemiring } from './semiring.js'

const FIELDS = userRequestFields.length

// One array serves all calls, because native code reads a request before the call returns.
const request = new Float64Array(FIELDS)

export class UserAlgebra implements Algebra {
  readonly name: string
  readonly lanes: readonly LaneType[]
  readonly isList: boolean
  readonly partOfGroup = Number.POSITIVE_INFINITY

  constructor(readonly semiring: WrittenSemiring) {
    this.name = semiring.name
    this.lanes = factsOf(semiring).lanes
    this.isList = Array.isArray(semiring.dtype)
  }

  assertOperation({ options, requestedOutputs: [first] }: Call): void {
    configureCode()
    if (options.overflow !== UNSET) {
      throw refused(
        'overflow',
        'integers are computed modulo 2^32 here, and what else is to happen is written into times',
      )
    }
    if (options.variant !== UNSET) {
      throw refused('variant', 'plan() shows which kernel a semiring of your own takes')
    }
    if (first === undefined || this.semiring.selective) return
    throw new OptionError(
      `option ${first.name} is true, but semiring '${this.name}' isn't selective, so that no k is the one that decides a result: ` +
        'leave it out, or say selective: true if x ⊕ y is always x or y',
    )
  }

  multiply(product: Product, report: Float64Array, cancel: Int32Array): Promise<NativeResult> {
    const { a, b, c, c0, auxiliary } = matricesOf(product)
    const { native } = product.call
    writeRequest(request, product)
    return addon.multiplyUser(
      ...([nativeOf(this.semiring), a, b, c, c0, request, report, cancel, native, auxiliary] as const),
    )
  }

  multiplySync(product: Product, report: Float64Array): NativeResult {
    const { a, b, c, c0, auxiliary } = matricesOf(product)
    const { native } = product.call
    writeRequest(request, product)
    return addon.multiplyUserSync(nativeOf(this.semiring), a, b, c, c0, request, report, native, auxiliary)
  }

  async multiplyPart(products: readonly Product[], call: Call, cancel: Int32Array): Promise<PartResults> {
    const requests = new Float64Array(products.length * FIELDS)
    const reports = new Float64Array(products.length * REPORT_FIELDS)
    const matrices = products.map((product, index) => {
      writeRequest(requests, product, index * FIELDS)
      const { a, b, c, c0, auxiliary } = matricesOf(product)
      return [a, b, c, c0, auxiliary] as const
    })
    const { native } = call
    const nativeResult = await addon.multiplyUserGroup(
      ...([nativeOf(this.semiring), matrices, requests, reports, cancel, native] as const),
    )
    const take = () =>
      products.map((product, index) =>
        resultOf(product, allocatedMemories(nativeResult[index], call), reports, index * REPORT_FIELDS),
      )
    return { take, release: () => nativeResult.forEach(releaseAllocated) }
  }

  async plan(product: Product): Promise<{ backend: BackendName; explanation: string }> {
    const { native } = product.call
    writeRequest(request, product)
    const explanation = await addon.explainUser(nativeOf(this.semiring), request, native)
    return { backend: explanation.startsWith('cuda') ? 'cuda' : 'cpu', explanation }
  }
}

const algebras = new WeakMap<WrittenSemiring, UserAlgebra>()

/** Returns the algebra of a custom semiring; null for any other value. */
export function algebraOf(value: unknown): UserAlgebra | null {
  if (!isUserSemiring(value)) return null
  const known = algebras.get(value)
  if (known) return known
  const created = new UserAlgebra(value)
  algebras.set(value, created)
  return created
}

const refused = (name: string, why: string) =>
  new OptionError(`option ${name} is for the semirings of the library: ${why}`)

/**
 * Returns the arrays or memories of all lanes and auxiliary outputs in the form for native code.
 */
function matricesOf(product: Product): {
  a: LaneMatrix[]
  b: LaneMatrix[]
  c: LaneMatrix[] | null
  c0: LaneMatrix[] | null
  auxiliary: AuxiliaryMatrices
} {
  const { lanes, c, c0 } = product
  const all = (of: (lane: Product) => unknown) => lanes.map((lane) => of(lane) as LaneMatrix)
  return {
    a: all((lane) => lane.a.data),
    b: all((lane) => lane.b.data),
    c: c?.data ? all((lane) => lane.c!.data) : null,
    c0: c0 ? all((lane) => lane.c0!.data) : null,
    auxiliary: auxiliaryOf(product),
  }
}

/** Writes a product into `request`, from the field `start` on. */
function writeRequest(request: Float64Array, product: Product, start = 0): void {
  const { call } = product
  const { backend, device, devices } = call.options
  request.fill(0, start, start + FIELDS)
  writeSizes(request, product, start, at)
  request[start + at.backend] = call.session ? backend : call.place.backend
  request[start + at.device] = Math.max(device, 0)
  request[start + at.devices] = devices
  request[start + at.deviceMemory] = call.place.deviceMemory
  product.lanes.forEach((lane, index) => {
    const { a, b, c, c0, out } = lane
    const fields = laneFields[index]!
    writeLayout(request, start, fields.a, a)
    writeLayout(request, start, fields.b, b)
    writeLayout(request, start, fields.c, c ?? out ?? lane.newElements())
    if (c0) writeLayout(request, start, fields.c0, c0)
  })
  call.requestedOutputs.forEach(({ name }, index) => {
    request[start + at[asksField(name)]] = 1
    writeLayout(request, start, at[name], product.auxiliary[index] ?? product.newAuxiliary())
  })
}

const laneFields = ([0, 1, 2, 3] as const).map((lane) => ({
  a: at[`aLane${lane}`],
  b: at[`bLane${lane}`],
  c: at[`cLane${lane}`],
  c0: at[`c0Lane${lane}`],
}))
