/** Where arrays are: folders of a file system, or what has a common prefix in a bucket of S3. */
import type { Rectangle } from './disk.js'

/** A file or an object. */
export interface Stored {
  /** Its whole name: a path or an address. */
  readonly name: string
  readonly size: number
  /** Another one once it has changed. */
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

/** What an array was when the plan was made. */
export interface Expected {
  /** Nothing of it has changed after this. */
  readonly changedMs: number
  /** What it is made of, by name. */
  files(): Promise<ReadonlyMap<string, Stored>>
}

/** Rows of bytes in memory. */
export interface Rows {
  readonly memory: Uint8Array
  readonly memoryPitch: number
  readonly width: number
  readonly rows: number
}

/** The least that both can do. What is written is there as a whole, or not there, whenever a process ends. */
export interface Storage {
  /** A name below another. */
  join(path: string, ...names: string[]): string
  /** All that is below a name, sorted. Throws what the system throws. */
  list(path: string): Promise<Stored[]>
  /** The bytes under a name; null if nothing is there. */
  readWhole(path: string): Promise<Buffer | null>
  /** Null if nothing is there. Throws ChangedError if it isn't what is expected. */
  open(path: string, expected: Expected | null): Promise<OpenFile | null>
  /** Writes pieces, one after the other, as one file. `temporary` is a folder for files without their name, if there is need of one. */
  write(path: string, temporary: string, pieces: readonly Rows[]): Promise<void>
  /** Makes a folder, if there are any in the storage. */
  makeFolder(path: string): Promise<void>
  /** Whether the threads of codecs can read from it. */
  readonly isInThreads: boolean
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
