/** Built-in semirings. Custom semirings are in lib/semirings. */
import { show, showAll, showChoices } from './describe.js'
import { storedZero } from './elements.js'
import { DTypeError, OptionError } from './errors.js'
import { type AuxiliaryName, addon } from './native.js'
import { option, readChoice } from './options.js'
import { userAlgebraOf } from './user-semiring.js'
import type { DataType, Semiring } from './variant-names.js'

/**
 * ε, the zero of max-plus: −∞, which is the value −2^31. ε is absorbing (ε ⊗ x = ε), and a result without a
 * finite candidate is ε. Every other int32 value is finite. The zero of min-plus is another value: see {@link
 * zeroOf}.
 *
 * The name ε follows F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, Synchronization and Linearity.
 *
 * @example
 * const { c } = await mpmm(matrix(1, 1, [EPSILON]), matrix(1, 1, [5]))
 * console.log(c.data[0] === EPSILON, EPSILON) // true -2147483648
 */
export const EPSILON = -2147483648

const names = addon.semirings.map(({ name }) => name)

/** Returns the index of a semiring in the addon's list; −1 if the list has no semiring of that name. */
function semiringIndex(name: unknown): number {
  return names.indexOf(name as Semiring)
}

/** Reads the option `name` and returns the index of its semiring. */
export function readSemiring(value: unknown, name = 'semiring'): number {
  assertNotUsers(value, name)
  return readChoice(names, value, name)
}

/**
 * Throws OptionError for a custom semiring. Functions that accept custom semirings handle them before this
 * check.
 */
function assertNotUsers(value: unknown, name: string): void {
  const own = userAlgebraOf(value)
  if (!own) return
  throw new OptionError(
    `option ${name} must be the name of a semiring of the library here, but it is semiring '${own.name}', which you have written: products, ` +
      'power and star take those; closures and paths need to know when going round a cycle makes nothing better, which no ⊕ and ⊗ say',
  )
}

/** The option `semiring` as an index into the addon's list. */
export const semiring = option(readSemiring('max-plus'), readSemiring, names)

/** Option `semiring` of functions other than products. */
export const semiringName = option(
  undefined,
  (value, name): Semiring | undefined => names[readSemiring(value, name)],
  names,
)

/** Table of the element types of each semiring: types[semiring][type]. */
const types = addon.semirings.map(({ zeros }) => addon.dataTypes.map((name) => zeros[name] !== undefined))

/** Throws DTypeError if the semiring doesn't have the element type; both are numbers of the addon's lists. */
export function assertSemiringType(semiring: number, type: number): void {
  if (types[semiring]![type]) return
  const { name, zeros } = addon.semirings[semiring]!
  throw new DTypeError(
    `${name} has ${elementTypes(zeros)}, but the operands are of ${addon.dataTypes[type]}: ` +
      'convert them, or choose another semiring',
  )
}

/** "the element types float32 and float64" */
function elementTypes(zeros: object): string {
  const names = Object.keys(zeros)
  return `the element ${names.length === 1 ? 'type' : 'types'} ${showAll(names)}`
}

/**
 * Throws OptionError for `option`, which needs the k that decides a result, if the semiring has no such k.
 */
export function assertSelective(semiring: number, option: AuxiliaryName): void {
  const { name, idempotent } = addon.semirings[semiring]!
  if (idempotent) return
  throw new OptionError(
    `option ${option} is true, but in ${name} every k has a part in each result, so that none is the one that decides it: ` +
      'leave it out, or choose another semiring',
  )
}

/**
 * Returns the value that represents a semiring's zero, the neutral element of ⊕:
 *
 * | semiring | int32 | float32, float64 | uint8 |
 * |---|---|---|---|
 * | 'max-plus', 'max-min' | {@link EPSILON} (−2^31) | −Infinity | |
 * | 'min-plus', 'min-max' | 2^31 − 1 | Infinity | |
 * | 'plus-times', 'max-times' | | 0 | |
 * | those of truth values, such as 'or-and' | | | 0 |
 *
 * @param dtype - the element type; 'int32' by default.
 * @throws ArgumentError (ERR_MPMML_OPTION) if no semiring has that name, ArgumentError (ERR_MPMML_DTYPE) if
 * the semiring doesn't have the element type.
 * @example
 * console.log(zeroOf('min-plus'), zeroOf('max-plus', 'float32')) // 2147483647 -Infinity
 */
export function zeroOf(semiring: Semiring, dtype: DataType = 'int32'): number {
  const found = addon.semirings[semiringIndex(semiring)]
  if (!found) throw new OptionError(`there is no semiring ${show(semiring)}: expected ${showChoices(names)}`)
  if (typeof dtype !== 'string' || !Object.hasOwn(found.zeros, dtype)) {
    throw new DTypeError(`${semiring} has ${elementTypes(found.zeros)}, but not ${show(dtype)}`)
  }
  return found.zeros[dtype]!
}

/** Returns the neutral element of ⊗ for a semiring, by its index, and one of its element types. */
export const oneOf = (semiring: number, dtype: DataType): number => addon.semirings[semiring]!.ones[dtype]!

/** Returns the stored value of the semiring's zero. Narrow arrays store other values for zeros. */
export function storedZeroOf(
  semiring: Semiring,
  stored: { readonly type: number; readonly bytes: number },
): number {
  return storedZero(zeroOf(semiring, addon.dataTypes[stored.type]), stored)
}
