/** The semirings of the build. */
import { showChoices } from './describe.js'
import { DTypeError, OptionError } from './errors.js'
import { addon } from './native.js'
import type { DataType, Semiring } from './variant-names.js'

/**
 * ε, the zero of max-plus: −∞, held as −2^31. It absorbs (ε ⊗ x = ε), and a result without a finite candidate is
 * ε. Every other int32 value is finite. Min-plus has another zero: see {@link zeroOf}.
 *
 * The name is the literature's (F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, Synchronization and Linearity).
 */
export const EPSILON = -2147483648

const names = addon.semirings.map(({ name }) => name)

/** The index of a semiring in the addon's list; -1 where there is none of that name. */
export function semiringIndex(name: unknown): number {
  return names.indexOf(name as Semiring)
}

/** Throws DTypeError where the semiring of this index doesn't have the element type. */
export function requireSemiringType(index: number, dtype: DataType): void {
  const { name, zeros } = addon.semirings[index]!
  if (zeros[dtype] !== undefined) return
  throw new DTypeError(
    `${name} has the element types ${Object.keys(zeros).join(' and ')}, but the operands are of ${dtype}: convert them, or choose another semiring`,
  )
}

/** The names of the semirings. */
export function semiringNames(): readonly Semiring[] {
  return names
}

/**
 * The int32 value that stands for a semiring's zero, the neutral element of ⊕: {@link EPSILON} (−2^31, −∞) for
 * 'max-plus', 2^31 − 1 (+∞) for 'min-plus'.
 *
 * @throws OptionError (ERR_MPMML_OPTION) where there is no semiring of that name.
 */
export function zeroOf(semiring: Semiring): number {
  const found = addon.semirings[semiringIndex(semiring)]
  if (!found)
    throw new OptionError(`there is no semiring ${String(semiring)}: expected ${showChoices(names)}`)
  return found.zeros.int32!
}
