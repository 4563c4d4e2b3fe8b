/** Decodes .npy files on disk. */
import type { FileHandle } from 'node:fs/promises'
import { changedWhileRead, readFully, reading } from './files.js'
import type { NpyDecoder } from './npy-decoder.js'
import { namedProblem } from './npy-header.js'

/** Bytes of one read: enough for the full speed of a disk, few enough to stop soon after a signal. */
const CHUNK_BYTES = 1 << 22

/** Number of concurrent reads: one thread doesn't saturate the memory bandwidth. */
const READERS = 4

/** Runs work on a .npy file by {@link reading}. */
export const readingNpy = <Result>(
  name: string,
  work: (file: FileHandle, size: number) => Promise<Result>,
): Promise<Result> =>
  reading(name, 'a NumPy .npy file', (file, size) =>
    work(file, size).catch((error) => {
      throw namedProblem(name, error)
    }),
  )

/** Runs a decoder on a file. `reached` is called with the number of bytes that have been read. */
export async function decodeFile<Result>(
  name: string,
  decoder: NpyDecoder<Result>,
  file: FileHandle,
  reached: (bytes: number) => void = () => {},
): Promise<Result> {
  let position = 0
  let read = 0
  for (;;) {
    const { value, done } = decoder.next()
    if (done) return value
    let next = 0
    const reader = async () => {
      while (next < value.length) {
        const at = next
        const bytes = value.subarray(at, at + CHUNK_BYTES)
        next += bytes.length
        reached(read)
        if ((await readFully(file, bytes, position + at)) < bytes.length) throw changedWhileRead(name)
        read += bytes.length
      }
    }
    // All reads must end before the file is closed.
    const readers = await Promise.allSettled(Array.from({ length: READERS }, reader))
    for (const outcome of readers) if (outcome.status === 'rejected') throw outcome.reason
    position += value.length
  }
}
