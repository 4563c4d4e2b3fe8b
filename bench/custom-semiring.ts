/** Computes the product of two files over a semiring that a JSON file defines. */
import { readFile } from 'node:fs/promises'
import { InvalidArgumentError, type Option } from 'commander'
import { type DenseMatrix, FileError, type MpmmOptions, mpmm } from '../lib/index.js'
import type { UserSemiring } from '../lib/semirings.js'
import {
  checkMatrixOutputs,
  fileOf,
  isUntyped,
  outputFileOf,
  readMatrixFile,
  writeMatrixFile,
} from './matrix-file.js'
import { duration, labelled, rate, shapeText } from './output.js'
import { withProgress } from './progress.js'
import { type FileRecord, fileText } from './summary.js'

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

export interface OwnRequest extends Pick<MpmmOptions, 'backend' | 'device' | 'devices'> {
  a: string
  b: string
  output?: string | undefined
  accumulate?: string | undefined
  /** Path of the JSON file that defines the semiring. */
  semiring: string
}

/** Output of `multiply --json` for a product over a custom semiring. */
interface OwnRecord {
  a: FileRecord
  b: FileRecord
  c: FileRecord
  semiring: string
  dtype: string
  backend: string
  device: string
  timing: { totalMs: number; kernelMs: number }
  gops: number
}

/** @throws errors of all steps; the output file is renamed into place only after success. */
export async function multiplyByOwn(request: OwnRequest, signal: AbortSignal): Promise<OwnRecord> {
  const { a: first, b: second, output, accumulate, backend, device, devices } = request
  const own = await readSemiring(request.semiring)
  if (output === undefined)
    throw new Error('a product over a semiring of your own is written to a file: name it with -o')
  const inputs = [first, second, accumulate].filter((path) => path !== undefined)
  await checkMatrixOutputs([output], inputs)
  for (const { path } of [...inputs.map(fileOf), outputFileOf(output)]) {
    // Elements that text and sparse files omit are the zero of a built-in semiring.
    if (isUntyped(path)) {
      throw new Error(
        `${path} must be a .npy or .npz file, because the elements of other files depend on the library's semirings`,
      )
    }
  }
  const read = (path: string) => readMatrixFile(path, {}, signal) as Promise<never>
  const a: DenseMatrix<Float32Array> = await read(first)
  const b: DenseMatrix<Float32Array> = await read(second)
  const c0: DenseMatrix<Float32Array> | undefined =
    accumulate === undefined ? undefined : await read(accumulate)
  const { c, ...how } = await withProgress(
    `multiplying ${shapeText(a.shape)} by ${shapeText(b.shape)}`,
    (onProgress) =>
      mpmm(a, b, { semiring: own, accumulate: c0, backend, device, devices, signal, onProgress }),
  )
  await writeMatrixFile(output, c, undefined, signal)
  return {
    a: { path: first, shape: a.shape },
    b: { path: second, shape: b.shape },
    c: { path: output, shape: c.shape },
    semiring: own.name,
    dtype: own.dtype,
    ...how,
  }
}

/** Reads a semiring. Elements must have one lane, of a type that matrix files support. */
async function readSemiring(path: string): Promise<UserSemiring<'float32'>> {
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

/** Returns the record as text for people. */
export function describeOwn({ a, b, c, semiring, dtype, backend, device, timing, gops }: OwnRecord): string {
  return labelled([
    ['A', fileText(a)],
    ['B', fileText(b)],
    ['C', fileText(c)],
    ['semiring', `${semiring} on ${dtype}`],
    ['backend', `${backend}, ${device}`],
    ['kernel', duration(timing.kernelMs)],
    ['total', duration(timing.totalMs)],
    ['speed', `${rate(gops)} (2 operations per step, kernel time)`],
  ])
}
