/** Files of tests, and elements of matrices. */
import { writeFileSync } from 'node:fs'
import type { Matrix } from '../../lib/index.js'
import type { ElementArray } from '../../lib/storage.js'
import { useFolder } from './folder.js'

/** Creates a folder that is removed after the tests of a file. */
export function temporaryFiles() {
  const inFolder = useFolder()
  let files = 0
  /** Returns an unused file name in the folder. */
  const fresh = (ending: string) => inFolder(`${files++}${ending}`)
  /** Writes a file with this content. */
  const file = (ending: string, content: string | Uint8Array): string => {
    const path = fresh(ending)
    writeFileSync(path, content)
    return path
  }
  return { inFolder, fresh, file }
}

/** Rows of a matrix, and its type. */
export function shown({ data, shape, strides, offset = 0 }: Matrix<ElementArray>) {
  const [rows, cols] = shape.slice(-2) as [number, number]
  const [down, right] = strides ? (strides.slice(-2) as [number, number]) : [cols, 1]
  return {
    type: data.constructor.name,
    rows: Array.from({ length: rows }, (_, i) =>
      Array.from({ length: cols }, (_, j) => data[offset + i * down + j * right]),
    ),
  }
}
