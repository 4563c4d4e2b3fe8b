/** What JavaScript must know of a semiring to compute with single elements. */
import { readSemiring } from '../semirings.js'
import type { Semiring } from '../variant-names.js'

/** A semiring whose ⊕ takes the better of two elements. */
export interface Order {
  /** Of ⊗, except if the better of two elements is unlimited: then it is an infinity, and integers have their end in its place. */
  readonly one: number
  readonly extend: (x: number, y: number) => number
  readonly isBetter: (x: number, y: number) => boolean
}

const sum = (x: number, y: number) => x + y
const product = (x: number, y: number) => x * y
const greater = (x: number, y: number) => x > y
const less = (x: number, y: number) => x < y

const orders: Partial<Record<Semiring, Order>> = {
  'max-plus': { one: 0, extend: sum, isBetter: greater },
  'min-plus': { one: 0, extend: sum, isBetter: less },
  'max-min': { one: Number.POSITIVE_INFINITY, extend: Math.min, isBetter: greater },
  'min-max': { one: Number.NEGATIVE_INFINITY, extend: Math.max, isBetter: less },
  'max-times': { one: 1, extend: product, isBetter: greater },
  'or-and': { one: 1, extend: Math.min, isBetter: greater },
}

const byIndex = new Map(Object.entries(orders).map(([name, order]) => [readSemiring(name), order]))

/** By the index of a semiring; undefined for plus-times. */
export function orderOf(semiring: number): Order | undefined {
  return byIndex.get(semiring)
}
