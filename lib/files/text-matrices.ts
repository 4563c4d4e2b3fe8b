/** Matrices of text files: read into dense ones. */
import type { Matrix } from '../matrix.js'
import type { ElementArray } from '../storage.js'
import { csvParser } from './csv.js'
import { DenseArray, DenseEntries, type Wanted } from './dense.js'
import { dimacsParser } from './dimacs.js'
import { readLines } from './lines.js'
import { matrixMarketParser } from './matrix-market.js'
import type { FileFormat } from './names.js'
import type { ReadFileOptions } from './progress.js'
import type { LineParser } from './text.js'

export type TextFormat = Exclude<FileFormat, 'npy' | 'npz'>

/** What reads a matrix of a format, which messages call `name`. */
function matrixParser(format: TextFormat, name: string, wanted: Wanted): LineParser<Matrix<ElementArray>> {
  switch (format) {
    case 'matrix-market':
      return matrixMarketParser(new DenseEntries(name, wanted), new DenseArray(name, wanted))
    case 'dimacs':
      return dimacsParser(new DenseEntries(name, wanted))
    default:
      return csvParser(name, wanted, format === 'tsv')
  }
}

export const readTextMatrix = (name: string, format: TextFormat, wanted: Wanted, options: ReadFileOptions) =>
  readLines(name, 'a matrix', matrixParser(format, name, wanted), options)
