/** Options that commands share, and their parsers, whose errors commander reports as wrong usage. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Semiring } from '../lib/index.js'
import { flags, libraryOption, readFlag } from './flags.js'

/** Returns a parser of integers from `least` to `most`. */
export function wholeNumber(least = 1, most = 2 ** 31 - 1): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^-?\d{1,10}$/.test(text) || value < least || value > most) {
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`)
    }
    return value
  }
}

/** Parses a number above 0, which may have a fraction. */
export function positive(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text) && Number(text) > 0) return Number(text)
  throw new InvalidArgumentError('It must be a number above 0.')
}

/** Returns a parser of integers separated by commas, each from `least` to `most`. */
export function wholeNumbers(least = 1, most = 2 ** 31 - 1): (text: string) => number[] {
  const read = wholeNumber(least, most)
  return (text) => text.split(',').map((part) => read(part.trim()))
}

export const device = (text: string): number => readFlag('device', text) as number

/** Returns a parser of names from `choices`, separated by commas. */
export function someOf<Choice extends string>(choices: readonly Choice[]): (text: string) => Choice[] {
  return (text) =>
    text.split(',').map((part) => {
      const found = choices.find((choice) => choice === part.trim())
      if (found === undefined) throw new InvalidArgumentError(`Allowed choices are ${choices.join(', ')}.`)
      return found
    })
}

/** The sizes of a product: C is M × N, K deep, `batch` times. */
export interface ProductShape {
  batch: number
  m: number
  n: number
  k: number
}

export const squares = (sizes: readonly number[]): ProductShape[] =>
  sizes.map((size) => ({ batch: 1, m: size, n: size, k: size }))

/** Limit of rows, above what any machine can store. */
export const MAX_ROWS = 10 ** 6

/** Parses shapes MxKxN or BATCHxMxKxN, separated by commas. */
export function shapes(text: string): ProductShape[] {
  return text.split(',').map((part) => {
    const sizes = /^\s*(?:(\d{1,7})x)?(\d{1,7})x(\d{1,7})x(\d{1,7})\s*$/.exec(part)?.slice(1)
    const [batch, m, k, n] = (sizes ?? []).map((size) => (size === undefined ? 1 : Number(size)))
    if (!batch || !m || !k || !n || Math.max(batch, m, k, n) > MAX_ROWS) {
      throw new InvalidArgumentError(`A shape is MxKxN or BATCHxMxKxN, with sizes from 1 to ${MAX_ROWS}.`)
    }
    return { batch, m, n, k }
  })
}

/** Options that select the backend and the device. */
export const placeOptions = () => [libraryOption('backend'), libraryOption('device')]

/** Options of a product, named like the options of `mpmm`. */
export const productOptions = (): Option[] => [
  libraryOption('semiring').default('max-plus'),
  ...placeOptions(),
  // No list of choices: the product rejects unknown variants.
  new Option(flags.variant.flag, flags.variant.summary),
  libraryOption('overflow'),
]

export const devicesOption = (summary?: string): Option =>
  libraryOption('devices', summary).conflicts('device')

/** Returns the options of commands that compute closures. */
export const closureOptions = (semirings: readonly Semiring[], usual: Semiring): Option[] => [
  libraryOption('semiring').choices(semirings).default(usual),
  ...placeOptions(),
  devicesOption(),
  libraryOption('overflow'),
]

/** Parses node numbers separated by commas. */
export const nodeNumbers = wholeNumbers(0)

/**
 * Returns the result of `read`, and reports its errors as wrong usage, such as arguments that exclude each
 * other.
 */
export function usage<T>(command: Command, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error
    return command.error(`error: ${error.message}`, { exitCode: 2 })
  }
}
