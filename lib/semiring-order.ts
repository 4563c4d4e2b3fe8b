/** Operations of semirings on single elements in JavaScript. */
import { OptionError } from './errors.js'
import { addon, type NativeSemiring } from './native.js'

/** A semiring whose ⊕ selects the better of two elements. */
export interface Order {
  /** Neutral element of ⊗ as a number, not as the integer that represents an infinity. */
  readonly one: number
  /** Whether ⊕ is a maximum. */
  readonly maximizes: boolean
  readonly extend: (x: number, y: number) => number
  readonly isBetter: (x: number, y: number) => boolean
}

const sum = (x: number, y: number) => x + y
const product = (x: number, y: number) => x * y
const greater = (x: number, y: number) => x > y
const less = (x: number, y: number) => x < y

const extensions: Record<string, Order['extend']> = {
  sum,
  product,
  maximum: Math.max,
  minimum: Math.min,
  and: Math.min,
}

const orders = addon.semirings.map((semiring: NativeSemiring): Order | undefined => {
  const { combine, extend, ones, idempotent } = semiring
  if (!idempotent) return undefined
  const one = (ones.float64 ?? ones.uint8)!
  const maximizes = combine !== 'minimum'
  return { one, maximizes, extend: extensions[extend]!, isBetter: maximizes ? greater : less }
})

/**
 * Returns the order by which path weights are compared in the semiring with this index.
 *
 * @throws ERR_MPMML_OPTION if they can't be.
 */
export function assertOrder(semiring: number): Order {
  const order = orders[semiring]
  if (order) return order
  throw new OptionError(
    `option semiring must not be '${addon.semirings[semiring]!.name}', whose sums of paths have no best one: choose another semiring`,
  )
}

/** x ⊕ y as numbers, by the index of a semiring; NaN if one of them is. */
export function joinOf(semiring: number): (x: number, y: number) => number {
  const order = orders[semiring]
  if (!order) return addon.semirings[semiring]!.join!
  return (x, y) => (Number.isNaN(y) || order.isBetter(y, x) ? y : x)
}
