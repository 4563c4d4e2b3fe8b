/** Names of the matrices of products in messages. */
import type { Name } from '../describe.js'

export interface Names {
  readonly a: Name
  readonly b: Name
  readonly out: Name
  readonly accumulate: Name
}

/** Names in a single product. */
export const plainNames: Names = { a: 'a', b: 'b', out: 'out', accumulate: 'accumulate' }

/** Name of a matrix of the product that {@link NamesInGroup} refers to. */
class NameInGroup {
  readonly #product: NamesInGroup
  readonly #property: string

  constructor(product: NamesInGroup, property: string) {
    this.#product = product
    this.#property = property
  }

  toString(): string {
    return `${this.#product}.${this.#property}`
  }
}

/** Names of the matrices of a group's products. Their strings are created only for messages. */
export class NamesInGroup implements Names {
  readonly a = new NameInGroup(this, 'a')
  readonly b = new NameInGroup(this, 'b')
  readonly out = new NameInGroup(this, 'out')
  readonly accumulate = new NameInGroup(this, 'accumulate')
  readonly structure = new NameInGroup(this, 'structure')

  /** @param index - index of the product in the group. */
  constructor(public index = 0) {}

  toString(): string {
    return `products[${this.index}]`
  }
}

/** Names of the matrices of one lane, for elements with several lanes. */
export const namesOfLane = ({ a, b, out, accumulate }: Names, lane: number): Names => ({
  a: `${a}[${lane}]`,
  b: `${b}[${lane}]`,
  out: `${out}[${lane}]`,
  accumulate: `${accumulate}[${lane}]`,
})
