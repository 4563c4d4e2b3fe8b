/** The options of folding and interaction, read once and checked. */
import { readSignal } from '../abort.js'
import { AUTO, automaticBackend, readBackend, readDevice } from '../backend.js'
import { show } from '../describe.js'
import { OptionError, OverflowError } from '../errors.js'
import type { RnaScores } from '../native.js'
import { readBoolean, readChoice, requireNames } from '../options.js'
import type { BackendChoice, Progress } from '../product/options.js'

/** What a pair of two bases is worth: whole numbers from 0. With 0 they don't pair. */
export interface PairWeights {
  /** 3 by default. */
  GC?: number | undefined
  /** 2 by default. */
  AU?: number | undefined
  /** 1 by default. */
  GU?: number | undefined
}

/** The indices of two bases that pair, from 0. */
export type BasePair = [i: number, j: number]

/** The type that scores are stored in. */
export type RnaStorage = 'int16' | 'int32'

/** The options of {@link nussinov}. `undefined` means the default. */
export interface FoldOptions {
  /** What pairs are worth: GC 3, AU 2 and GU 1 by default. */
  weights?: PairWeights | undefined
  /** The fewest bases between two bases of one strand that pair; 3 by default. */
  minLoop?: number | undefined
  /** 'int16' takes half the memory and the time. By default it is taken if all scores fit it. */
  storage?: RnaStorage | undefined
  /** Whether the result has the table of all scores; false by default. */
  table?: boolean | undefined
  /**
   * 'auto', the default, takes CUDA if it can be used, there is much to compute, and the tables fit the device's memory;
   * otherwise the CPU. MPMML_BACKEND overrides 'auto'. 'cuda' without a usable GPU is an error.
   */
  backend?: BackendChoice | undefined
  /** The index of the CUDA device; 0 by default. */
  device?: number | undefined
  /** Gives up, with ERR_MPMML_ABORTED and the signal's reason as `cause`. */
  signal?: AbortSignal | undefined
  /** As in `mpmm`: is called four times per second. If it throws, the work is given up. */
  onProgress?: ((progress: Progress) => void) | undefined
}

/** The options of {@link bpmax}. `undefined` means the default. */
export interface InteractionOptions extends FoldOptions {
  /** What pairs between the strands are worth; what `weights` says by default. */
  weightsBetween?: PairWeights | undefined
  /**
   * Whether sequence2 is written from 5′ to 3′, as sequence1: true by default. Strands pair antiparallel, so the first base
   * of sequence1 can pair with the last of sequence2. If it is false, sequence2 is taken as written from 3′ to 5′.
   */
  antiparallel?: boolean | undefined
  /**
   * The length of windows of sequence2: then only structures within one window count, and memory and time grow with the
   * length of sequence2 and not with its square or cube. No windows by default.
   */
  window?: number | undefined
  /** How many windows are wanted; 1 by default. They don't overlap. */
  top?: number | undefined
}

/** Checked options. */
export interface ReadRnaOptions {
  readonly within: RnaScores
  readonly between: RnaScores
  readonly minLoop: number
  readonly storage: RnaStorage | undefined
  readonly table: boolean
  readonly antiparallel: boolean
  readonly window: number | undefined
  readonly top: number
  /** An index in the addon's list, and that of the device. */
  readonly backend: number
  readonly device: number
  readonly signal: AbortSignal | undefined
  readonly onProgress: ((progress: Progress) => void) | undefined
}

export const foldNames: readonly (keyof FoldOptions)[] = [
  'weights',
  'minLoop',
  'storage',
  'table',
  'backend',
  'device',
  'signal',
  'onProgress',
]
export const interactionNames: readonly (keyof InteractionOptions)[] = [
  ...foldNames,
  'weightsBetween',
  'antiparallel',
  'window',
  'top',
]

const storages: readonly RnaStorage[] = ['int16', 'int32']
const MOST = 2 ** 20
const usual: RnaScores = { gc: 3, au: 2, gu: 1 }

/** Reads the options: each property once. */
export function readRnaOptions(options: unknown, names: readonly string[]): ReadRnaOptions {
  if (options !== undefined) requireNames(options, names)
  const given = (options ?? {}) as Record<string, unknown>
  const { weights, weightsBetween, minLoop, storage, table, antiparallel, window, top, backend, onProgress } =
    given
  const within = readWeights(weights, 'weights', usual)
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw new OptionError(`option onProgress must be a function, but it is ${show(onProgress)}`)
  }
  const chosen = readBackend(backend)
  return {
    within,
    between: readWeights(weightsBetween, 'weightsBetween', within),
    minLoop: minLoop === undefined ? 3 : readWhole(minLoop, 'minLoop', 0),
    storage: storage === undefined ? undefined : storages[readChoice(storages, storage, 'storage')],
    table: table === undefined ? false : readBoolean(table, 'table'),
    antiparallel: antiparallel === undefined ? true : readBoolean(antiparallel, 'antiparallel'),
    window: window === undefined ? undefined : readWhole(window, 'window', 1),
    top: top === undefined ? 1 : readWhole(top, 'top', 1),
    backend: chosen === AUTO ? automaticBackend() : chosen,
    device: given.device === undefined ? 0 : readDevice(given.device),
    signal: readSignal(given.signal),
    onProgress: onProgress as ReadRnaOptions['onProgress'],
  }
}

function readWhole(value: unknown, name: string, least: number): number {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= MOST)
    return (value as number) + 0
  throw new OptionError(
    `option ${name} must be a whole number from ${least} to ${MOST}, but it is ${show(value)}`,
  )
}

function readWeights(value: unknown, name: string, otherwise: RnaScores): RnaScores {
  if (value === undefined) return otherwise
  requireNames(value, ['GC', 'AU', 'GU'], `option ${name}`)
  const { GC, AU, GU } = value as Record<string, unknown>
  const read = (weight: unknown, pair: string, usually: number) =>
    weight === undefined ? usually : readWhole(weight, `${name}.${pair}`, 0)
  return {
    gc: read(GC, 'GC', otherwise.gc),
    au: read(AU, 'AU', otherwise.au),
    gu: read(GU, 'GU', otherwise.gu),
  }
}

/** The largest scores that each type of tables holds: native/core/triangle.h. */
const mostScore: Record<RnaStorage, number> = { int16: 2 ** 14 - 1, int32: 2 ** 30 - 1 }

/** Whether scores of strands with so many bases in all need 32 bits. */
export function isWide({ within, between, storage }: ReadRnaOptions, bases: number): boolean {
  const most = Math.max(...Object.values(within), ...Object.values(between)) * Math.floor(bases / 2)
  const wanted = storage ?? (most <= mostScore.int16 ? 'int16' : 'int32')
  if (most <= mostScore[wanted]) return wanted === 'int32'
  throw new OverflowError(
    `scores of ${bases} bases may be as large as ${most}, but tables of ${wanted} hold at most ${mostScore[wanted]}: ` +
      (wanted === 'int16' ? "leave out storage: 'int16'" : 'take smaller weights or shorter strands'),
  )
}
