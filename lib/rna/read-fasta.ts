/** FASTA files. */

import { pathOf } from '../files/files.js'
import { readText } from '../files/text-file.js'
import { type FastaRecord, parseFasta } from './fasta.js'

/**
 * Reads a FASTA file: see {@link parseFasta}.
 *
 * @throws FileError, also if the file can't be read.
 * @example
 * await writeFile('strands.fasta', '>one\nGGG\n>two\nCCC\n')
 * for (const { name, sequence } of await readFasta('strands.fasta')) console.log(name, sequence)
 * // one GGG
 * // two CCC
 */
export async function readFasta(path: string | URL): Promise<FastaRecord[]> {
  return parseFasta(await readText(path, 'a FASTA file'), pathOf(path))
}
