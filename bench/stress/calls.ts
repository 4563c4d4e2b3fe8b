/**
 * Random calls of all kinds, reproducible from a seed: every semiring and element type, batches, views,
 * arrays and device matrices, groups, aborted calls and invalid calls. Each call regenerates its matrices
 * when it runs, so that a list of calls takes little memory.
 */
import {
  type DataType,
  type ErrorCode,
  type Overflow,
  type Semiring,
  type Shape,
  variants,
} from '../../lib/index.js'
import { hasSums, typesOf } from '../dtype.js'
import { Draw } from '../random.js'
import {
  type Dense,
  type LayoutName,
  layoutNames,
  type ResidentForm,
  randomDense,
  residentForms,
  type Values,
} from './matrices.js'
import { type InvalidCall, invalidCalls } from './mistakes.js'

/** Form in which a matrix is passed to a call. */
export interface OperandForm {
  layout: LayoutName
  /** Form of a device matrix; null: the operand is in an array. */
  resident: ResidentForm | null
  /** Whether the operand is an Int16Array. */
  int16: boolean
}

/** Problem to compute: C0 ⊕ A⊗B. */
export interface Problem {
  semiring: Semiring
  dtype: DataType
  overflow: Overflow | undefined
  values: Values
  seed: number
  shapes: { a: Shape; b: Shape; c: Shape }
  /** 'out': C0 is the content of `out`. */
  accumulate: 'nothing' | 'a matrix' | 'out'
}

/** Problem with the forms of its matrices. */
export interface Product extends Problem {
  a: OperandForm
  b: OperandForm
  /** Form of the matrix for the result; null: the library allocates the result. */
  out: OperandForm | null
  c0: OperandForm
}

/** Time at which a call is aborted: before it, right after it, or a number of milliseconds later. */
export type AbortTime = 'before' | 'at once' | number

export interface ProductCall {
  verb: 'mpmm' | 'mpmmSync' | 'mpmmGrouped'
  /** Products of the call. Products of a group have one semiring and one element type. */
  products: Product[]
  givenUp: AbortTime | null
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
  const resident = draw.chance(0.5)
  const overflow = drawOverflow(draw, semiring, dtype)
  const products = Array.from({ length: count }, (_, index) =>
    drawProduct(draw, { semiring, dtype, overflow, seed: 7 * seed + index, resident, limits: most }),
  )
  const givenUp = draw.chance(0.12)
    ? draw.pick<AbortTime>(['before', 'at once', 0, 1, draw.integer(2, 10)])
    : null
  const code = givenUp === 'before' ? 'ERR_MPMML_ABORTED' : null
  return { seed, mistake: null, code, call: { verb, products, givenUp } }
}

const semirings = [...new Set(variants().map(({ semiring }) => semiring))]

function drawOverflow(draw: Draw, semiring: Semiring, dtype: DataType): Overflow | undefined {
  if (dtype !== 'int32' || !hasSums(semiring)) return undefined
  return draw.pick([undefined, 'throw', 'saturate', 'wrap'] as const)
}

/** Sizes are distributed logarithmically, so most are small. */
function drawSizes(draw: Draw, { largest, large }: Limits): [m: number, k: number, n: number] {
  const all = draw.chance(large)
  const size = () =>
    all ? draw.integer(Math.ceil(largest / 2), largest) : Math.floor((largest + 1) ** draw.share())
  return [size(), size(), size()]
}

interface ProductRequest extends Pick<Problem, 'semiring' | 'dtype' | 'overflow' | 'seed'> {
  resident: boolean
  limits: Limits
}

function drawProduct(draw: Draw, { resident, limits, ...problem }: ProductRequest): Product {
  const { semiring, dtype, overflow } = problem
  const [m, k, n] = drawSizes(draw, limits)
  const batch = draw.chance(0.2) && m * k * n <= 64 ** 3 ? draw.integer(1, 5) : null
  // A single matrix is an operand of every product of a batch.
  const isSingle = draw.pick(['a', 'b', 'neither'] as const)
  const shape = (rows: number, cols: number, single: boolean): Shape =>
    batch === null || single ? [rows, cols] : [batch, rows, cols]
  const shapes = {
    a: shape(m, k, isSingle === 'a'),
    b: shape(k, n, isSingle === 'b'),
    c: shape(m, n, false),
  }
  const values: Values =
    dtype !== 'int32'
      ? 'small'
      : overflow === 'saturate' || overflow === 'wrap' || !hasSums(semiring)
        ? draw.pick(['small', 'half', 'any'])
        : draw.pick(['small', 'half'])
  const handing = (there: boolean, mayBe16: boolean): OperandForm => ({
    layout: draw.pick(layoutNames),
    resident: there ? draw.pick(residentForms) : null,
    int16: mayBe16 && values === 'small' && dtype === 'int32' && draw.chance(0.2),
  })
  const [a, b] = [handing(resident && draw.chance(0.8), true), handing(resident && draw.chance(0.8), true)]
  const onDevice = a.resident !== null || b.resident !== null
  const accumulate = draw.pick(['nothing', 'nothing', 'a matrix', 'out'] as const)
  const hasOut = accumulate === 'out' || draw.chance(0.4)
  // In a group one device matrix moves all results to the device, so a result may be there because of another
  // product.
  return {
    ...problem,
    values,
    shapes,
    accumulate,
    a,
    b,
    out: hasOut ? handing(onDevice, false) : null,
    c0: handing(onDevice && draw.chance(0.5), false),
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
export function matricesOf({ seed, shapes, semiring, dtype, values, accumulate }: Problem): Matrices {
  const random = (shape: Shape, nth: number) =>
    randomDense(new Draw(3 * seed + nth), shape, semiring, dtype, values)
  return {
    a: random(shapes.a, 0),
    b: random(shapes.b, 1),
    c0: accumulate === 'nothing' ? null : random(shapes.c, 2),
  }
}

/** Describes a call for messages. */
export function describeCall(call: Call): string {
  if (call.mistake) return call.mistake.name
  const { verb, products, givenUp } = call.call
  const [first] = products
  const { a, b } = first!.shapes
  const more = products.length > 1 ? ` and ${products.length - 1} more` : ''
  const end =
    givenUp === null ? '' : `, aborted ${typeof givenUp === 'number' ? `${givenUp} ms after it` : givenUp}`
  return `${verb}, ${first!.semiring} on ${first!.dtype}, [${a}] by [${b}]${more}${end} (seed ${call.seed})`
}
