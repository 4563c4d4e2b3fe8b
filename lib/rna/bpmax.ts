/** Computes the interaction of two strands (BPMax). */
import type { BackendName } from '../backend-name.js'
import { show } from '../describe.js'
import { OptionError, ShapeError, ValueError } from '../errors.js'
import { addon, type RnaInteraction, type RnaInteractRequest } from '../native.js'
import { type BasePair, type InteractionOptions, isWide, readInteraction } from './options.js'
import { mark, pairsOf, requestOf, run } from './run.js'
import { readStrand } from './strand.js'

/** A joint structure of sequence1 and a window of sequence2, or all of it. */
export interface InteractionWindow {
  /** The sum of the weights of all pairs. */
  score: number
  /** Score of sequence1 and the window without interaction: the interaction adds `score − alone`. */
  alone: number
  /** The index in sequence2 of the window's first base. */
  start: number
  /** Bases of the window. */
  length: number
  /**
   * Pairs of indices in the given sequences, ordered by their first index. Pairs in `between` are [index in
   * sequence1, index in sequence2].
   */
  pairs: { within1: BasePair[]; within2: BasePair[]; between: BasePair[] }
  /**
   * Both strands with & between them: '(' and ')' for pairs of one strand, '[' in the first and ']' in the second for pairs
   * between them, '.' for other bases. If the strands are antiparallel, brackets nest.
   */
  dotBracket: string
}

/** All scores of an interaction. */
export interface InteractionTable {
  /** The lengths of both sequences, each twice: F has four indices. */
  readonly shape: readonly [number, number, number, number]
  /**
   * Returns F: the best score of bases i1 to j1 of sequence1 and i2 to j2 of sequence2, with indices in the
   * given sequences.
   *
   * @throws ERR_MPMML_SHAPE unless 0 ≤ i1 ≤ j1 and 0 ≤ i2 ≤ j2 are in the sequences.
   */
  at(i1: number, j1: number, i2: number, j2: number): number
}

/** Result of {@link bpmax}: the best window, further windows and the backend. */
export interface InteractionResult extends InteractionWindow {
  /**
   * Best windows without overlaps, best first; at most `top`. The result's own fields are those of the first
   * window.
   */
  windows: InteractionWindow[]
  /** Table of all scores, if the option `table` is true. */
  table?: InteractionTable
  /** Number of steps of ⊗ and ⊕ of the recurrence. */
  steps: number
  /** Backend that computed the result. */
  backend: BackendName
  /** The name of the GPU or of the processor. */
  device: string
  /** Milliseconds from the call to the result. */
  timing: { totalMs: number }
}

/**
 * Finds the joint structure of two strands of RNA with the greatest sum of weights of base pairs (BPMax):
 * pairs within each strand and pairs between them. Pairs within a strand don't cross, nor do pairs between
 * the strands, and there are no zigzags: docs/rna.md defines the allowed structures.
 *
 * N³M³/36 steps and N²M²/4 scores for strands of N and M bases; with windows of w bases, N³Mw²/12 steps and
 * N²Mw/2 scores. The call doesn't block the event loop and uses all cores.
 *
 * @param sequence1 - letters A, C, G, U or T, in upper or lower case, from 5′ to 3′.
 * @param sequence2 - letters like those of sequence1, from 5′ to 3′; see the option `antiparallel`.
 * @throws Rejects with ERR_MPMML_VALUE for any other letter, with its index, and for an empty sequence;
 * ERR_MPMML_OPTION; OverflowError if scores don't fit the storage; ERR_MPMML_OUT_OF_MEMORY, with the bytes of
 * the tables, before any table is allocated; ERR_MPMML_NO_CUDA; AbortedError.
 * @see E. Ebrahimpour-Boroojeny, S. Rajopadhye, H. Chitsaz, BPPart and BPMax: RNA-RNA interaction partition function and
 *   structure prediction for the base pair counting model, arXiv:1904.01235
 * @example
 * const { score, pairs } = await bpmax('GGG', 'CCC')
 * console.log(score, JSON.stringify(pairs.between)) // 9 [[0,2],[1,1],[2,0]]
 */
export async function bpmax(
  sequence1: string,
  sequence2: string,
  options?: InteractionOptions,
): Promise<InteractionResult> {
  const started = performance.now()
  const checked = readInteraction(options)
  const first = readStrand(sequence1, 'sequence1')
  const second = readStrand(sequence2, 'sequence2')
  for (const [strand, name] of [[first, 'sequence1'] as const, [second, 'sequence2'] as const]) {
    if (strand.length === 0) throw new ValueError(`${name} must have at least one base, but it is ''`)
  }
  const call = new Call(first, second, checked)
  const [found, place] = await run(checked, 'the interaction', (report, cancel) =>
    addon.rnaInteract(call.request, report, cancel),
  )
  const windows = found.best.map((one) => call.windowOf(one))
  return {
    ...windows[0]!,
    windows,
    ...(found.table && { table: call.tableOf(found.table) }),
    steps: found.steps,
    ...place,
    timing: { totalMs: performance.now() - started },
  }
}

