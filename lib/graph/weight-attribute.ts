/** Collects named attributes of edges in files, and chooses the attribute with the weight. */
import { show, showAll } from '../describe.js'
import { infinityOf, isDecimal, numberOf } from '../files/decimal.js'
import { Pieces } from '../files/pieces.js'
import type { Steps } from '../graph-core/slices.js'

/** Name of the weight that needs no option, in any spelling. */
const USUAL = 'weight'
/** Names that mean a weight if no attribute is named `weight` and exactly one of these names occurs. */
const synonyms = new Set([
  'w',
  'weights',
  'edgeweight',
  'cost',
  'length',
  'distance',
  'duration',
  'time',
  'value',
])
const simplified = (name: string) => name.toLowerCase().replace(/[-_ .]/g, '')

/** Returns the number, or the infinity, that a string denotes; NaN for other strings. */
export function weightOf(text: string): number {
  const value = numberOf(text)
  return Number.isNaN(value) ? infinityOf(text) : value
}

/** Returns whether a string denotes a number, even one that float64 can't hold. */
const isNumeric = (text: string | undefined) =>
  text !== undefined && (isDecimal(text) || !Number.isNaN(weightOf(text)))

/** String in a file that should be a number. */
export interface PlacedText {
  readonly text: string
  readonly line: number
}

/** Largest number of names in a message. */
const MAX_SHOWN = 8
const BYTES_PER_VALUE = 12

/** An attribute of edges, with its numbers. */
export class EdgeAttribute {
  /** Id of the attribute in the file. */
  readonly id: string
  /** The id, unless a declaration names the attribute. */
  name: string
  /** Value of edges that lack one. */
  fallback: PlacedText | undefined
  /** First value that is no number. */
  wrong: PlacedText | undefined
  isBoolean = false
  readonly #edges = new Pieces((length) => new Int32Array(length))
  readonly #values = new Pieces((length) => new Float64Array(length))

  constructor(id: string, name = id) {
    this.id = id
    this.name = name
  }

  get bytes(): number {
    return BYTES_PER_VALUE * this.#values.capacity
  }

  /** Returns whether edges carry numbers under this name. */
  get isNumeric(): boolean {
    const { fallback, wrong } = this
    return !this.isBoolean && (this.#values.count > 0 || isNumeric(fallback?.text) || isNumeric(wrong?.text))
  }

  get isPresent(): boolean {
    return this.#values.count > 0 || this.wrong !== undefined || this.fallback !== undefined
  }

  /** Adds the value of the edges from `first` up to `end`, which are the directions of one edge. */
  add(first: number, end: number, { text, line }: PlacedText): void {
    const value = weightOf(text)
    if (Number.isNaN(value)) {
      this.wrong ??= { text, line }
      return
    }
    for (let edge = first; edge < end; edge++) this.#append(edge, value)
  }

  /** Adds the values of another attribute of the same name. */
  join(other: EdgeAttribute): void {
    this.fallback ??= other.fallback
    this.wrong ??= other.wrong
    this.isBoolean &&= other.isBoolean
    for (const [edges, values] of other.#parts())
      for (let at = 0; at < edges.length; at++) this.#append(edges[at]!, values[at]!)
  }

  /**
   * Returns the value of each of `count` edges; NaN stands for none. `fail` throws the error for an edge with
   * more than one value.
   */
  *values(count: number, fail: (problem: string) => never): Steps<Float64Array> {
    const values = new Float64Array(count).fill(Number.NaN)
    for (const [edges, given] of this.#parts()) {
      for (let at = 0; at < edges.length; at++) {
        const edge = edges[at]!
        if (!Number.isNaN(values[edge])) {
          fail(`an edge must have one value of ${show(this.name)}, but one has several: keep one`)
        }
        values[edge] = given[at]!
      }
      yield
    }
    return values
  }

  *#parts(): Generator<[Int32Array, Float64Array], void> {
    const values = this.#values.parts()
    for (const edges of this.#edges.parts()) yield [edges, values.next().value!]
  }

  #append(edge: number, value: number): void {
    this.#edges.add(edge)
    this.#values.add(value)
  }
}

/** Returns whether the name means the weight, whatever other attributes occur. */
export const isSurely = (name: string, requested: string | undefined): boolean =>
  name === (requested ?? USUAL)

/**
 * Returns the attribute that is the weight; null if no edge carries a number, so that each weighs 1.
 *
 * @param fail - throws the error for a weight that isn't clear.
 */
export function chooseWeight(
  attributes: Iterable<EdgeAttribute>,
  requested: string | undefined,
  fail: (problem: string) => never,
): EdgeAttribute | null {
  const present = joined(attributes)
  const namesOf = (list: readonly EdgeAttribute[]) => {
    const names = list.slice(0, MAX_SHOWN).map(({ name }) => show(name))
    return showAll(list.length > names.length ? [...names, 'others'] : names)
  }
  if (requested !== undefined) {
    const lower = requested.toLowerCase()
    const found =
      present.find(({ name }) => name === requested) ??
      present.find(({ id }) => id === requested) ??
      only(present.filter(({ name }) => name.toLowerCase() === lower))
    if (found) return found
    const there = present.length === 0 ? 'edges have no attributes' : `edges have ${namesOf(present)}`
    return fail(`option weight must name an attribute of edges, but ${show(requested)} is none: ${there}`)
  }
  const exact = present.find(({ name }) => name === USUAL)
  if (exact) return exact
  const numeric = present.filter(({ isNumeric }) => isNumeric)
  const usual = present.filter(({ name }) => simplified(name) === USUAL)
  const known = usual.length > 0 ? usual : numeric.filter(({ name }) => synonyms.has(simplified(name)))
  if (known.length === 1) return known[0]!
  if (numeric.length === 0 && usual.length === 0) return null
  return fail(
    `the weight of edges must be clear, but they have numbers in ${namesOf(numeric.length > 0 ? numeric : usual)}: ` +
      'name the weight by option weight, or say that each edge weighs 1 (weight: null, --no-weight)',
  )
}

/**
 * Returns the attributes that occur. Merges attributes with equal names, because NetworkX writes one id for
 * each type of an attribute's values.
 */
function joined(attributes: Iterable<EdgeAttribute>): EdgeAttribute[] {
  const names = new Map<string, EdgeAttribute>()
  for (const attribute of attributes) {
    if (!attribute.isPresent) continue
    const known = names.get(attribute.name)
    if (known) known.join(attribute)
    else names.set(attribute.name, attribute)
  }
  return [...names.values()]
}

const only = <Value>(values: readonly Value[]): Value | undefined =>
  values.length === 1 ? values[0] : undefined
