/**
 * RNA: the best structure of one strand, and the best interaction of two strands, by the weights of their
 * base pairs.
 *
 * @packageDocumentation
 */
import './globals.js'

export { bpmax, type InteractionResult, type InteractionTable, type InteractionWindow } from './rna/bpmax.js'
export { type FastaRecord, parseFasta } from './rna/fasta.js'
export { type FoldResult, nussinov } from './rna/nussinov.js'
export type { BasePair, FoldOptions, InteractionOptions } from './rna/options.js'
export { readFasta } from './rna/read-fasta.js'
