/**
 * Parses and formats the header of NumPy's .npy format, versions 1.0, 2.0 and 3.0: a magic string, the
 * version, the header's length and a Python dictionary with the keys descr, fortran_order and shape. Source:
 * numpy.lib.format, "Format Version 1.0".
 */

import { bytesOfStored } from '../elements.js'
import { FileError } from '../errors.js'
import { fromLatin1 } from '../platform.js'
import type { DataType } from '../variant-names.js'

/** Fields of a header, whose numbers aren't checked yet. */
export interface NpyHeader {
  /** The element type, for example "<i4"; undefined for a structured type. */
  descr: string | undefined
  fortranOrder: boolean
  shape: bigint[]
}

/** The reason why a file can't be read; the reader adds the file's name. */
export class NpyProblem extends Error {}

/** Returns the FileError for an NpyProblem of the file `name`. Other errors are returned unchanged. */
export const namedProblem = (name: string, error: unknown): unknown =>
  error instanceof NpyProblem ? new FileError(`${name}: ${error.message}`, { cause: error }) : error

const magic = '\x93NUMPY'

/** Bytes before the header's text, in the longest version. */
export const preambleLength = 12

/** Limit of the header in bytes. Only headers of structured types are longer. */
const longestHeader = 65535

/** Returns the position of the header's text from the file's first bytes (up to {@link preambleLength}). */
export function parsePreamble(bytes: Uint8Array): { start: number; length: number } {
  if (bytes.length === 0) {
    throw new NpyProblem('expected a NumPy .npy file, but it is empty; write one with numpy.save')
  }
  if (fromLatin1(bytes, 0, magic.length) !== magic) {
    throw new NpyProblem(
      `expected a NumPy .npy file, which starts with ${JSON.stringify(magic)}, but it starts with ` +
        `${JSON.stringify(fromLatin1(bytes, 0, magic.length))}; write one with numpy.save`,
    )
  }
  const [major, minor] = [bytes[6], bytes[7]]
  const lengthBytes = major === 1 ? 2 : 4
  const start = 8 + lengthBytes
  if (bytes.length < start) throw new NpyProblem('the file ends within its header: it is truncated')
  if (![1, 2, 3].includes(major!) || minor !== 0) {
    throw new NpyProblem(`expected .npy format 1.0, 2.0 or 3.0, but its version says ${major}.${minor}`)
  }
  const length = bytes.subarray(8, start).reduceRight((value, byte) => 256 * value + byte, 0)
  if (length > longestHeader) {
    throw new NpyProblem(
      `its header claims ${length} bytes; that of an array of numbers has at most ${longestHeader}`,
    )
  }
  return { start, length }
}

/** Returns the error for a file of `size` bytes whose header is longer. */
export function truncatedHeader(size: number, needed: number): NpyProblem {
  return new NpyProblem(
    `the file ends within its header: it has ${size} bytes, its header needs ${needed}; it is truncated`,
  )
}

const tokens = /\s*(?:([{}[\](),:])|(?:'([^'\\\n]*)'|"([^"\\\n]*)")|(-?\d+)L?\b|(True|False)\b)/y

type Token = { mark: string } | { text: string } | { integer: bigint } | { truth: boolean }

/** Returns the tokens of a text. Tokens that no header has are refused, not skipped. */
function tokenize(text: string): Token[] {
  const list: Token[] = []
  tokens.lastIndex = 0
  const end = text.trimEnd().length
  while (tokens.lastIndex < end) {
    const at = tokens.lastIndex
    const match = tokens.exec(text)
    if (!match) throw malformed(text, at)
    const [, mark, single, double, integer, truth] = match
    if (mark !== undefined) list.push({ mark })
    else if (integer !== undefined) list.push({ integer: BigInt(integer) })
    else if (truth !== undefined) list.push({ truth: truth === 'True' })
    else list.push({ text: single ?? double ?? '' })
  }
  return list
}

function malformed(text: string, at = 0): NpyProblem {
  return new NpyProblem(
    "expected a header such as {'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }, but it reads " +
      `${JSON.stringify(text.slice(at, at + 60))}${at > 0 ? ` at byte ${at}` : ''}; the file is damaged`,
  )
}

/** Parses the header's dictionary: exactly the three keys, in any order. */
export function parseHeader(text: string): NpyHeader {
  const list = tokenize(text)
  let next = 0
  const isMark = (mark: string) => (list[next] as { mark?: string } | undefined)?.mark === mark
  const expectMark = (mark: string) => {
    if (!isMark(mark)) throw malformed(text)
    next++
  }
  const take = <K extends 'text' | 'integer' | 'truth'>(kind: K): Extract<Token, Record<K, unknown>>[K] => {
    const token = list[next++]
    if (!token || !(kind in token)) throw malformed(text)
    return (token as Extract<Token, Record<K, unknown>>)[kind]
  }
  /** Skips the list of a structured type. */
  const skipList = () => {
    let depth = 0
    do {
      if (next >= list.length) throw malformed(text)
      if (isMark('[')) depth++
      if (isMark(']')) depth--
      next++
    } while (depth > 0)
    return undefined
  }
  const readShape = () => {
    const shape: bigint[] = []
    expectMark('(')
    while (!isMark(')')) {
      shape.push(take('integer'))
      if (!isMark(')')) expectMark(',')
      // A tuple of one element requires a comma: (3) is a number.
      else if (shape.length === 1) throw malformed(text)
    }
    next++
    return shape
  }
  const readers: Record<string, () => unknown> = {
    descr: () => (isMark('[') ? skipList() : take('text')),
    fortran_order: () => take('truth'),
    shape: readShape,
  }
  const found: Record<string, unknown> = {}
  expectMark('{')
  while (!isMark('}')) {
    const key = take('text')
    const read = Object.hasOwn(readers, key) ? readers[key] : undefined
    if (!read || Object.hasOwn(found, key)) throw malformed(text)
    expectMark(':')
    found[key] = read()
    if (!isMark('}')) expectMark(',')
  }
  next++
  if (next !== list.length || Object.keys(found).length !== 3) throw malformed(text)
  return {
    descr: found.descr as string | undefined,
    fortranOrder: found.fortran_order as boolean,
    shape: found.shape as bigint[],
  }
}

/** Number of digits to which the first dimension can grow in NumPy's padded header. */
const growthDigits = 21

/** Returns NumPy's name of an element type, little-endian: <f8 for float64. */
function description(dtype: DataType): string {
  const bytes = bytesOfStored(dtype)
  return `${bytes > 1 ? '<' : '|'}${dtype[0]}${bytes}`
}

/**
 * Returns the header of a version 1.0 file in C order, byte for byte as NumPy writes it. The data starts at a
 * multiple of 64.
 */
export function formatHeader(shape: readonly number[], dtype: DataType): Uint8Array {
  const dictionary = `{'descr': '${description(dtype)}', 'fortran_order': False, 'shape': (${shape.join(', ')}), }`
  const grown = dictionary + ' '.repeat(growthDigits - String(shape[0]).length)
  const total = Math.ceil((10 + grown.length + 1) / 64) * 64
  const text = `${magic}\x01\x00${String.fromCharCode((total - 10) % 256, Math.floor((total - 10) / 256))}${grown}`
  return Uint8Array.from(`${text.padEnd(total - 1)}\n`, (character) => character.charCodeAt(0))
}
