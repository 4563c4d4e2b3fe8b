/** Arrays in folders. */
import { mkdir, open, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { atOnce, readRectangle, requireUnchanged, writeError, writeRectangle, writeWhole } from './disk.js'
import type { Storage, Stored } from './storage.js'

const FILES_AT_ONCE = 16

/** What the files of these names are. */
export async function describeFiles(names: readonly string[]): Promise<Stored[]> {
  const files = new Array<Stored>(names.length)
  await atOnce(FILES_AT_ONCE, names.length, async (index) => {
    const { size, mtimeMs } = await stat(names[index]!)
    files[index] = { name: names[index]!, size, version: `${mtimeMs}`, changedMs: mtimeMs }
  })
  return files
}

/** `null` for a file that isn't there. */
function orNull(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}

export const folders: Storage = {
  join,
  // As many as Node.js's pool has threads; they are read into their place.
  chunksAtOnce: 4,
  buffered: 0,
  async list(path) {
    const entries = await readdir(path, { recursive: true, withFileTypes: true })
    const names = entries
      .filter((entry) => !entry.isDirectory())
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    return describeFiles(names.sort())
  },
  readWhole: (path) => readFile(path).catch(orNull),
  async open(path, expected) {
    const file = await open(path, 'r').catch(orNull)
    if (!file) return null
    try {
      const { size, mtimeMs } = await file.stat()
      if (expected) requireUnchanged(path, mtimeMs, expected.changedMs)
      return { size, read: (rectangle) => readRectangle(file, rectangle), close: () => file.close() }
    } catch (error) {
      await file.close()
      throw error
    }
  },
  write: (path, temporary, pieces) =>
    writeWhole(path, temporary, async (file) => {
      let position = 0
      for (const piece of pieces) {
        await writeRectangle(file, { ...piece, position, pitch: piece.width })
        position += piece.rows * piece.width
      }
    }),
  makeFolder: (path) =>
    mkdir(path).catch((error) => {
      throw writeError(path, error)
    }),
  isInThreads: true,
}
