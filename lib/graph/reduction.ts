/** Numbers that replace the distances of each source. */
import { show } from '../describe.js'
import { OptionError } from '../errors.js'
import { MAX_DIMENSION } from '../matrix.js'
import { type Option, option } from '../options.js'

/** Choice of the nearest targets of each source. */
export interface Nearest {
  /** Number of targets of each source, at least 1. */
  readonly nearest: number
}

/** Number that {@link reducePaths} computes from the distances of each source, or its nearest targets. */
export type Reduction = 'eccentricity' | 'mean' | Nearest

export interface ReadReduction {
  readonly kind: 'eccentricity' | 'mean' | 'nearest'
  /** Number of values per source. */
  readonly most: number
}

/** Reduced distances: one row per source. */
export interface Reduced {
  readonly values: Float64Array
  /** Number of targets that the values of each source are computed from. */
  readonly reached: Int32Array
  /** Nodes of the values for `nearest`; null for other reductions. */
  readonly nodes: Int32Array | null
}

function readReduction(value: unknown, name: string): ReadReduction {
  if (value === 'eccentricity' || value === 'mean') return { kind: value, most: 1 }
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : []
  const [key, most] = entries[0] ?? []
  const isWhole = typeof most === 'number' && Number.isInteger(most) && most >= 1 && most <= MAX_DIMENSION
  if (entries.length === 1 && key === 'nearest' && isWhole) return { kind: 'nearest', most }
  throw new OptionError(
    `option ${name} must be 'eccentricity', 'mean' or { nearest: 5 }, with any whole number from 1, but it is ${show(value)}`,
  )
}

export const reduction: Option<ReadReduction> = option({ kind: 'eccentricity', most: 1 }, readReduction)
