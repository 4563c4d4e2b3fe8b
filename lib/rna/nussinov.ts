/** Computes the best structure of one strand (Nussinov). */
import type { BackendName } from '../backend-name.js'
import type { DenseMatrix } from '../matrix.js'
import { rowMajorMatrix } from '../matrix.js'
import { addon, type RnaFolding } from '../native.js'
import { type BasePair, type FoldOptions, foldOptions, isWide } from './options.js'
import { mark, pairsOf, type RnaPlacement, requestOf, run } from './run.js'
import { readStrand } from './strand.js'

/** Result of {@link nussinov}. */
export interface FoldResult {
  /** The sum of the weights of the pairs: no set of pairs that don't cross has a greater one. */
  score: number
  /** Pairs [i, j] with i < j, in order of i. */
  pairs: BasePair[]
  /** '(' and ')' for the bases of pairs, '.' for the others. */
  dotBracket: string
  /**
   * Table of n × n scores, if the option `table` is true: element [i, j] is the best score of bases i to j; 0
   * below the diagonal.
   */
  table?: DenseMatrix<Int32Array>
  /** Backend that computed the result. */
  backend: BackendName
  /** The name of the GPU or of the processor. */
  device: string
  /** Milliseconds from the call to the result; of all sequences together. */
  timing: { totalMs: number }
}

/**
 * Folds a strand of RNA: finds base pairs that don't cross, with the greatest sum of weights, in n³/6 steps (Nussinov).
 *
 * Each base is in one pair at most, and at least `minLoop` bases are between the two of a pair. G pairs with
 * C, A with U, and G with U. The score counts weighted pairs, without stacking energies. The call doesn't
 * block the event loop; several sequences use all cores.
 *
 * @param sequence - letters A, C, G, U or T, in upper or lower case; or an array of such strings.
 * @returns a result, or an array of results in the order of the sequences.
 * @throws Rejects with ERR_MPMML_VALUE for any other letter, with its index; ERR_MPMML_OPTION; OverflowError
 * if scores don't fit the storage; ERR_MPMML_OUT_OF_MEMORY, with the bytes of the table, before it is
 * allocated; ERR_MPMML_NO_CUDA; AbortedError.
 * @see R. Nussinov, A. B. Jacobson, Fast algorithm for predicting the secondary structure of single-stranded RNA, PNAS 77 (1980)
 * @example
 * const { score, dotBracket } = await nussinov('GGGAAACCC')
 * console.log(score, dotBracket) // 9 (((...)))
 */
export function nussinov(sequence: string, options?: FoldOptions): Promise<FoldResult>
export function nussinov(sequences: readonly string[], options?: FoldOptions): Promise<FoldResult[]>
export async function nussinov(
  sequence: string | readonly string[],
  options?: FoldOptions,
): Promise<FoldResult | FoldResult[]> {
  const started = performance.now()
  const checked = foldOptions.read(options)
  const several = Array.isArray(sequence)
  const strands = several
    ? Array.from(sequence, (one, index) => readStrand(one, `sequences[${index}]`))
    : [readStrand(sequence, 'sequence')]
  const longest = strands.reduce((most, { length }) => Math.max(most, length), 0)
  const wide = isWide(checked, [checked.weights], longest)
  const request = { ...requestOf(checked, wide), strands }
  const [foldings, place] = await run(checked, 'folding', (report, cancel) =>
    addon.rnaFold(request, report, cancel),
  )
  const timing = { totalMs: performance.now() - started }
  const results = foldings.map((folding, index) => resultOf(folding, strands[index]!.length, place, timing))
  return several ? results : results[0]!
}

function resultOf(
  { score, pairs, table }: RnaFolding,
  n: number,
  place: RnaPlacement,
  timing: FoldResult['timing'],
): FoldResult {
  const found = pairsOf(pairs)
  const dots = new Array<string>(n).fill('.')
  mark(dots, found)
  return {
    score,
    pairs: found,
    dotBracket: dots.join(''),
    ...(table && { table: rowMajorMatrix(table, [n, n]) }),
    ...place,
    timing: { ...timing },
  }
}
