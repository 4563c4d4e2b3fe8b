/** Formats values for error messages. */
import { isTypedArray } from './array-types.js'

/** 'an' for an Int32Array, 'a' for a Float32Array, and for a Uint8Array, whose U is spoken like "you". */
function article(name: string): string {
  return /^[AEIO]/i.test(name) ? 'an' : 'a'
}

/**
 * Describes the type of `value` in a word or two: 'a Float32Array', 'an array', 'undefined', 'a string'.
 * Never throws.
 */
export function typeName(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'function') return 'a function'
  if (typeof value !== 'object') return `a ${typeof value}`
  try {
    const name = value.constructor?.name
    if (typeof name === 'string' && name !== '' && name !== 'Object') {
      if (/^(Big)?(Int|Uint|Float)\d+(Clamped)?Array$/.test(name) && !isTypedArray(value)) {
        return `an object with the prototype of ${article(name)} ${name}, such as a Proxy`
      }
      return `${article(name)} ${shortened(name)}`
    }
  } catch {}
  return 'an object'
}

/**
 * Limit of the characters of a value, and of the entries of a list, in a message: users pass whole arrays by
 * mistake.
 */
const MAX_CHARACTERS = 60
const MAX_ENTRIES = 8

const shortened = (text: string) =>
  text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text

/** `value` as it would be typed, shortened. Never throws. */
export function show(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return `'${shortened(value)}'`
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value)
    case 'bigint':
      // Formatting a long bigint is slow.
      return BigInt.asIntN(128, value) === value ? `${value}n` : 'a bigint of more than 128 bits'
    case 'boolean':
      return String(value)
    default:
      return typeName(value)
  }
}

/** [2, 3], shortened. */
export function showList(values: ArrayLike<unknown>): string {
  const { length } = values
  const shown = Array.from({ length: Math.min(length, MAX_ENTRIES) }, (_, at) => show(values[at]))
  return `[${shown.join(', ')}${length > MAX_ENTRIES ? `, … ${length} in all` : ''}]`
}

const joined = (names: readonly string[], word: 'and' | 'or') =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} ${word} ${names.at(-1)}`

/** a, b and c */
export const showAll = (names: readonly string[]): string => joined(names, 'and')

/** a, b or c */
export const formatAny = (names: readonly string[]): string => joined(names, 'or')

/** 'a', 'b' or 'c' */
export const showChoices = (choices: readonly string[]): string =>
  formatAny(choices.map((choice) => `'${choice}'`))

/** Name of a value in messages. An object's string is created only if the message is shown. */
export type Name = string | { toString(): string }
