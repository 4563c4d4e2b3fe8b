/** Options of folding and interaction, and their validation. */

import { backend, device } from '../backend.js'
import type { BackendChoice } from '../backend-name.js'
import { OverflowError } from '../errors.js'
import type { RnaScores } from '../native.js'
import {
  assertNames,
  boolean,
  checkedLater,
  choice,
  Options,
  type OptionsOf,
  option,
  type ReadOf,
  readWhole,
  whole,
} from '../options.js'
import { longWorkSet, type MpmmOptions } from '../product/options.js'

/** Scores of pairs of bases: integers of at least 0. Bases with score 0 don't pair. */
export interface PairWeights {
  /** Score of a pair of G and C; 3 by default. */
  GC?: number | undefined
  /** Score of a pair of A and U; 2 by default. */
  AU?: number | undefined
  /** Score of a pair of G and U; 1 by default. */
  GU?: number | undefined
}

/** The indices of two bases that pair, from 0. */
export type BasePair = [i: number, j: number]

/** The type that scores are stored in. */
export type RnaStorage = 'int16' | 'int32'

/** The options of {@link nussinov}. `undefined` means the default. */
export interface FoldOptions extends Pick<MpmmOptions, 'device' | 'signal' | 'onProgress'> {
  /** Scores of pairs. Default: GC 3, AU 2 and GU 1. */
  weights?: PairWeights | undefined
  /** Minimum number of bases between the two bases of a pair of one strand; 3 by default. */
  minLoop?: number | undefined
  /**
   * Storage of scores: 'int16', with half the memory and time, or 'int32'. Default: 'int16' if all scores
   * fit.
   */
  storage?: RnaStorage | undefined
  /** Whether the result has the table of all scores; false by default. */
  table?: boolean | undefined
  /**
   * Backend: 'auto', the default, is CUDA if it can be used, the problem is large and the tables fit the
   * device's memory; otherwise the CPU. MPMML_BACKEND overrides 'auto'. 'cuda' without a usable GPU is an
   * error.
   */
  backend?: BackendChoice | undefined
}

/** The options of {@link bpmax}. `undefined` means the default. */
export interface InteractionOptions extends FoldOptions {
  /** Scores of pairs between the strands. Default: `weights`. */
  weightsBetween?: PairWeights | undefined
  /**
   * Whether sequence2 is written from 5′ to 3′, as sequence1: true by default. Strands pair antiparallel, so
   * the first base of sequence1 can pair with the last of sequence2. If false, sequence2 is read as written
   * from 3′ to 5′.
   */
  antiparallel?: boolean | undefined
  /**
   * Length of windows of sequence2. With windows only structures within one window count, and memory and time
   * are linear in the length of sequence2. No windows by default.
   */
  window?: number | undefined
  /** Number of windows, which don't overlap. Default 1. */
  top?: number | undefined
}

const MOST = 2 ** 20
const usual: RnaScores = { gc: 3, au: 2, gu: 1 }

const foldSet = {
  weights: option(usual, (value, name) => readWeights(value, name, usual)),
  minLoop: whole(3, 0, MOST),
  storage: choice<RnaStorage, undefined>(['int16', 'int32'], undefined),
  table: boolean(false),
  backend,
  device,
  ...longWorkSet,
} satisfies OptionsOf<FoldOptions>

export const interactionSet = {
  ...foldSet,
  weightsBetween: checkedLater(),
  antiparallel: boolean(true),
  window: whole(undefined, 1, MOST),
  top: whole(1, 1, MOST),
} satisfies OptionsOf<InteractionOptions>

export const foldOptions = new Options(foldSet)
const interactionOptions = new Options(interactionSet)

/** Options that folding and interaction share. */
export type ReadFold = ReadOf<typeof foldOptions>

/**
 * Reads the options of an interaction. The default scores of pairs between strands are those of other pairs.
 */
export function readInteraction(options: unknown) {
  const { weightsBetween, ...rest } = interactionOptions.read(options)
  const between =
    weightsBetween === undefined ? rest.weights : readWeights(weightsBetween, 'weightsBetween', rest.weights)
  return { ...rest, between }
}

function readWeights(value: unknown, name: string, otherwise: RnaScores): RnaScores {
  assertNames(value, ['GC', 'AU', 'GU'], `option ${name}`)
  const { GC, AU, GU } = value as Record<string, unknown>
  const read = (weight: unknown, pair: string, usually: number) =>
    weight === undefined ? usually : readWhole(weight, `${name}.${pair}`, 0, MOST)
  return {
    gc: read(GC, 'GC', otherwise.gc),
    au: read(AU, 'AU', otherwise.au),
    gu: read(GU, 'GU', otherwise.gu),
  }
}

/** The largest scores that each type of tables holds: native/core/rna/triangle.h. */
const mostScore: Record<RnaStorage, number> = { int16: 2 ** 14 - 1, int32: 2 ** 30 - 1 }

/** Returns whether scores of strands with `bases` bases in total need 32 bits. */
export function isWide({ storage }: ReadFold, weights: readonly RnaScores[], bases: number): boolean {
  const most = Math.max(...weights.flatMap((scores) => Object.values(scores))) * Math.floor(bases / 2)
  const requested = storage ?? (most <= mostScore.int16 ? 'int16' : 'int32')
  if (most <= mostScore[requested]) return requested === 'int32'
  throw new OverflowError(
    `scores of ${bases} bases may be as large as ${most}, but tables of ${requested} hold at most ${mostScore[requested]}: ` +
      (requested === 'int16' ? "leave out storage: 'int16'" : 'take smaller weights or shorter strands'),
  )
}
