/**
 * Matrices in files. The file's extension or an option selects the format.
 *
 * @packageDocumentation
 */

import './globals.js'

export { combineDuplicates } from './files/duplicates.js'
export { type FileFormat, fileFormatOf } from './files/names.js'
export { type ReadNpyOptions, readNpy, writeNpy } from './files/npy.js'
export { formatNpy, parseNpy } from './files/npy-bytes.js'
export { npzNames, readNpz, writeNpz } from './files/npz.js'
export { type ReadMatrixOptions, readMatrix } from './files/read.js'
export {
  isSparseFile,
  type ReadEntriesOptions,
  readEntries,
  type SparseEntries,
  type WriteEntriesOptions,
  writeEntries,
} from './files/sparse.js'
export { writeText } from './files/text-file.js'
export { type ParseMatrixOptions, parseMatrix } from './files/text-matrices.js'
export { type WriteMatrixOptions, writeMatrix } from './files/write.js'
