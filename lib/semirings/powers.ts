/** Computes powers and stars of matrices over custom semirings by products. */

import { throwIfAborted } from '../abort.js'
import { deviceName, optionsOf, whereSet } from '../backend.js'
import type { BackendName } from '../backend-name.js'
import { throughout } from '../borrowed.js'
import { type Device, DeviceMatrix } from '../device/device.js'
import { ResidentView } from '../device/resident.js'
import { CycleError, natively, OptionError, ShapeError } from '../errors.js'
import { inSlices, PER_SLICE, type Steps } from '../graph-core/slices.js'
import { rowMajorMatrix, type Shape } from '../matrix.js'
import { addon } from '../native.js'
import { checkedLater, Options, type OptionsOf } from '../options.js'
import { algebra } from '../product/algebra.js'
import { multiplyFactors, readExponent } from '../product/factors.js'
import { mpmm } from '../product/multiply.js'
import { namesOfLane, plainNames } from '../product/names.js'
import { asProduct, longWorkSet, overflow } from '../product/options.js'
import { checkCall, checkProduct, locate, readProduct } from '../product/prepare.js'
import { Call, type Product } from '../product/product.js'
import { partOf } from '../product/progress.js'
import type { AlgebraResult } from '../product/result.js'
import type { UserAlgebraOptions, UserProductOptions } from '../product/user-product.js'
import type { LaneArray, LaneType } from '../user-semiring.js'
import { gather, type HostView, showShape } from '../view.js'
import type { UserAlgebra } from './algebra.js'
import { laneOf } from './constants.js'
import { assertLaws } from './laws.js'
import { factsOf, nativeOf, type WrittenSemiring } from './semiring.js'

const algebraOptions = new Options({
  semiring: algebra,
  ...whereSet,
  ...longWorkSet,
  overflow,
  out: checkedLater(),
} satisfies OptionsOf<UserAlgebraOptions & { overflow: undefined; out: undefined }>)

/** The lanes of a matrix: all in arrays, or all on a device. */
type Matrices = readonly (
  | { readonly data: LaneArray; readonly shape: Shape }
  | DeviceMatrix<Int32Array | Float32Array>
)[]

/** The lanes of a row-major matrix in arrays. */
type HostLanes = readonly LaneArray[]

/** A validated call, with the common options of its products. */
class Powers {
  readonly what: string
  readonly semiring: WrittenSemiring
  readonly n: number
  kernelMs = 0
  backend: BackendName
  device: string
  readonly #started = performance.now()
  readonly #given: unknown
  readonly #square: Product
  readonly #shape: Shape
  readonly #length: number
  readonly #options: UserProductOptions
  readonly #isList: boolean
  readonly #types: readonly LaneType[]

  /** @param what - name of the work in messages. */
  constructor(a: unknown, value: unknown, what: string, why: string) {
    const { semiring: algebra, out, ...options } = algebraOptions.read(value)
    if (out !== undefined) {
      throw new OptionError('option out is for the semirings of the library: take the c of the result')
    }
    const { semiring } = algebra as UserAlgebra
    const call = new Call(algebra, asProduct(options))
    const names = { ...plainNames, b: plainNames.a }
    const square = readProduct(call, a, a, undefined, undefined, names, null)
    const { a: view, batched, batch, m } = square
    throwIfAborted(options.signal, what)
    if (view.rows !== view.cols) {
      const name = algebra.isList ? namesOfLane(names, 0).a : names.a
      throw new ShapeError(`${showShape(view, name)} must be square${why}`)
    }
    checkCall(call, square)
    checkProduct(square, names, () => locate(square, names)!)
    assertLaws(semiring)
    this.what = what
    this.semiring = semiring
    this.n = m
    this.backend = call.session?.backend ?? 'cpu'
    this.device = call.session?.name ?? deviceName(-1)
    this.#given = a
    this.#square = square
    this.#shape = batched ? [batch, m, m] : [m, m]
    this.#length = batch * m * m
    this.#options = { semiring, ...optionsOf(call.options), signal: call.options.signal }
    this.#isList = algebra.isList
    this.#types = algebra.lanes!
  }