/**
 * A validated call. Native code numbers the second strand so that the indices of pairs between the strands
 * increase together. For each interval of its first strand it has tables over the intervals of its second
 * strand. So the first strand is the shorter one, unless windows are used.
 */
class Call {
  readonly request: RnaInteractRequest
  readonly #n: number
  readonly #m: number
  readonly #swapped: boolean
  readonly #reach: number
  /** Converts an index in sequence2 to one of native code, and back. */
  readonly #turn: (index: number) => number

  constructor(first: Uint8Array, second: Uint8Array, options: ReturnType<typeof readInteraction>) {
    const [n, m] = [first.length, second.length]
    const { window, table, antiparallel, top, between } = options
    if (window !== undefined && table) {
      throw new OptionError(
        'option table is for all of sequence2, but there is option window: leave out one of them',
      )
    }
    this.#n = n
    this.#m = m
    this.#turn = antiparallel ? (index) => m - 1 - index : (index) => index
    this.#reach = Math.min(window ?? m, m)
    this.#swapped = this.#reach === m && n > m
    const rotated = antiparallel ? second.slice().reverse() : second
    this.request = {
      ...requestOf(options, isWide(options, [options.weights, between], n + this.#reach)),
      strand1: this.#swapped ? rotated : first,
      strand2: this.#swapped ? first : rotated,
      between,
      reach: this.#swapped ? n : this.#reach,
      top,
    }
  }

  windowOf({ score, alone, start, ...pairs }: RnaInteraction): InteractionWindow {
    const turn = this.#turn
    const same = (index: number) => index
    const [own1, own2] = this.#swapped ? [pairs.within2, pairs.within1] : [pairs.within1, pairs.within2]
    const between = this.#swapped
      ? pairsOf(pairs.between, turn, same).map(([j, i]): BasePair => [i, j])
      : pairsOf(pairs.between, same, turn)
    const within2 = pairsOf(own2, turn).map(([i, j]): BasePair => (i < j ? [i, j] : [j, i]))
    const found = { within1: pairsOf(own1), within2, between }
    for (const list of Object.values(found)) list.sort(([i], [k]) => i - k)
    return {
      score,
      alone,
      start: this.#swapped ? 0 : Math.min(turn(start), turn(start + this.#reach - 1)),
      length: this.#reach,
      pairs: found,
      dotBracket: this.#dots(found),
    }
  }

  #dots({ within1, within2, between }: InteractionWindow['pairs']): string {
    const [dots1, dots2] = [this.#n, this.#m].map((length) => new Array<string>(length).fill('.')) as [
      string[],
      string[],
    ]
    mark(dots1, within1)
    mark(dots2, within2)
    for (const [i, j] of between) {
      dots1[i] = '['
      dots2[j] = ']'
    }
    return `${dots1.join('')}&${dots2.join('')}`
  }

  tableOf(scores: Int32Array): InteractionTable {
    const [n, m] = [this.#n, this.#m]
    const [swapped, turn] = [this.#swapped, this.#turn]
    const [outer, inner] = swapped ? [m, n] : [n, m]
    const intervals = (inner * (inner + 1)) / 2
    /** Returns the number of an interval among all intervals of `length` bases. */
    const number = (i: number, j: number, length: number) => i * length - (i * (i - 1)) / 2 + j - i
    return {
      shape: [n, n, m, m],
      at(i1, j1, i2, j2) {
        assertInterval(i1, j1, n, 'i1 and j1')
        assertInterval(i2, j2, m, 'i2 and j2')
        const a = Math.min(turn(i2), turn(j2))
        const b = Math.max(turn(i2), turn(j2))
        const [x, y] = swapped
          ? [number(a, b, outer), number(i1, j1, inner)]
          : [number(i1, j1, outer), number(a, b, inner)]
        return scores[x * intervals + y]!
      },
    }
  }
}

function assertInterval(i: number, j: number, length: number, name: string): void {
  if (Number.isInteger(i) && Number.isInteger(j) && i >= 0 && i <= j && j < length) return
  throw new ShapeError(
    `${name} must be whole numbers with 0 ≤ i ≤ j < ${length}, but they are ${show(i)} and ${show(j)}`,
  )
}
