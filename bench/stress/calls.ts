/**
 * Random calls that are reproducible from a seed: every semiring and element type, batches, transposed
 * operands, arrays and device matrices, groups, aborted and invalid calls. Each call regenerates its matrices
 * when it runs, so that a list of calls takes little memory. `npm run fuzz` draws more layouts and values.
 */
import {
  type DataType,
  type DenseMatrix,
  type ElementArray,
  type ErrorCode,
  matrix,
  type Overflow,
  type Semiring,
  type Shape,
  variants,
  zeroOf,
} from '../../lib/index.js'
import { arrays, hasSums, typesOf } from '../dtype.js'
import { Draw } from '../random.js'
import { type InvalidCall, invalidCalls } from './mistakes.js'

export type Dense = DenseMatrix<ElementArray>

/**
 * Ranges of values. Sums of 'any' int32 values may overflow; sums of values in 'half' of the range never do.
 * 'small' floating-point values are integers, so that plus-times products are exact in any order of the sums.
 */
const ranges = {
  small: [-60, 90],
  half: [-(2 ** 30) + 1, 2 ** 30 - 1],
  any: [-(2 ** 31) + 1, 2 ** 31 - 2],
} as const

/** Problem to compute, C0 ⊕ A⊗B, and the forms of its matrices. */
export interface Product {
  semiring: Semiring
  dtype: DataType
  overflow: Overflow | undefined
  values: keyof typeof ranges
  seed: number
  shapes: { a: Shape; b: Shape; c: Shape }
  /** 'out': C0 is the content of `out`. */
  accumulate: 'nothing' | 'a matrix' | 'out'
  /** Whether a result matrix is given. */
  hasOut: boolean
  /** Whether B is on the device, like A, in a call of device matrices. */
  bothResident: boolean
  /** Whether A, B, and `out` and C0 are stored by columns. */
  byColumns: { a: boolean; b: boolean; c: boolean }
}

/** Time at which a call is aborted: before it, right after it, or a number of milliseconds later. */
export type AbortTime = 'before' | 'at once' | number

export interface ProductCall {
  verb: 'mpmm' | 'mpmmSync' | 'mpmmGrouped'
  /** Products of the call. Products of a group have one semiring and one element type. */
  products: Product[]
  /** Whether the matrices are on a device. */
  isResident: boolean
  abortTime: AbortTime | null
}

/** A call, with its expected error code; null if it must succeed. */
export type Call = { seed: number } & (
  | { mistake: InvalidCall; code: ErrorCode }
  | { mistake: null; code: 'ERR_MPMML_ABORTED' | null; call: ProductCall }
)

export interface Limits {
  /** Largest size. Most sizes are much smaller. */
  largest: number
  /** Fraction of products whose sizes are all at least half of the largest. */
  large: number
}

export function drawCalls(count: number, seed: number, limits: Limits): Call[] {
  const draw = new Draw(seed)
  return Array.from({ length: count }, (_, index) => drawCall(draw, seed * 1_000_003 + index, limits))
}

function drawCall(draw: Draw, seed: number, limits: Limits): Call {
  if (draw.chance(0.15)) {
    const mistake = draw.pick(invalidCalls)
    return { seed, mistake, code: mistake.code }
  }
  const semiring = draw.pick(semirings)
  const dtype = draw.pick(typesOf(semiring))
  const verb = draw.pick(['mpmm', 'mpmm', 'mpmm', 'mpmm', 'mpmm', 'mpmm', 'mpmmGrouped', 'mpmmSync'] as const)
  // Synchronous calls use smaller sizes, because they block the thread.
  const most = verb === 'mpmm' ? limits : { largest: Math.min(limits.largest, 64), large: 0 }
  const count = verb === 'mpmmGrouped' ? draw.integer(1, 6) : 1
  const overflows = dtype === 'int32' && hasSums(semiring)
  const overflow = overflows ? draw.pick([undefined, 'throw', 'saturate', 'wrap'] as const) : undefined
  const products = Array.from({ length: count }, (_, index) =>
    drawProduct(draw, { semiring, dtype, overflow, seed: 7 * seed + index }, most),
  )
  const isResident = draw.chance(0.5)
  const abortTime = draw.chance(0.12)
    ? draw.pick<AbortTime>(['before', 'at once', 0, 1, draw.integer(2, 10)])
    : null
  const code = abortTime === 'before' ? 'ERR_MPMML_ABORTED' : null
  return { seed, mistake: null, code, call: { verb, products, isResident, abortTime } }
}

