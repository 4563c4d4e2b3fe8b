/** Storage of arrays: folders of a file system, or common prefixes in an S3 bucket. */
import { ExistsError, FileError } from '../errors.js'

/** Content of a file: a Buffer, without a reference to its type, which requires @types/node. */
export interface Content extends Uint8Array {
  toString(encoding?: 'utf8'): string
  equals(other: Uint8Array): boolean
}

/** A file or an object. */
export interface Stored {
  /** Complete name: a path or an address. */
  readonly name: string
  readonly size: number
  /** Version, which differs after each change. */
  readonly version: string
  readonly changedMs: number
}

/** Interface of an open file, which is read at offsets. */
export interface OpenFile {
  readonly size: number
  /** Reads a rectangle. Throws ChunkError if the file ends before the rectangle does. */
  read(rectangle: Rectangle): Promise<void>
  close(): Promise<void>
}

/** State of an array when the plan was created. */
export interface Expected {
  /** Latest modification time of the array's files in ms. */
  readonly changedMs: number
  /** Returns the array's files by name. */
  files(): Promise<ReadonlyMap<string, Stored>>
}

/** Rows of bytes in memory. All sizes are in bytes. */
export interface Rows {
  readonly memory: Uint8Array
  /** Distance between rows in memory. */
  readonly memoryPitch: number
  readonly width: number
  readonly rows: number
}

/** Rows in a file and their addresses in memory. */
export interface Rectangle extends Rows {
  /** Position of the first row in the file. */
  readonly position: number
  /** Distance between rows in the file. */
  readonly pitch: number
}

/** Returns whether a file is kept, by its name relative to the removed folder. */
export type KeepPredicate = (name: string) => boolean

/** A complete array and its final name. */
export interface Placement {
  readonly array: string
  readonly output: string
  /** Path to which a replaced array is moved. */
  readonly aside: string
  /** Identity of the file or folder that may be replaced; undefined if none may be. */
  readonly replaces: string | undefined
}

/** Store of arrays with atomic writes: a written file is complete or absent, whenever a process ends. */
export interface Store {
  /** Joins a path and names below it. */
  join(path: string, ...names: string[]): string
  /** Returns all files below a path, or the file with the path, sorted. */
  list(path: string): Promise<Stored[]>
  /** Returns the names of all files below a path, relative to it. Null for a file. */
  names(path: string): Promise<string[] | null>
  /** Returns whether a file has the path. */
  exists(path: string): Promise<boolean>
  /** Returns whether a file or a folder has the path, or files exist below it. */
  isTaken(path: string): Promise<boolean>
  /** Returns the bytes of a file; null if it doesn't exist. */
  readWhole(path: string): Promise<Content | null>
  /** Opens a file; null if it doesn't exist. Throws ChangedError if its state isn't `expected`. */
  open(path: string, expected: Expected | null): Promise<OpenFile | null>
  /**
   * Writes the concatenation of `pieces` as one file.
   *
   * @param temporary - a folder for unfinished files, for stores that need one.
   * @param isNew - whether an object with the path must stay. Folders ignore it, because the folder of such a
   * file belongs to the process that created it.
   * @returns false if an object stays.
   */
  write(path: string, temporary: string, pieces: readonly Rows[], isNew?: boolean): Promise<boolean>
  /**
   * Creates folders, each in an existing one, if the store has folders. Returns false if one exists already.
   */
  makeFolders(paths: readonly string[]): Promise<boolean>
  /** Removes files and empty folders; paths of folders end with a slash. */
  remove(paths: readonly string[]): Promise<void>
  /**
   * Removes all files below a path except those for which `isKept` returns true.
   *
   * @param first - a file without which no other process takes the remaining files for a complete array. It is
   * removed first, or the folder is renamed before the removal.
   */
  removeUnder(path: string, isKept?: KeepPredicate, first?: string): Promise<void>
  /**
   * Returns a string that identifies the state of a file or folder with all its files, and differs after a
   * change. Null if the path is free, and in a bucket, where an old output is removed before the work begins.
   */
  identity(path: string): Promise<string | null>
  /**
   * Moves an array to its final name, and replaces only the file or folder with the expected identity. Throws
   * if the array is gone because another process moved it concurrently.
   *
   * @returns whether it was copied piece by piece.
   * @throws ERR_MPMML_EXISTS if another process has created anything else under the name.
   */
  place(placement: Placement): Promise<boolean>
  /**
   * Whether the store can rename. Then an array replaces another atomically, and processes with jobs of
   * dropped work fail because its folder is gone.
   */
  readonly renames: boolean
  /** Number of buffers, each of the size of a chunk, for reading a part of a chunk. */
  readonly buffered: number
  /** Number of chunks that are read concurrently if they need no decoding. */
  readonly chunksAtOnce: number
}

export const asRow = (bytes: Uint8Array): Rows => ({
  memory: bytes,
  memoryPitch: bytes.length,
  width: bytes.length,
  rows: 1,
})

/** Returns the rectangle of contiguous bytes from a position on. */
export const rowAt = (position: number, memory: Uint8Array): Rectangle => ({
  ...asRow(memory),
  position,
  pitch: memory.length,
})

/**
 * Returns the error for a file or folder with the output's name that {@link Store.place} must not replace.
 */
export const madeMeanwhile = (output: string) =>
  new ExistsError(
    `${output} was made by another process, or changed, since this work was begun: move it away and resume, or begin again with overwrite`,
  )

/** Returns the error for a file that has disappeared. */
export const fileGone = (path: string) =>
  new FileError(`${path} is gone, or was for a moment: look after the storage, and resume`)

/** Returns the error of a late process, whose array was already moved to its final name or removed. */
export const arrayGone = (array: string) =>
  new FileError(`${array} is gone: another process has completed the work, or removed it`)
