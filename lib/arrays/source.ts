/** Matrices on disk, as blocks of them are read. */
import { createHash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { FileError } from '../errors.js'
import { systemReason } from '../files/files.js'
import type { OperandArray } from '../storage.js'
import { atOnce } from './disk.js'
import type { ArrayType, PlannedInput } from './job.js'
import { NpySource } from './npy-source.js'
import { bytesOfType } from './zarr-metadata.js'
import { ZarrSource } from './zarr-source.js'

/** From the first up to but without the second. */
export type Range = readonly [from: number, to: number]

/** A block in memory. */
export interface ReadBlock {
  readonly strides: [number, number]
  /** What was read of files. */
  readonly bytesRead: number
}

export interface ArraySource {
  readonly path: string
  readonly shape: readonly [number, number]
  readonly dtype: ArrayType
  /** Rows and columns that are read together: blocks that are multiples of them read nothing twice. */
  readonly unit: readonly [number, number]
  /** Bytes of buffers that reading a block takes besides the block. */
  readonly extraBytes: number
  /**
   * Reads a block into memory, by rows or by columns.
   *
   * @param changedMs - a file that has changed since is a ChangedError.
   */
  read(rows: Range, cols: Range, memory: Uint8Array, changedMs: number): Promise<ReadBlock>
  /** The names of all files. */
  files(): Promise<string[]>
}

export const isZarr = (path: string) => /\.zarr[/\\]?$/i.test(path)
export const isNpy = (path: string) => /\.npy$/i.test(path)

/** @throws FileError; PackageError for Zarr without zarrita. */
export async function openSource(path: string): Promise<ArraySource> {
  if (isZarr(path)) return ZarrSource.open(path)
  if (isNpy(path)) return NpySource.open(path)
  throw new FileError(
    `${path}: expected an array on disk, a folder .zarr or a file .npy, by the end of its name`,
  )
}

const FILES_AT_ONCE = 16

/** What an array is, and when it was last changed. */
export async function planInput(source: ArraySource): Promise<PlannedInput> {
  const files = (await source.files()).sort()
  const lines = new Array<string>(files.length)
  let changedMs = 0
  try {
    await atOnce(FILES_AT_ONCE, files.length, async (index) => {
      const { size, mtimeMs } = await stat(files[index]!)
      lines[index] = `${relative(source.path, files[index]!)} ${size} ${mtimeMs}`
      changedMs = Math.max(changedMs, mtimeMs)
    })
  } catch (error) {
    throw new FileError(`${source.path} can't be read: ${systemReason(error)}`, { cause: error })
  }
  const fingerprint = createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 32)
  const { path, shape, dtype } = source
  return { path, shape: [...shape], dtype, fingerprint, changedMs }
}

/** All files in a folder and those in it. */
export async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
}

const arrays = { int16: Int16Array, int32: Int32Array, float32: Float32Array, float64: Float64Array } as const

/** Elements in memory: `count` of them from its first byte on. */
export function elementsIn(memory: Uint8Array, dtype: ArrayType, count: number): OperandArray {
  return new arrays[dtype](memory.buffer as ArrayBuffer, memory.byteOffset, count)
}

/** Bytes of a block. */
export const blockBytes = (dtype: ArrayType, rows: number, cols: number) => rows * cols * bytesOfType[dtype]
