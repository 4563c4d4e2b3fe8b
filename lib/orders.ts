/** What JavaScript must know of a semiring to compute with single elements. */
import { addon, type NativeSemiring } from './native.js'

/** A semiring whose ⊕ takes the better of two elements. */
export interface Order {
  /** Of ⊗, as a number: not the integer that stands for an infinity. */
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

const extensions = { sum, product, maximum: Math.max, minimum: Math.min, and: Math.min }
const comparisons = { maximum: greater, minimum: less, or: greater }

const orders = addon.semirings.map(({ combine, extend, ones }: NativeSemiring): Order | undefined => {
  if (combine === 'sum') return undefined
  const one = (ones.float64 ?? ones.uint8)!
  return { one, maximizes: combine !== 'minimum', extend: extensions[extend], isBetter: comparisons[combine] }
})

/** By the index of a semiring; undefined for plus-times. */
export function orderOf(semiring: number): Order | undefined {
  return orders[semiring]
}

/** x ⊕ y as numbers, by the index of a semiring; NaN if one of them is. */
export function joinOf(semiring: number): (x: number, y: number) => number {
  const order = orderOf(semiring)
  if (!order) return sum
  return (x, y) => (Number.isNaN(y) || order.isBetter(y, x) ? y : x)
}
