/** Arrays in folders. */
import { createHash, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { FileError } from '../errors.js'
import { kindOf, moveToFree, readError, systemReason, writeUnder } from '../files/files.js'
import { assertUnchanged, atOnce, readRectangle, writeError, writeRectangle } from './disk.js'
import { arrayGone, type KeepPredicate, madeMeanwhile, type Store, type Stored } from './store.js'

const FILES_AT_ONCE = 16

/**
 * Limit of the attempts to rename an array to its final name: each concurrent process can cause a failed
 * attempt.
 */
const PLACING_ATTEMPTS = 6

async function describedFile(name: string): Promise<Stored> {
  const { size, mtimeMs } = await stat(name)
  return { name, size, version: `${mtimeMs}`, changedMs: mtimeMs }
}

/** Returns null if a file doesn't exist, and throws every other error. */
function orNull(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
  throw error
}

/** Opens a regular file for reading. Without O_NONBLOCK, opening a named pipe would wait for its writer. */
async function openRegular(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stats = await file.stat()
    if (stats.isFile()) return file
    throw new FileError(
      `${path} must be a regular file of an array, but it is ${kindOf(stats)}: remove it, or name another array`,
    )
  } catch (error) {
    await file.close()
    throw error
  }
}

async function readRegular(path: string): Promise<Buffer | null> {
  const file = await openRegular(path).catch(orNull)
  try {
    return file && (await file.readFile())
  } finally {
    await file?.close()
  }
}

/** Returns the result of reading, and throws FileError for errors of the system. */
async function reading<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw readError(path, error)
  }
}

/** Returns whether a path exists; a dangling symbolic link exists too. */
const isThere = async (path: string) => (await lstat(path).catch(() => null)) !== null

interface Walk {
  /** Whether links to folders are folders too. */
  readonly links?: boolean
  /** Whether other processes may remove folders concurrently. */
  readonly mayVanish?: boolean
}

/** Yields the files below a folder by their relative names, which have slashes on every platform. */
async function* filesBelow(path: string, walk: Walk = {}, base = ''): AsyncGenerator<string> {
  const entries = await readdir(path, { withFileTypes: true }).catch((error) => {
    if (walk.mayVanish) return orNull(error)
    throw error
  })
  for (const entry of entries ?? []) {
    const inner = join(path, entry.name)
    const isFolder = entry.isSymbolicLink()
      ? walk.links === true && (await stat(inner)).isDirectory()
      : entry.isDirectory()
    if (isFolder) yield* filesBelow(inner, walk, `${base}${entry.name}/`)
    else yield `${base}${entry.name}`
  }
}

async function sortedFiles(path: string, walk?: Walk): Promise<string[]> {
  const names: string[] = []
  for await (const name of filesBelow(path, walk)) names.push(name)
  return names.sort()
}

/** The identity of a file, link or folder; null if it doesn't exist, or is removed meanwhile. */
async function identityOf(path: string): Promise<string | null> {
  try {
    const described = async (name: string) => {
      const { ino, size, mtimeNs, birthtimeNs } = await lstat(name, { bigint: true })
      return `${ino}-${size}-${mtimeNs}-${birthtimeNs}`
    }
    if (!(await lstat(path)).isDirectory()) return await described(path)
    const lines = await sortedFiles(path)
    await atOnce(FILES_AT_ONCE, lines.length, async (index) => {
      lines[index] += ` ${await described(join(path, lines[index]!))}`
    })
    return createHash('sha256').update(lines.join('\n')).digest('hex')
  } catch (error) {
    return orNull(error as NodeJS.ErrnoException)
  }
}

/** Renames a file or folder to a free name; returns false if the name is taken. */
async function movedToFree(from: string, to: string): Promise<boolean> {
  if ((await lstat(from)).isDirectory()) return !(await isThere(to)) && moved(from, to)
  if (await moveToFree(from, to)) return true
  // Another process may have created the link without having removed the old name yet.
  const [own, there] = await Promise.all([identityOf(from), identityOf(to)])
  if (own === null || own !== there) return false
  await unlink(from).catch(orNull)
  return true
}

/** Renames a file or folder; returns false if the target exists and can't be replaced. */
async function moved(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR') return false
    throw error
  }
}

