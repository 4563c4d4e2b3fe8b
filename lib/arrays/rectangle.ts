/** Rectangles of rows in files. */

/** Rows in a file and their addresses in memory. All sizes are in bytes. */
export interface Rectangle {
  /** Position of the first row in the file. */
  readonly position: number
  /** Distance between rows in the file. */
  readonly pitch: number
  readonly width: number
  readonly rows: number
  readonly memory: Uint8Array
  /** Distance between rows in memory. */
  readonly memoryPitch: number
}