  /** Returns the matrix in the form for products. */
  get given(): unknown {
    return this.#given
  }

  assertOne(what: string): void {
    const { name, one } = this.semiring
    if (one !== undefined) return
    throw new OptionError(
      `${what} needs the neutral element of ⊗ for the identity, but semiring '${name}' has none: give it one`,
    )
  }

  /** Runs work on JavaScript's thread in slices. */
  sliced<Result>(steps: Steps<Result>): Promise<Result> {
    return inSlices(steps, this.#square.call.options.signal, this.what)
  }

  /** New arrays for the lanes of a matrix. */
  newLanes(): LaneArray[] {
    return this.#types.map((type) => laneOf(type, this.#length))
  }

  *identity(): Steps<HostLanes> {
    const { zero, one } = factsOf(this.semiring)
    const { n } = this
    const created = this.newLanes()
    yield* inParts(this.#length, (start, end) => {
      for (const [lane, data] of created.entries()) data.fill(zero[lane]!, start, end)
    })
    yield* inParts(n === 0 ? 0 : this.#length / n, (start, end) => {
      for (const [lane, data] of created.entries()) {
        for (let node = start; node < end; node++) data[node * n + (node % n)] = one![lane]!
      }
    })
    return created
  }

  /** Copies the matrix to arrays, one per lane. */
  onHost(): Promise<HostLanes> {
    const square = this.#square
    return Promise.all(
      square.lanes.map(async ({ a }, lane) => {
        const type = this.#types[lane]!
        if (!a.memory) return this.sliced(throughout(square, gathering(a, laneOf(type, this.#length))))
        const there = new DeviceMatrix<Int32Array | Float32Array>(new ResidentView(a.memory, a))
        try {
          return asType((await there.download()).data, type)
        } finally {
          there.dispose()
        }
      }),
    )
  }

  /** Returns lanes in the form for products: on the device if the matrix is on one. */
  async placed(lanes: HostLanes): Promise<unknown> {
    const { session } = this.#square.call
    const matrices = lanes.map((data) => rowMajorMatrix(data, this.#shape))
    if (!session) return this.#isList ? matrices : matrices[0]
    const device = session.owner as Device
    const there = await Promise.all(
      matrices.map(({ data, shape }) =>
        device.upload<Int32Array | Float32Array>({ data: asType(data, 'int32') as Int32Array, shape }),
      ),
    )
    return this.#isList ? there : there[0]
  }

  async download(matrix: unknown): Promise<HostLanes> {
    return Promise.all(
      this.#lanesOf(matrix).map(async (lane, index) =>
        lane instanceof DeviceMatrix ? asType((await lane.download()).data, this.#types[index]!) : lane.data,
      ),
    )
  }

  get onProgress() {
    return this.#square.call.options.onProgress
  }

  /** Multiplies two matrices. */
  async multiply(x: unknown, y: unknown, onProgress: Powers['onProgress']): Promise<unknown> {
    const options = { ...this.#options, onProgress }
    const { c, timing, backend, device } = await mpmm(x as never, y as never, options)
    this.kernelMs += timing.kernelMs
    this.backend = backend
    this.device = device
    return c
  }

  /** Releases an intermediate matrix. */
  dispose(matrix: unknown): void {
    if (matrix === this.#given) return
    for (const lane of this.#lanesOf(matrix)) if (lane instanceof DeviceMatrix) lane.dispose()
  }

  result(c: unknown): AlgebraResult<unknown> {
    const { backend, device, kernelMs } = this
    return { c, backend, device, timing: { totalMs: performance.now() - this.#started, kernelMs } }
  }

  #lanesOf(matrix: unknown): Matrices {
    return (this.#isList ? matrix : [matrix]) as Matrices
  }
}

/**
 * Reinterprets an array of integers as the lane's type, with equal bits; returns an array of floats
 * unchanged.
 */
function asType(data: LaneArray, type: LaneType): LaneArray {
  if (data instanceof Float32Array || type === 'float32') return data
  const { buffer, byteOffset, length } = data
  return type === 'uint32'
    ? new Uint32Array(buffer, byteOffset, length)
    : new Int32Array(buffer, byteOffset, length)
}

/** Copies the elements of a view to `into`, row-major. */
function* gathering(view: HostView, into: LaneArray): Steps<LaneArray> {
  yield* inParts(into.length, (start, end) => gather(view, start, into.subarray(start, end)))
  return into
}

/** Calls `look` for consecutive ranges of elements, one range per slice. */
function* inParts(length: number, look: (start: number, end: number) => void): Steps<void> {
  for (let start = 0; start < length; start += PER_SLICE) {
    look(start, Math.min(start + PER_SLICE, length))
    yield
  }
}

/** {@link power}. */
export async function power(a: unknown, n: unknown, options: unknown): Promise<AlgebraResult<unknown>> {
  const powers = new Powers(a, options, 'the power', ', so that it can be its own factor')
  const exponent = readExponent(n)
  if (exponent === 0) {
    powers.assertOne('the power 0')
    return powers.result(await powers.placed(await powers.sliced(powers.identity())))
  }
  if (exponent === 1) return powers.result(await powers.placed(await powers.onHost()))
  return powers.result(
    await multiplyFactors(powers.given, exponent, {
      multiply: (x, y, onProgress) => powers.multiply(x, y, onProgress),
      dispose: (matrix) => powers.dispose(matrix),
      onProgress: powers.onProgress,
    }),
  )
}

/** Limit of the path length as a multiple of n: the star fails if longer paths still improve it. */
const MAX_PATHS = 4

/** {@link star}: I ⊕ A is squared until it stays the same. */
export async function star(a: unknown, options: unknown): Promise<AlgebraResult<unknown>> {
  const powers = new Powers(a, options, 'the star', ': row i has the edges that leave node i')
  const { semiring, n } = powers
  if (!semiring.idempotent) {
    throw new OptionError(
      `star needs a semiring whose ⊕ is idempotent, so that a path counts once however often it is found, but semiring '${semiring.name}' isn't: ` +
        'say idempotent: true if x ⊕ x is x, or add up powers',
    )
  }
  powers.assertOne('star')
  let known = await powers.sliced(sum(powers, await powers.sliced(powers.identity()), await powers.onHost()))
  let last = await powers.placed(known)
  const most = Math.ceil(Math.log2(Math.max(n, 1) * MAX_PATHS))
  for (let done = 0; done < most; done++) {
    const before = last
    try {
      last = await powers.multiply(before, before, partOf(powers.onProgress, done, most))
    } finally {
      powers.dispose(before)
    }
    const values = await powers.download(last)
    if (await powers.sliced(isSame(values, known))) return powers.result(last)
    known = values
  }
  powers.dispose(last)
  throw new CycleError(
    `the star over semiring '${semiring.name}' doesn't exist: paths of ${2 ** most} edges still make it better, so that some cycle gains each time`,
  )
}

function* sum(powers: Powers, x: HostLanes, y: HostLanes): Steps<HostLanes> {
  const out = powers.newLanes()
  yield* inParts(x[0]!.length, (start, end) => {
    const [left, right, into] = [x, y, out].map((lanes) => lanes.map((lane) => lane.subarray(start, end)))
    natively(() => addon.evaluateUserSemiring(nativeOf(powers.semiring), true, left!, right!, into!))
  })
  return out
}

/**
 * Largest relative difference of floats that a star treats as equal, because products round paths in
 * different orders.
 */
const TOLERANCE = 2 ** -20

/** Compares all elements of two matrices. */
function* isSame(x: HostLanes, y: HostLanes): Steps<boolean> {
  for (const [lane, values] of x.entries()) {
    const others = y[lane]!
    const isFloat = values instanceof Float32Array
    for (let at = 0; at < values.length; at++) {
      if (at % PER_SLICE === PER_SLICE - 1) yield
      const [value, other] = [values[at]!, others[at]!]
      if (value === other || (Number.isNaN(value) && Number.isNaN(other))) continue
      const isNear = Math.abs(value - other) <= TOLERANCE * Math.abs(value) && Number.isFinite(value)
      if (!(isFloat && isNear)) return false
    }
  }
  return true
}
