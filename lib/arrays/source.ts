/** Matrices on disk, as blocks of them are read. */
import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { relative } from 'node:path'
import { FileError } from '../errors.js'
import { systemReason } from '../files/files.js'
import type { ArraySource } from './array-source.js'
import { atOnce } from './disk.js'
import type { PlannedInput } from './job.js'
import { NpySource } from './npy-source.js'
import { ZarrSource } from './zarr-source.js'

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
