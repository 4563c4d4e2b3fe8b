/**
 * Reads and writes rectangles of rows at offsets of files. Node.js has no memory maps; the system's page
 * cache works for reads at offsets as well.
 */
import type { FileHandle } from 'node:fs/promises'
import { ChangedError, ChunkError, DiskFullError, FileError, MpmmlError } from '../errors.js'
import { systemReason } from '../files/files.js'
import type { Rectangle } from './store.js'

/** Buffers of one system call; Linux takes 1024. */
const MAX_BUFFERS = 1024

/** Bytes of one system call: few enough that no thread of Node.js's pool is busy for long. */
const CALL_BYTES = 1 << 24

/** Calls at once for rows that are apart in the file. */
const ROWS_AT_ONCE = 16

/**
 * Runs `work` on 0 … count − 1 with limited concurrency. All of it has ended when the function returns or
 * throws.
 */
export async function atOnce(
  most: number,
  count: number,
  work: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) {
      const index = next++
      try {
        await work(index)
      } catch (error) {
        next = count
        throw error
      }
    }
  }
  const outcomes = await Promise.allSettled(Array.from({ length: Math.min(most, count) }, worker))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}

type Move = (buffers: Uint8Array[], position: number) => Promise<number>

async function moveAll(move: Move, buffers: Uint8Array[], position: number): Promise<void> {
  let rest = buffers
  let at = position
  while (rest.length > 0) {
    let moved = await move(rest, at)
    if (moved === 0) throw new ChunkError('it ends too early')
    at += moved
    while (rest.length > 0 && moved >= rest[0]!.length) {
      moved -= rest[0]!.length
      rest = rest.slice(1)
    }
    if (moved > 0) rest = [rest[0]!.subarray(moved), ...rest.slice(1)]
  }
}

async function moveRectangle(rectangle: Rectangle, reads: boolean, move: Move): Promise<void> {
  const { position, pitch, width, rows, memory, memoryPitch } = rectangle
  if (rows === 0 || width === 0) return
  if (width === pitch && width === memoryPitch) {
    const bytes = rows * width
    for (let at = 0; at < bytes; at += CALL_BYTES) {
      await moveAll(move, [memory.subarray(at, Math.min(at + CALL_BYTES, bytes))], position + at)
    }
    return
  }
  const row = (index: number) => memory.subarray(index * memoryPitch, index * memoryPitch + width)
  // Gaps between rows are read too if they are shorter than the rows, because one call per row takes longer.
  const gap = pitch - width
  if (gap === 0 || (reads && gap <= width)) {
    const between = gap === 0 ? [] : [new Uint8Array(gap)]
    const most = Math.floor(MAX_BUFFERS / (1 + between.length))
    const step = Math.max(1, Math.min(most, Math.floor(CALL_BYTES / pitch)))
    for (let first = 0; first < rows; first += step) {
      const last = Math.min(first + step, rows) - 1
      const buffers: Uint8Array[] = []
      for (let index = first; index < last; index++) buffers.push(row(index), ...between)
      // The last row has no gap behind it, because the file may end there.
      buffers.push(row(last))
      await moveAll(move, buffers, position + first * pitch)
    }
    return
  }
  await atOnce(ROWS_AT_ONCE, rows, (index) => moveAll(move, [row(index)], position + index * pitch))
}

/** Throws ChunkError if the file ends before the rectangle does. */
export function readRectangle(file: FileHandle, rectangle: Rectangle): Promise<void> {
  return moveRectangle(rectangle, true, async (buffers, position) => {
    if (buffers.length > 1) return (await file.readv(buffers, position)).bytesRead
    return (await file.read(buffers[0]!, 0, buffers[0]!.length, position)).bytesRead
  })
}

export function writeRectangle(file: FileHandle, rectangle: Rectangle): Promise<void> {
  return moveRectangle(rectangle, false, async (buffers, position) => {
    if (buffers.length > 1) return (await file.writev(buffers, position)).bytesWritten
    return (await file.write(buffers[0]!, 0, buffers[0]!.length, position)).bytesWritten
  })
}

export function writeError(path: string, error: unknown): MpmmlError {
  if (error instanceof MpmmlError) return error
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG') {
    return new DiskFullError(
      `${path} can't be written: ${systemReason(error)}. What is done is kept: make room, and resume`,
      { cause: error },
    )
  }
  return new FileError(`${path} can't be written: ${systemReason(error)}`, { cause: error })
}

/** Names the file, and what to do, in the error of damaged content. Other errors are returned unchanged. */
export const damaged = (what: string, error: unknown, advice = 'Write it again from its source'): unknown =>
  error instanceof ChunkError
    ? new ChunkError(`${what} is damaged: ${error.message}. ${advice}`, { cause: error })
    : error

/** Throws ChangedError if a file was modified after `changedMs`. */
export function assertUnchanged(path: string, mtimeMs: number, changedMs: number): void {
  if (mtimeMs <= changedMs) return
  throw inputChanged(path, ` (at ${new Date(mtimeMs).toISOString()}): results of both would be mixed`)
}

/** Returns the error for an input that has changed since planning. */
export const inputChanged = (path: string, how = ': results of both would be mixed') =>
  new ChangedError(`${path} has changed since the work was begun${how}. Begin again with overwrite`)
