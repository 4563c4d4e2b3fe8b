/** Rectangles of rows in files. */

/** Rows in a file, and where they are in memory. All sizes are in bytes. */
export interface Rectangle {
  /** Where the first row begins in the file. */
  readonly position: number
  /** From one row to the next in the file. */
  readonly pitch: number
  readonly width: number
  readonly rows: number
  readonly memory: Uint8Array
  /** From one row to the next in memory. */
  readonly memoryPitch: number
}
