/** What JavaScript must know of a semiring to compute with single elements. */
import { readSemiring } from '../semirings.js'
import type { DataType, Semiring } from '../variant-names.js'

/** A semiring whose ⊕ takes the better of two elements. */
export interface Order {
  /** Of ⊗. An infinity is the last value of its direction over integers. */
  readonly one: number
  readonly extend: (x: number, y: number) => number
  readonly isBetter: (x: number, y: number) => boolean
}

const sum = (x: number, y: number) => x + y
const product = (x: number, y: number) => x * y
const greater = (x: number, y: number) => x > y
const less = (x: number, y: number) => x < y

const orders: Record<Exclude<Semiring, 'plus-times'>, Order> = {
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

/** x ⊕ y as numbers, by the index of a semiring; NaN if one of them is. */
export function joinOf(semiring: number): (x: number, y: number) => number {
  const order = orderOf(semiring)
  if (!order) return sum
  return (x, y) => (Number.isNaN(y) || order.isBetter(y, x) ? y : x)
}

/** The neutral element of ⊗, as a type holds it. */
export function oneOf(semiring: number, dtype: DataType): number {
  const one = orderOf(semiring)?.one ?? 1
  if (dtype !== 'int32' || Number.isFinite(one)) return one
  return one > 0 ? 2 ** 31 - 1 : -(2 ** 31)
}
