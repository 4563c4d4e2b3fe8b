/**
 * All semirings on all element types with their neutral elements, by definition and without code of the
 * library.
 */
import type { DataType, Semiring } from '../../lib/index.js'
import { arrays } from '../../native/tools/fuzz/algebra.mjs'
import { algebraOf, algebras as defined } from './products/case.js'

export interface Algebra {
  semiring: Semiring
  type: DataType
}

export const algebras: Algebra[] = defined.map(({ semiring, dtype }) => ({ semiring, type: dtype }))
export const arrayOf = arrays
export const zeroOf = ({ semiring, type }: Algebra): number => algebraOf(semiring, type).zero
export const oneOf = ({ semiring, type }: Algebra): number => algebraOf(semiring, type).one