export const files: Store = {
  join,
  renames: true,
  // Node.js's pool has 4 threads. Chunks are read directly into the destination.
  chunksAtOnce: 4,
  buffered: 0,
  list: (path) =>
    reading(path, async () => {
      if ((await stat(path)).isFile()) return [await describedFile(path)]
      const names = await sortedFiles(path, { links: true })
      const stored = new Array<Stored>(names.length)
      await atOnce(FILES_AT_ONCE, names.length, async (index) => {
        stored[index] = await describedFile(join(path, names[index]!))
      })
      return stored
    }),
  names: (path) =>
    reading(path, async () => {
      const there = await lstat(path).catch(orNull)
      if (!there) return []
      return there.isDirectory() ? sortedFiles(path) : null
    }),
  exists: isThere,
  isTaken: isThere,
  readWhole: (path) => reading(path, () => readRegular(path)),
  async open(path, expected) {
    // A file in the place of a chunk's folder is damage, so its chunks aren't missing ones with the fill value.
    const file = await openRegular(path).catch((error) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
    if (!file) return null
    try {
      const { size, mtimeMs } = await file.stat()
      if (expected) assertUnchanged(path, mtimeMs, expected.changedMs)
      return { size, read: (rectangle) => readRectangle(file, rectangle), close: () => file.close() }
    } catch (error) {
      await file.close()
      throw error
    }
  },
  async write(path, temporary, pieces) {
    await writeWhole(path, temporary, async (file) => {
      let position = 0
      for (const piece of pieces) {
        await writeRectangle(file, { ...piece, position, pitch: piece.width })
        position += piece.rows * piece.width
      }
    })
    return true
  },
  // Parent folders aren't created, so that a wrong name creates no folders.
  async makeFolders(paths) {
    try {
      for (const path of paths) await mkdir(path)
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
      throw writeError(paths[0]!, error)
    }
  },
  async remove(paths) {
    for (const path of paths) {
      if (path.endsWith('/')) await rmdir(path).catch(() => {})
      else await removeAll(path)
    }
  },
  async removeUnder(path, isKept, first) {
    if (first === undefined) return removeBut(path, isKept)
    // After the rename no process can move an array aside into the folder.
    const removed = `${path}.removed`
    await rename(path, removed).catch(orNull)
    await removeBut(removed, isKept)
    if (await isThere(removed)) await moved(removed, path)
  },
  identity: (path) => reading(path, () => identityOf(path)),
  // The work has one name `aside`, which is never freed while the work exists. So only one process can move
  // an old array there, and none can move away the new array of another process.
  async place({ array, output, aside, replaces }) {
    try {
      for (let attempt = 0; attempt < PLACING_ATTEMPTS; attempt++) {
        if (await movedToFree(array, output)) return false
        const there = await identityOf(output)
        if (there === null) continue
        if (there !== replaces) break
        if ((await lstat(array)).isFile()) {
          await rename(array, output)
          return false
        }
        if (!(await moved(output, aside).catch(orNull)) || (await identityOf(aside)) === replaces) continue
        // The old array was changed at the last moment, so it is moved back.
        await movedToFree(aside, output)
        break
      }
    } catch (error) {
      throw writeError(output, error)
    }
    throw (await isThere(array)) ? madeMeanwhile(output) : arrayGone(array)
  },
}

/** Removes a file or a folder recursively, even while other processes write there. */
async function removeAll(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true, maxRetries: 5 })
  } catch (error) {
    throw new FileError(`${path} can't be removed: ${systemReason(error)}`, { cause: error })
  }
}

/** Removes a folder except the files for which `isKept` returns true, and their folders. */
async function removeBut(path: string, isKept: KeepPredicate = () => false): Promise<void> {
  const names = await sortedFiles(path, { mayVanish: true })
  if (!names.some(isKept)) return removeAll(path)
  for (const name of names) {
    if (isKept(name)) continue
    await removeAll(join(path, name))
    // Empty folders are removed upwards, until one isn't empty.
    for (let folder = dirname(name); folder !== '.'; folder = dirname(folder)) {
      await rmdir(join(path, folder)).catch(() => {})
    }
  }
}

/**
 * Writes a file under a temporary name in the folder `temporary` of the same file system and renames it into
 * place. So the file is complete or absent, whenever the process ends. The file's folder is created if
 * necessary. Parent folders aren't created, because their absence means that the work was dropped.
 */
export async function writeWhole(
  path: string,
  temporary: string,
  write: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const written = join(temporary, randomBytes(16).toString('hex'))
  const moveIntoPlace = () =>
    rename(written, path).catch(async (error) => {
      if (error.code !== 'ENOENT') throw error
      await mkdir(dirname(path)).catch((error) => {
        if (error.code !== 'EEXIST') throw error
      })
      await rename(written, path)
    })
  try {
    await writeUnder(written, write, moveIntoPlace)
  } catch (error) {
    throw writeError(path, error)
  }
}
