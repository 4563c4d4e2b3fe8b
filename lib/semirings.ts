/**
 * Custom semirings: ⊕ and ⊗ are functions, which are compiled to kernels for a GPU or the CPU.
 *
 * @packageDocumentation
 */
import './globals.js'
import './semirings/work.js'

export type { UserAlgebraOptions, UserAlgebraResult } from './product/user-product.js'
export { type CheckOptions, checkSemiring } from './semirings/laws.js'
export { semiring } from './semirings/make.js'
export {
  counting,
  hamming,
  kBest,
  l1Distance,
  lexicographic,
  lInfinityDistance,
  logSumExp,
  type Repeated,
} from './semirings/ready.js'
export type {
  ElementFunction,
  ElementResult,
  ElementValue,
  SemiringDefinition,
} from './semirings/semiring.js'
export type {
  Condition,
  Operations,
  Value,
  ValueOrNumber,
} from './semirings/value.js'
export type {
  ElementOf,
  ExpressionJson,
  LaneArray,
  Lanes,
  LaneType,
  SemiringJson,
  UserSemiring,
} from './user-semiring.js'
