/** FASTA files. */

import { pathOf } from '../files/files.js'
import { readLines } from '../files/lines.js'
import { type FileOptions, fileOptions } from '../files/progress.js'
import { FastaParser, type FastaRecord } from './fasta.js'

/**
 * Reads a FASTA file: see {@link parseFasta}. A file that gzip has compressed is decompressed.
 *
 * @throws Rejects with FileError, also if the file can't be read; ERR_MPMML_OPTION; AbortedError.
 * @example
 * await writeFile('strands.fasta', '>one\nGGG\n>two\nCCC\n')
 * for (const { name, sequence } of await readFasta('strands.fasta')) console.log(name, sequence)
 * // one GGG
 * // two CCC
 */
export async function readFasta(path: string | URL, options?: FileOptions): Promise<FastaRecord[]> {
  const read = fileOptions.read(options)
  const name = pathOf(path)
  return readLines(name, 'a FASTA file', new FastaParser(name), read)
}
