/**
 * Reads and writes files: only regular files are read, and a written file appears under its name when it is
 * complete.
 */
import { constants, type Stats } from 'node:fs'
import { access, type FileHandle, link, lstat, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getSystemErrorMap } from 'node:util'
import { throwIfAborted } from '../abort.js'
import { show } from '../describe.js'
import { ExistsError, FileError, MpmmlError } from '../errors.js'

/** Returns the system's message for an error, such as "no space left on device (ENOSPC)". */
export function systemReason(error: unknown): string {
  const { errno, code, message } = error as NodeJS.ErrnoException
  const words = errno === undefined ? undefined : getSystemErrorMap().get(errno)?.[1]
  return words ? `${words} (${code})` : (message ?? String(error))
}

/** Returns the error for a file that can't be read. Errors of this library are returned unchanged. */
export function readError(path: string, error: unknown): MpmmlError {
  if (error instanceof MpmmlError) return error
  return new FileError(`${path} can't be read: ${systemReason(error)}`, { cause: error })
}

/** Returns a path as a string. Throws FileError for values other than a string or a file: URL. */
export function pathOf(path: string | URL): string {
  if (typeof path === 'string') return path
  try {
    return fileURLToPath(path)
  } catch (error) {
    throw new FileError(`expected a path, as a string or a file: URL, but got ${show(path)}`, {
      cause: error,
    })
  }
}

/** Returns the kind of a directory entry in words. */
export function kindOf(stats: Stats): string {
  if (stats.isFile()) return 'a regular file'
  if (stats.isDirectory()) return 'a folder'
  if (stats.isFIFO()) return 'a named pipe'
  if (stats.isSocket()) return 'a socket'
  return 'a device'
}

/** Returns the error for a file that another program writes while it is read. */
export const changedWhileRead = (path: string) =>
  new FileError(`${path} changed while it was read: read it again when no program writes it`)

/**
 * Runs work on a regular file that is open for reading, and closes the file. Rejects if another program writes
 * the file meanwhile.
 *
 * @param expected - name of the expected content in messages.
 * @throws FileError with the system's reason, and what the work throws.
 */
export async function reading<Result>(
  path: string,
  expected: string,
  work: (file: FileHandle, size: number) => Promise<Result>,
): Promise<Result> {
  const { file, stats } = await openForReading(path, expected)
  try {
    const result = await work(file, stats.size)
    const { size, mtimeMs } = await file.stat()
    if (size !== stats.size || mtimeMs !== stats.mtimeMs) throw changedWhileRead(path)
    return result
  } catch (error) {
    throw (error as NodeJS.ErrnoException | undefined)?.syscall === undefined ? error : readError(path, error)
  } finally {
    await file.close()
  }
}

/**
 * Opens a regular file for reading; the caller closes it. Other kinds of files are refused before they are
 * opened: opening a named pipe would wait for its writer, and a device has no size.
 */
async function openForReading(path: string, expected: string): Promise<{ file: FileHandle; stats: Stats }> {
  let file: FileHandle | undefined
  try {
    let stats = await stat(path)
    if (stats.isFile()) {
      // Another file may have taken the name since the check, so O_NONBLOCK is set and the open file is
      // checked again.
      file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
      stats = await file.stat()
    }
    if (!file || !stats.isFile()) {
      throw new FileError(`${path}: expected ${expected}, but this is ${kindOf(stats)}; name a regular file`)
    }
    return { file, stats }
  } catch (error) {
    await file?.close()
    if (error instanceof FileError) throw error
    throw new FileError(`${path}: expected ${expected}, but it can't be opened: ${systemReason(error)}`, {
      cause: error,
    })
  }
}

/**
 * Reads `bytes.length` bytes from `position` on; returns the number of bytes read, which is less only at the
 * file's end.
 */
export async function readFully(file: FileHandle, bytes: Uint8Array, position: number): Promise<number> {
  let done = 0
  while (done < bytes.length) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, position + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return done
}

/**
 * Yields the bytes of a file from `start` up to `end`, at most `most` at a time. `reached` gets each number of
 * bytes.
 */
export async function* piecesOf(
  file: FileHandle,
  name: string,
  start: number,
  end: number,
  most: number,
  reached: (bytes: number) => void = () => {},
): AsyncGenerator<Buffer, void> {
  for (let at = start; at < end; ) {
    const length = Math.min(most, end - at)
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, at)
    if (bytesRead === 0) throw changedWhileRead(name)
    at += bytesRead
    reached(bytesRead)
    yield buffer.subarray(0, bytesRead)
  }
}

