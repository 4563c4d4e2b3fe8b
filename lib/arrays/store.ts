/** Storage of arrays: folders of a file system, or common prefixes in an S3 bucket. */
import { ExistsError, FileError } from '../errors.js'
import type { Rectangle } from './rectangle.js'

/** Content of a file: a Buffer, whose type users may not have. */
export interface Content extends Uint8Array {
  toString(encoding?: 'utf8'): string
  equals(other: Uint8Array): boolean
}

/** A file or an object. */
export interface Stored {
  /** Its whole name: a path or an address. */
  readonly name: string
  readonly size: number
  /** Version, which differs after each change. */
  readonly version: string
  readonly changedMs: number
}

/** Bytes that can be read by position. */
export interface OpenFile {
  readonly size: number
  /** Throws ChunkError if they end before the rectangle does. */
  read(rectangle: Rectangle): Promise<void>
  close(): Promise<void>
}

/** State of an array when the plan was created. */
export interface Expected {
  /** Nothing of it has changed after this. */
  readonly changedMs: number
  /** Returns the array's files by name. */
  files(): Promise<ReadonlyMap<string, Stored>>
}

/** Rows of bytes in memory. */
export interface Rows {
  readonly memory: Uint8Array
  readonly memoryPitch: number
  readonly width: number
  readonly rows: number
}

/** Returns whether something is kept, by its name below what is removed. */
export type Kept = (name: string) => boolean

/** A complete array, and the name that it gets. */
export interface Placement {
  readonly array: string
  readonly output: string
  /** The place for the array that is replaced. */
  readonly aside: string
  /** The identity of what may be replaced; undefined if nothing may be. */
  readonly replaces: string | undefined
}

/** Store of arrays with atomic writes: a written file is complete or absent, whenever a process ends. */
export interface Store {
  /** A name below another. */
  join(path: string, ...names: string[]): string
  /** All files below a name, sorted. Throws what the system throws. */
  list(path: string): Promise<Stored[]>
  /** The names of all that is below a name, from there on; those of folders end with a slash. Null for a file. */
  names(path: string): Promise<string[] | null>
  /** Whether a file has the name. */
  exists(path: string): Promise<boolean>
  /** Whether a file or a folder has the name, or is below it. */
  isTaken(path: string): Promise<boolean>
  /** Returns the bytes of a file; null if it doesn't exist. */
  readWhole(path: string): Promise<Content | null>
  /** Opens a file; null if it doesn't exist. Throws ChangedError if its state isn't `expected`. */
  open(path: string, expected: Expected | null): Promise<OpenFile | null>
  /** Writes pieces, one after the other, as one file. `temporary` is a folder for files without their name, if there is need of one. */
  write(path: string, temporary: string, pieces: readonly Rows[]): Promise<void>
  /** Writes a file into a folder that this process has made, or only if nothing has its name: false if something has. */
  create(path: string, temporary: string, bytes: Uint8Array): Promise<boolean>
  /**
   * Creates folders, each in an existing one, if the store has folders. Returns false if one exists already.
   */
  makeFolders(paths: readonly string[]): Promise<boolean>
  /** Removes files, and folders (their names end with a slash) that are empty. */
  remove(paths: readonly string[]): Promise<void>
  /** Removes all below a name except what is `kept`, by its name from there on. */
  removeUnder(path: string, kept?: Kept): Promise<void>
  /** Removes all below a name, except what is `kept`, so that the rest isn't taken for the whole: at once, or `first` first. */
  drop(path: string, first: string, kept: Kept): Promise<void>
  /**
   * The state of a file or folder with all its files, which tells it from any other and from itself after a change. Null if nothing has
   * the name, and in a bucket, where an output is removed before its work begins.
   */
  identity(path: string): Promise<string | null>
  /**
   * Gives an array its name, and replaces nothing but what has the expected identity. Other processes may do the same at the same moment:
   * then this throws if the array is gone.
   *
   * @returns whether it was copied piece by piece.
   * @throws ERR_MPMML_EXISTS if another process has made something else there.
   */
  place(placement: Placement): Promise<boolean>
  /** Removes what processes of this machine were writing when they were killed. */
  sweep(temporary: string): Promise<void>
  /**
   * Whether the store can rename. Then an array replaces another atomically, and processes with jobs of
   * dropped work fail because its folder is gone.
   */
  readonly renames: boolean
  /** Buffers that reading a part of a chunk takes, in chunks. */
  readonly buffered: number
  /** Chunks that are read at once if they need no decoding. */
  readonly chunksAtOnce: number
}

export const asRow = (bytes: Uint8Array): Rows => ({
  memory: bytes,
  memoryPitch: bytes.length,
  width: bytes.length,
  rows: 1,
})

/** Bytes in a row from a position on. */
export const rowAt = (position: number, memory: Uint8Array): Rectangle => ({
  ...asRow(memory),
  position,
  pitch: memory.length,
})

/** The error for something with the output's name that {@link Store.place} must not replace. */
export const madeMeanwhile = (output: string) =>
  new ExistsError(
    `${output} was made by another process, or changed, since this work was begun: move it away and resume, or begin again with overwrite`,
  )

/** The error of a process that is late: the array has its name already, or is removed. */
export const arrayGone = (array: string) =>
  new FileError(`${array} is gone: another process has completed the work, or removed it`)
