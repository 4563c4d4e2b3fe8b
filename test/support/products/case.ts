/** Cases of products with their expected results, by the definition of the fuzzer, which shares no code with the library. */
import type {
  DataType,
  MatrixLike,
  OperandArray,
  Overflow,
  ProductStructure,
  Semiring,
  VariantName,
} from '../../../lib/index.js'
import { algebras as defined } from '../../../native/tools/fuzz/algebra.mjs'
import { upTo } from '../../../native/tools/fuzz/check.mjs'
import { cells } from '../../../native/tools/fuzz/definition.mjs'
import { placeAs, read } from '../../../native/tools/fuzz/layouts.mjs'

/** A semiring on an element type. */
export interface Algebra {
  semiring: Semiring
  dtype: DataType
  /** The operation ⊗. */
  kind: 'sum' | 'least' | 'greatest' | 'product' | 'ordinary'
  /** Whether ⊕ takes the greater element. */
  greatest: boolean
  /** Whether x ⊕ x = x for all x, so that a single k decides a result. */
  idempotent: boolean
  /** Neutral elements of ⊕ and of ⊗. */
  zero: number
  one: number
  /** Value of a result without candidates: an infinity if sums can exceed int32, otherwise zero. */
  none: number
  /** Whether sums can exceed int32. */
  isInteger: boolean
  /** The finite range of int32. */
  least: number
  most: number
  isFloat: boolean
  /** Whether elements are truth values: any element other than 0 counts as 1. */
  isTruth: boolean
  /** Whether elements are integers other than truth values. */
  isWhole: boolean
}

export const algebras = defined as unknown as Algebra[]
export const algebraOf = (semiring: Semiring, dtype: DataType = 'int32') =>
  algebras.find((one) => one.semiring === semiring && one.dtype === dtype)!
export const nameOf = ({ semiring, dtype }: Algebra) => `${semiring} on ${dtype}`

/** Algebras of int32 in max-plus and min-plus. */
export const integerSums = algebras.filter(({ isInteger }) => isInteger)
/** Algebras with a witness. */
export const idempotent = algebras.filter(({ idempotent }) => idempotent)
/** Algebras in which every k contributes to a result: they have no witnesses, no closures and no paths. */
export const additive = algebras.filter(({ idempotent }) => !idempotent)

/** Row-major elements in the form of the definition. */
export interface Elements {
  data: OperandArray
  batched: boolean
  batch: number
  rows: number
  cols: number
}

export type AnyMatrix = MatrixLike<OperandArray>

/** Elements of a matrix in any layout. */
export const elementsOf = (matrix: AnyMatrix): Elements => {
  const { shape, strides, ...rest } = matrix
  return read({ ...rest, shape: Array.from(shape), strides: strides && Array.from(strides) })
}

/** Row-major matrix in the form of an argument. */
export const sourceOf = (source: Elements) => placeAs('row-major', source).matrix as AnyMatrix

export interface Case {
  algebra: Algebra
  a: Elements
  b: Elements
  c0?: Elements | undefined
  structure?: ProductStructure | undefined
  overflow?: Overflow | undefined
  witness?: boolean | undefined
  variant?: VariantName | undefined
  /** Required arithmetic; undefined allows any. */
  path?: string | undefined
  /** Layouts of the elements, by name; row-major if left out. */
  layouts?: { [name in 'a' | 'b' | 'c0' | 'out']?: string | undefined } | undefined
  /** Case with the same expected result, which differs only in the form of the call. */
  as?: Case | undefined
  /** Operands as arguments, in place of a layout. */
  given?: { a?: AnyMatrix; b?: AnyMatrix } | undefined
  what: string
}

/** Function that returns `cells` for some elements. */
export type Cells = ReturnType<typeof cells>

/** Case in the form of the definition. */
export function problemOf({ algebra, a, b, c0, structure, overflow }: Case, initial: Elements | null = null) {
  const batched = a.batched || b.batched
  const batch = a.batch === 1 ? b.batch : a.batch
  const sizes = { m: a.rows, k: a.cols, n: b.cols, batch, batched }
  return { algebra, ...sizes, a, b, c0: c0 ?? null, initial, structure, overflow }
}

export type Problem = ReturnType<typeof problemOf>

const known = new WeakMap<Case, Map<number, Cells>>()

/** All elements of one product of a batch, computed once. */
export function cellsOf(testCase: Case, item: number): Cells {
  const one = testCase.as ?? testCase
  const items = known.get(one) ?? known.set(one, new Map()).get(one)!
  const before = items.get(item)
  if (before) return before
  const problem = problemOf(one)
  const found = cells(problem, item, upTo(problem.m), upTo(problem.n), one.witness ? ['witness'] : [])
  items.set(item, found)
  return found
}

/** Result of the definition for a whole case, computed once. */
interface Whole {
  overflows: boolean
  steps: number
}
const wholes = new WeakMap<Case, Whole>()

function wholeOf(testCase: Case): Whole {
  const one = testCase.as ?? testCase
  const before = wholes.get(one)
  if (before) return before
  const whole = { overflows: false, steps: 0 }
  for (let item = 0; item < problemOf(one).batch; item++) {
    const { leaves, steps } = cellsOf(one, item)
    whole.overflows ||= leaves.includes(1)
    whole.steps += steps
  }
  wholes.set(one, whole)
  return whole
}

/** Copy of a case that must be computed by the named variant. */
export const by = (variant: VariantName, one: Case, more: Partial<Case> = {}): Case => ({
  ...one,
  ...more,
  variant,
  as: one.as ?? one,
})

/** Returns whether a sum that decides a result exceeds int32, and must be an error. */
export const overflows = (one: Case) => one.algebra.isInteger && wholeOf(one).overflows

/** Number of computed steps. */
export const stepsOf = (one: Case) => wholeOf(one).steps

/** Elements of a case's algebra. */
export function elements(data: OperandArray, rows: number, cols: number, batch?: number): Elements {
  return { data, batched: batch !== undefined, batch: batch ?? 1, rows, cols }
}
