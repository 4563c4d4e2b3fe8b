/** Semirings that JSON files define. */
import { readFile } from 'node:fs/promises'
import { InvalidArgumentError, type Option } from 'commander'
import { FileError } from '../lib/index.js'
import type { UserSemiring } from '../lib/semirings.js'
import { fileOf, isUntyped, outputFileOf } from './matrix-file.js'

/** Returns whether the option --semiring names a file. */
export const isOwn = (named: string): boolean => named.endsWith('.json')

/** Extends the option --semiring so that it also accepts a file name. */
export function orFile(option: Option): Option {
  const { argChoices = [] } = option
  option.argParser((text: string) => {
    if (isOwn(text) || argChoices.includes(text)) return text
    throw new InvalidArgumentError(
      `Allowed choices are ${argChoices.join(', ')}, or a file with the end .json.`,
    )
  })
  return option
}

/**
 * Throws unless all files state their element type, because the elements that text and sparse files omit are
 * the zero of a built-in semiring.
 */
export function assertTyped(inputs: readonly string[], output: string | undefined): asserts output is string {
  if (output === undefined)
    throw new Error('a product over a semiring of your own is written to a file: name it with -o')
  for (const { path } of [...inputs.map(fileOf), outputFileOf(output)]) {
    if (!isUntyped(path)) continue
    throw new Error(
      `${path} must be a .npy or .npz file, because the elements of other files depend on the library's semirings`,
    )
  }
}

/** Reads the semiring that a JSON file defines. Elements must have one lane, of a type that matrix files support. */
export async function readSemiring(path: string): Promise<UserSemiring<'float32'>> {
  // Imported on demand, because products over built-in semirings don't need the module.
  const { semiring } = await import('../lib/semirings.js')
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw new FileError(`${path}: expected a semiring, but ${error.message}`, { cause: error })
  })
  let own: UserSemiring
  try {
    own = semiring.from(text)
  } catch (error) {
    throw new FileError(`${path}: ${(error as Error).message}`, { cause: error })
  }
  if (own.dtype === 'int32' || own.dtype === 'float32') return own as UserSemiring<'float32'>
  const came = Array.isArray(own.dtype) ? `of ${own.dtype.length} lanes` : `of ${own.dtype}`
  throw new Error(
    `${path} has elements ${came}, but files have elements of int32 or float32: use mpmml/semirings in a program`,
  )
}
