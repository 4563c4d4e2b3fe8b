/** What is made of the distances of each source, in place of them. */
import { show } from '../describe.js'
import { OptionError } from '../errors.js'
import { MAX_DIMENSION } from '../matrix.js'
import { type Option, option } from '../options.js'

/** Number of best targets of each source: `{ nearest: 5 }`, or the text 'nearest=5' or 'nearest 5'. */
export type Nearest = `nearest ${number}` | `nearest=${number}` | { readonly nearest: number }

/** What {@link reducePaths} makes of the distances of each source. */
export type Reduction = 'eccentricity' | 'mean' | Nearest

export interface ReadReduction {
  readonly kind: 'eccentricity' | 'mean' | 'nearest'
  /** How many numbers there are for each source. */
  readonly most: number
}

/** What was made of distances: a row for each source. */
export interface Reduced {
  readonly values: Float64Array
  /** How many targets the numbers of each source are made of. */
  readonly reached: Int32Array
  /** The nodes that the values are of, if they are the nearest. */
  readonly nodes: Int32Array | null
}

function readReduction(value: unknown, name: string): ReadReduction {
  if (value === 'eccentricity' || value === 'mean') return { kind: value, most: 1 }
  const asked = typeof value === 'object' && value !== null ? value : {}
  const [, digits] = /^nearest[ =](\d{1,10})$/.exec(String(value)) ?? []
  const most = digits === undefined ? 'nearest' in asked && asked.nearest : Number(digits)
  const isAlone = digits !== undefined || Object.keys(asked).length === 1
  if (isAlone && Number.isInteger(most) && Number(most) >= 1 && Number(most) <= MAX_DIMENSION) {
    return { kind: 'nearest', most: Number(most) }
  }
  throw new OptionError(
    `option ${name} must be 'eccentricity', 'mean', 'nearest=5' or { nearest: 5 }, with any whole number from 1, but it is ${show(value)}`,
  )
}

/** On the command line it is a text. */
export const reduction: Option<ReadReduction> = option({ kind: 'eccentricity', most: 1 }, readReduction, {
  commandLine: {
    flag: '--reduce <what>',
    summary:
      'a number for each node in place of distances: eccentricity or mean; or nearest=5, its nearest nodes',
  },
})
