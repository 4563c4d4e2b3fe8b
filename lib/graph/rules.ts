/** Rules that path algorithms need of a semiring. */

import { assertSemiringType, oneOf, readSemiring, zeroOf } from '../built-in-semirings.js'
import { typeNameOf } from '../elements.js'
import { addon, indexIn, type NativeSemiring } from '../native.js'
import type { DataType } from '../variant-names.js'

/** The semirings that paths are compared in. */
export type PathSemiring = 'min-plus' | 'max-plus' | 'max-min' | 'max-times' | 'or-and'

export const pathSemirings: readonly PathSemiring[] = [
  'min-plus',
  'max-plus',
  'max-min',
  'max-times',
  'or-and',
]

/** The semirings whose edges have weights. */
export const weightedSemirings = pathSemirings.filter((name) => name !== 'or-and')

/** Kind of ⊗, which computes the value of a path from the values of its edges. */
export type Extension = 'sum' | 'product' | 'bottleneck'

interface Form {
  readonly extension: Extension
  readonly maximizes: boolean
}

function formOf({ combine, extend }: NativeSemiring): Form {
  const extension = extend === 'sum' || extend === 'product' ? extend : 'bottleneck'
  return { extension, maximizes: combine !== 'minimum' }
}

/**
 * Rules of a semiring over an element type. Searches minimise keys: if ⊕ is a maximum, the key of a value is
 * its negative.
 */
export interface PathRules extends Form {
  readonly semiring: PathSemiring
  /** The element type. */
  readonly dtype: DataType
  /** The value of no path, and of no edge. */
  readonly zero: number
  /** The value of the empty path. */
  readonly one: number
  /** Whether values are integers. Then ⊗ is exact, and its results may lie outside int32. */
  readonly exact: boolean
  /** Whether every ⊗ is rounded to float32. */
  readonly single: boolean
  /** The key of no path: greater than all others. */
  readonly unreached: number
  /** The key of the empty path. */
  readonly startKey: number
  /** Returns the rules in the form that native code takes. */
  readonly native: { readonly extension: number; readonly maximizes: boolean; readonly noPath: number }
}

const knownRules = new Map<PathSemiring, PathRules[]>(pathSemirings.map((name) => [name, []]))

/**
 * Returns the rules of a semiring over an element type, given by its code. Rules are created once.
 *
 * @throws ERR_MPMML_DTYPE if the semiring doesn't have the type.
 */
export function rulesOf(semiring: PathSemiring, type: number): PathRules {
  const known = knownRules.get(semiring)!
  known[type] ??= makeRules(semiring, type)
  return known[type]
}

function makeRules(semiring: PathSemiring, type: number): PathRules {
  const index = readSemiring(semiring)
  assertSemiringType(index, type)
  const form = formOf(addon.semirings[index]!)
  const dtype = typeNameOf(type)
  const zero = zeroOf(semiring, dtype)
  const one = oneOf(index, dtype)
  return {
    ...form,
    semiring,
    dtype,
    zero,
    one,
    exact: dtype === 'int32' && form.extension === 'sum',
    single: dtype === 'float32' && form.extension !== 'bottleneck',
    unreached: form.extension === 'product' ? 0 : Number.POSITIVE_INFINITY,
    startKey: form.maximizes ? 0 - one : one,
    native: {
      extension: indexIn(addon.pathExtensions, semiring === 'or-and' ? 'links' : form.extension),
      maximizes: form.maximizes,
      noPath: zero,
    },
  }
}

/**
 * Returns whether a limit is better than the empty path, whose value is {@link PathRules.one}. Then no path
 * counts, because limits are for graphs in which no edge improves a path.
 */
export function excludesEmpty({ maximizes, one }: PathRules, limit: number | undefined): boolean {
  return limit !== undefined && (maximizes ? limit > one : limit < one)
}

/** Returns the key of an edge. In products it is the weight, because the keys of paths carry the sign. */
export function edgeKey({ extension, maximizes }: PathRules, weight: number): number {
  return maximizes && extension !== 'product' ? 0 - weight : weight
}

/** The value of a key. */
export function valueOfKey({ maximizes }: PathRules, key: number): number {
  // 0 − key and key + 0 never give −0.
  return maximizes ? 0 - key : key + 0
}

/** Returns whether appending an edge with this key improves a path. */
export function edgeImproves({ extension }: PathRules, key: number): boolean {
  if (extension === 'bottleneck') return false
  return extension === 'sum' ? key < 0 : key > 1
}

/**
 * Returns whether an edge with this key makes better paths than an edge with key `other`; NaN stands for no
 * edge.
 */
export function isBetterEdge({ extension }: PathRules, key: number, other: number): boolean {
  return !(extension === 'product' ? key <= other : key >= other)
}