/**
 * Appends all of `bytes`, in several writes if the system writes only a part of them, as on a nearly full
 * disk.
 */
export async function writeFully(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    done += (await file.write(bytes, done, bytes.length - done)).bytesWritten
  }
}

/**
 * Returns the target of `path`, and the permissions of an existing file, which must be regular and writable.
 * Symbolic links are resolved, so that the linked file is replaced and not the link.
 */
async function targetOf(path: string): Promise<{ target: string; mode: number | undefined }> {
  let stats: Stats
  try {
    stats = await stat(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    const link = await lstat(path).catch(() => undefined)
    if (!link) return { target: path, mode: undefined }
    throw new FileError(`${path} can't be written: it is a symbolic link that leads nowhere; name its target`)
  }
  if (!stats.isFile()) {
    throw new FileError(
      `${path} can't be written: it is ${kindOf(stats)}, which is never replaced; name a regular file or one that doesn't exist yet`,
    )
  }
  await access(path, constants.W_OK)
  return { target: await realpath(path), mode: stats.mode & 0o777 }
}

/** Renames a file to a free name; returns false if the name is taken. */
export async function moveToFree(from: string, to: string): Promise<boolean> {
  try {
    // Unlike rename, link never replaces a file that appears at this moment.
    await link(from, to)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    if (code === 'ENOENT') throw error
    // The file system may have no hard links.
    if (await lstat(to).catch(() => null)) return false
    await rename(from, to)
    return true
  }
  await rm(from, { force: true })
  return true
}

/**
 * Writes a new file `temporary`, which `moveIntoPlace` then renames. The temporary file is removed after any error.
 * There is no fsync, as in cp: waiting for the disk would take several times as long as writing.
 */
export async function writeUnder(
  temporary: string,
  write: (file: FileHandle) => Promise<void>,
  moveIntoPlace: () => Promise<void>,
): Promise<void> {
  let file: FileHandle | undefined
  try {
    file = await open(temporary, 'wx')
    await write(file)
    await file.close()
    file = undefined
    await moveIntoPlace()
  } catch (error) {
    await file?.close().catch(() => {})
    await rm(temporary, { force: true }).catch(() => {})
    throw error
  }
}

const taken = (path: string) =>
  new ExistsError(`${path} can't be written: it exists already, and option overwrite is false: name another`)

/**
 * Writes a file so that it appears under `path` only when it is complete: `write` fills a temporary file in
 * the same folder, which then takes the name. An existing file with the name is unchanged after any error.
 *
 * @throws FileError with the system's reason; ERR_MPMML_EXISTS if the name is taken and must stay;
 * AbortedError if `signal` is aborted before the file is complete.
 */
export async function writeComplete(
  path: string,
  write: (file: FileHandle) => Promise<void>,
  { signal, overwrite = true }: { signal?: AbortSignal | undefined; overwrite?: boolean } = {},
): Promise<void> {
  throwIfAborted(signal, `writing ${path}`)
  try {
    const { target, mode } = await targetOf(path)
    if (mode !== undefined && !overwrite) throw taken(path)
    // node:crypto is loaded on first use, because loading it takes a tenth of the library's loading time.
    const { randomBytes } = await import('node:crypto')
    // A short name, because the target's own may be as long as the file system allows.
    const temporary = join(dirname(target), `.mpmml-${randomBytes(6).toString('hex')}.tmp`)
    const fill = async (file: FileHandle) => {
      if (mode !== undefined) await file.chmod(mode)
      await write(file)
    }
    await writeUnder(temporary, fill, async () => {
      throwIfAborted(signal, `writing ${path}`)
      if (overwrite) await rename(temporary, target)
      else if (!(await moveToFree(temporary, target))) throw taken(path)
    })
  } catch (error) {
    if (error instanceof MpmmlError) throw error
    throw new FileError(`${path} can't be written: ${systemReason(error)}`, { cause: error })
  }
}

/** Writes pieces of bytes to a file by {@link writeComplete}. */
export const writePieces = (
  path: string,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  options: Parameters<typeof writeComplete>[2],
): Promise<void> =>
  writeComplete(
    path,
    async (file) => {
      for await (const bytes of pieces) await writeFully(file, bytes)
    },
    options,
  )