const semirings = [...new Set(variants().map(({ semiring }) => semiring))]

/** Sizes are distributed logarithmically, so most are small. */
function drawSizes(draw: Draw, { largest, large }: Limits): [m: number, k: number, n: number] {
  const all = draw.chance(large)
  const size = () =>
    all ? draw.integer(Math.ceil(largest / 2), largest) : Math.floor((largest + 1) ** draw.share())
  return [size(), size(), size()]
}

function drawProduct(
  draw: Draw,
  problem: Pick<Product, 'semiring' | 'dtype' | 'overflow' | 'seed'>,
  limits: Limits,
): Product {
  const { semiring, dtype, overflow } = problem
  const [m, k, n] = drawSizes(draw, limits)
  const batch = draw.chance(0.2) && m * k * n <= 64 ** 3 ? draw.integer(1, 5) : null
  // A single matrix is an operand of every product of a batch.
  const single = draw.pick(['a', 'b', 'neither'] as const)
  const shape = (rows: number, cols: number, isSingle: boolean): Shape =>
    batch === null || isSingle ? [rows, cols] : [batch, rows, cols]
  const mayOverflow = overflow === 'saturate' || overflow === 'wrap' || !hasSums(semiring)
  const accumulate = draw.pick(['nothing', 'nothing', 'a matrix', 'out'] as const)
  return {
    ...problem,
    values:
      dtype !== 'int32' ? 'small' : draw.pick(mayOverflow ? ['small', 'half', 'any'] : ['small', 'half']),
    shapes: { a: shape(m, k, single === 'a'), b: shape(k, n, single === 'b'), c: shape(m, n, false) },
    accumulate,
    hasOut: accumulate === 'out' || draw.chance(0.4),
    bothResident: draw.chance(0.8),
    byColumns: { a: draw.chance(0.5), b: draw.chance(0.5), c: draw.chance(0.5) },
  }
}

/** Matrices of a problem. */
export interface Matrices {
  a: Dense
  b: Dense
  /** Content of `out` before the call, or the matrix to accumulate into; null if the product has neither. */
  c0: Dense | null
}

/** Returns the matrices of a problem; equal for equal seeds. */
export function matricesOf({ seed, shapes, semiring, dtype, values, accumulate }: Product): Matrices {
  const zero = zeroOf(semiring, dtype)
  const [least, most] = dtype === 'uint8' ? [0, 2] : ranges[values]
  const low = semiring === 'max-times' ? 0 : least
  // A single random number decides whether the element is zero, and its value otherwise.
  const step = (most - low + 1) / 0.8
  const random = (shape: Shape, nth: number) => {
    const draw = new Draw(3 * seed + nth)
    const data = new arrays[dtype](shape.reduce<number>((product, size) => product * size, 1))
    for (let index = 0; index < data.length; index++) {
      const share = draw.share()
      data[index] = share < 0.8 ? low + Math.floor(share * step) : zero
    }
    return matrix(shape, data) as Dense
  }
  return {
    a: random(shapes.a, 0),
    b: random(shapes.b, 1),
    c0: accumulate === 'nothing' ? null : random(shapes.c, 2),
  }
}

/** Describes a call for messages. */
export function describeCall(call: Call): string {
  if (call.mistake) return call.mistake.name
  const { verb, products, abortTime, isResident } = call.call
  const [first] = products
  const { a, b } = first!.shapes
  const more = products.length > 1 ? ` and ${products.length - 1} more` : ''
  const where = isResident ? ', resident' : ''
  const end =
    abortTime === null
      ? ''
      : `, aborted ${typeof abortTime === 'number' ? `${abortTime} ms after it` : abortTime}`
  return `${verb}, ${first!.semiring} on ${first!.dtype}, [${a}] by [${b}]${more}${where}${end} (seed ${call.seed})`
}
