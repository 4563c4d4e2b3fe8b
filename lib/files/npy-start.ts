/** The start of a .npy file: what it says of its matrix, and where that begins. */
import type { FileHandle } from 'node:fs/promises'
import { readFully } from './files.js'
import { type NpyHeader, parseHeader, parsePreamble, preambleLength, truncatedHeader } from './npy-header.js'

export async function readHeader(
  file: FileHandle,
  size: number,
): Promise<{ header: NpyHeader; dataOffset: number }> {
  const preamble = Buffer.alloc(Math.min(size, preambleLength))
  const { start, length } = parsePreamble(preamble.subarray(0, await readFully(file, preamble, 0)))
  const text = Buffer.alloc(Math.max(0, Math.min(length, size - start)))
  if ((await readFully(file, text, start)) < length) {
    throw truncatedHeader(size, start + length)
  }
  return { header: parseHeader(text.toString('latin1')), dataOffset: start + length }
}
