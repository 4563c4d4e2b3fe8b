/** Whole calls of `mpmm` with operands in the host's memory, and a sample of their results compared with sums in float64. */
import type { BackendName } from '../../lib/index.js'
import {
  type DataType,
  type ElementArray,
  matrix,
  mpmm,
  type Semiring,
  type VariantName,
} from '../../lib/index.js'
import { type CallPoint, spread } from '../../lib/lab.js'
import { arrays } from '../dtype.js'
import { VerificationError } from '../verify.js'

export interface CallRequest {
  backend: BackendName
  /** Variant of the call; undefined: the library chooses. */
  variant: VariantName | undefined
  semiring: Semiring
  dtype: DataType
  m: number
  n: number
  k: number
  device: number
}

type Operands = { key: string; a: ElementArray; b: ElementArray; c: ElementArray }

/** The step a ⊗ b and the sum x ⊕ y of the ladder's semirings, in float64: exact for int32. */
const algebras: Partial<
  Record<Semiring, { extend(a: number, b: number): number; combine(x: number, y: number): number }>
> = {
  'max-plus': { extend: (a, b) => a + b, combine: Math.max },
  'min-plus': { extend: (a, b) => a + b, combine: Math.min },
  'plus-times': { extend: (a, b) => a * b, combine: (x, y) => x + y },
}

/** Semirings of the ladder, whose products this module can verify. */
export const laddered = Object.keys(algebras) as Semiring[]

/** Limit of the compared elements, which are distributed evenly over C. */
const MAX_COMPARED = 1000

let last: Operands | undefined

/**
 * Returns the operands of a product and an array for its result, cached for the next call with the same
 * sizes.
 */
function operandsOf({ dtype, m, n, k }: CallRequest): Operands {
  const key = `${dtype} ${m} ${n} ${k}`
  if (last?.key === key) return last
  // The previous operands are released first, because they may occupy most of the memory.
  last = undefined
  // A linear congruential generator (Numerical Recipes): operands are identical for every kernel and machine.
  let state = 1
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor(state / 4294967.296)
  }
  const fill = (length: number) => {
    const data = new arrays[dtype](length)
    // Values of the report: multiples of 0.001 from 0 to 0.999. For integer types they are multiplied by
    // 1000.
    for (let index = 0; index < length; index++) data[index] = dtype === 'int32' ? random() : random() * 0.001
    return data
  }
  last = { key, a: fill(m * k), b: fill(k * n), c: new arrays[dtype](m * n) }
  return last
}

/** Releases the cached operands. */
export function forgetOperands(): void {
  last = undefined
}

/**
 * Returns the largest relative error in a sample of C's elements, compared with sums in float64, and the
 * sample's size.
 *
 * @throws VerificationError if the error exceeds the bound of rounding, which is K times float32's unit
 * roundoff, or 0 for integers.
 */
export function compare(
  request: Pick<CallRequest, 'semiring' | 'dtype' | 'm' | 'n' | 'k'> & Partial<CallRequest>,
  a: ArrayLike<number>,
  b: ArrayLike<number>,
  c: ArrayLike<number>,
): { relativeError: number; compared: number } {
  const { semiring, dtype, m, n, k, variant = 'the CPU backend' } = request
  const { extend, combine } = algebras[semiring]!
  const roundoff = dtype === 'int32' ? 0 : dtype === 'float32' ? 2 ** -24 : 2 ** -53
  const allowed = (semiring === 'plus-times' ? k : 1) * roundoff
  const compared = Math.min(MAX_COMPARED, m * n)
  let relativeError = 0
  for (let sample = 0; sample < compared; sample++) {
    // The sample includes the first and the last element. The step between samples is rarely a multiple of
    // the row length.
    const at = compared === 1 ? 0 : Math.round((sample * (m * n - 1)) / (compared - 1))
    const [row, col] = [Math.floor(at / n), at % n]
    let expected = extend(a[row * k]!, b[col]!)
    for (let step = 1; step < k; step++) {
      expected = combine(expected, extend(a[row * k + step]!, b[step * n + col]!))
    }
    const error = Math.abs(c[at]! - expected)
    const relative = error === 0 ? 0 : error / Math.abs(expected)
    if (!(relative <= allowed)) {
      throw new VerificationError(
        `${variant}, ${m} × ${k} × ${n}: C[${row}, ${col}] is ${c[at]}, and in float64 ${expected}: a relative error of ${relative.toExponential(1)}, but rounding explains at most ${allowed.toExponential(1)}`,
      )
    }
    relativeError = Math.max(relativeError, relative)
  }
  return { relativeError, compared }
}

/** Time in ms for repetitions of a call, whose median is reported. */
const BUDGET_MS = 1000
const MAX_CALLS = 5

export async function runCall(request: CallRequest): Promise<NonNullable<CallPoint['result']>> {
  const { m, n, k, semiring, backend, variant, device } = request
  const { a, b, c } = operandsOf(request)
  const options = {
    semiring,
    device,
    out: matrix(m, n, c),
    ...(variant === undefined ? { backend } : { variant }),
  }
  // C is overwritten, so that the result of an earlier call can't be mistaken for the new result.
  c.fill(-1)
  const totals: number[] = []
  const kernels: number[] = []
  let how: { backend: BackendName; device: string; variant: string }
  let spent = 0
  do {
    const { timing, ...result } = await mpmm(matrix(m, k, a), matrix(k, n, b), options)
    how = { backend: result.backend, device: result.device, variant: result.variant }
    totals.push(timing.totalMs)
    kernels.push(timing.kernelMs)
    spent += timing.totalMs
  } while (spent < BUDGET_MS && totals.length < MAX_CALLS)
  // The first call may allocate memory and start threads that later calls reuse.
  const [totalMs, kernelMs] = totals.length > 2 ? [totals.slice(1), kernels.slice(1)] : [totals, kernels]
  return {
    ...how,
    ...compare(request, a, b, c),
    totalMs: spread(totalMs),
    kernelMs: spread(kernelMs),
    gops: spread(kernelMs.map((ms) => (2 * m * n * k) / ms / 1e6)),
  }
}
