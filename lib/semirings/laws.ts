/** Checks the laws of semirings by a search for counterexamples. */
import { natively, OptionError } from '../errors.js'
import { addon } from '../native.js'
import { checkedLater, choice, Options, type OptionsOf } from '../options.js'
import type { LaneArray, Lanes, LaneType, UserSemiring } from '../user-semiring.js'
import { laneOf, showNumber } from './constants.js'
import {
  type CheckedElements,
  factsOf,
  isUserSemiring,
  type LaneRange,
  nativeOf,
  rangeOf,
  readRanges,
  type WrittenSemiring,
} from './semiring.js'

/** The options of {@link checkSemiring}. */
export interface CheckOptions<L extends Lanes = Lanes> extends CheckedElements<L> {
  /**
   * Laws to check. 'product': the laws that a single product relies on. ⊕ is associative and commutative,
   * zero is neutral, and the semiring's flags (absorbs, idempotent, selective, logarithms) are true.
   * Operations of distances satisfy only these laws. 'all', the default: all laws of semirings.
   */
  laws?: 'all' | 'product' | undefined
}

const checkOptions = new Options({
  laws: choice(['all', 'product'], 'all'),
  min: checkedLater(),
  max: checkedLater(),
} satisfies OptionsOf<CheckOptions>)

/** Elements, one array per lane. */
type Elements = readonly LaneArray[]

interface Law {
  /** Name of the law in words. */
  readonly name: string
  /** Terms that must be equal. */
  readonly terms: readonly string[]
  /** Whether single products rely on the law. */
  readonly isOfProducts: boolean
  /** Returns whether the semiring must satisfy the law; by default all must. */
  readonly applies?: (semiring: WrittenSemiring) => boolean
  /** Whether only one of the other terms must equal the first. */
  readonly oneOf?: boolean
}

/** Terms in addition to x, y, z, zero and one with ⊕ and ⊗, as functions of x and y. */
const logarithmTerms: Readonly<Record<string, (x: number, y: number) => number>> = {
  'log(eˣ + eʸ)': (x, y) => {
    const greater = Math.max(x, y)
    // Infinite differences would be NaN. Neither x nor y is ∞.
    return greater === Number.NEGATIVE_INFINITY ? greater : greater + Math.log1p(Math.exp(-Math.abs(x - y)))
  },
  'x + y': (x, y) => x + y,
}

const laws: readonly Law[] = [
  { name: 'zero is neutral in ⊕', terms: ['x', 'x ⊕ zero', 'zero ⊕ x'], isOfProducts: true },
  { name: '⊕ is commutative', terms: ['x ⊕ y', 'y ⊕ x'], isOfProducts: true },
  { name: '⊕ is associative', terms: ['(x ⊕ y) ⊕ z', 'x ⊕ (y ⊕ z)'], isOfProducts: true },
  {
    name: 'zero absorbs (absorbs: false says that it does not)',
    terms: ['zero', 'zero ⊗ x', 'x ⊗ zero'],
    isOfProducts: true,
    applies: ({ absorbs }) => absorbs,
  },
  {
    name: '⊕ is idempotent',
    terms: ['x', 'x ⊕ x'],
    isOfProducts: true,
    applies: ({ idempotent }) => idempotent,
  },
  {
    name: '⊕ is selective',
    terms: ['x ⊕ y', 'x', 'y'],
    isOfProducts: true,
    applies: ({ selective }) => selective,
    oneOf: true,
  },
  {
    name: '⊕ is of logarithms',
    terms: ['x ⊕ y', 'log(eˣ + eʸ)'],
    isOfProducts: true,
    applies: ({ logarithms }) => logarithms,
  },
  {
    name: '⊗ is of logarithms',
    terms: ['x ⊗ y', 'x + y'],
    isOfProducts: true,
    applies: ({ logarithms }) => logarithms,
  },
  {
    name: 'one is neutral in ⊗',
    terms: ['x', 'x ⊗ one', 'one ⊗ x'],
    isOfProducts: false,
    applies: ({ one }) => one !== undefined,
  },
  { name: '⊗ is associative', terms: ['(x ⊗ y) ⊗ z', 'x ⊗ (y ⊗ z)'], isOfProducts: false },
  {
    name: '⊗ is distributive from the left',
    terms: ['x ⊗ (y ⊕ z)', '(x ⊗ y) ⊕ (x ⊗ z)'],
    isOfProducts: false,
  },
  {
    name: '⊗ is distributive from the right',
    terms: ['(x ⊕ y) ⊗ z', '(x ⊗ z) ⊕ (y ⊗ z)'],
    isOfProducts: false,
  },
]

/** Number of triples of a quick check, and of {@link checkSemiring}. */
const QUICK = 2 ** 8
const THOROUGH = 2 ** 15
/**
 * Number of simple elements. All their triples are tried first, so that counterexamples are as simple as
 * possible.
 */
const SIMPLE = 8

/**
 * Two floats count as equal if their difference is at most this fraction of the greatest finite number in
 * their computation.
 */
const TOLERANCE = 2 ** -16

/**
 * Checks the laws of a semiring by a search for counterexamples: at the extremes of its types or of `min` and
 * `max`, and among random elements. Success is no proof.
 *
 * The tested elements are zero and one, elements within `min` and `max`, and sums x ⊕ y of these. Integers
 * must be equal. Floats may differ by 2^−16 of the greatest finite number in their computation, inputs
 * included. Infinities are only tested as zero and one; NaN isn't tested.
 *
 * A law that holds only for some elements needs `min` and `max`: integers whose sums leave the type break
 * laws of x.add(y), and negative integers break laws of a greatest product.
 *
 * @throws ArgumentError (ERR_MPMML_OPTION) with the law and the counterexample.
 * @example
 * const maxPlus = semiring({ name: 'max-plus', dtype: 'float32', zero: -Infinity, one: 0,
 *   plus: (x, y) => x.max(y), times: (x, y) => x.add(y), selective: true })
 * checkSemiring(maxPlus)
 * try {
 *   checkSemiring(l1Distance)
 * } catch ({ message }) {
 *   console.log(message.split(':')[0]) // semiring 'L1 distance' breaks the law that ⊗ is associative
 * }
 */
export function checkSemiring<L extends Lanes>(semiring: UserSemiring<L>, options?: CheckOptions<L>): void {
  if (!isUserSemiring(semiring)) {
    throw new OptionError(
      'checkSemiring takes what semiring() gives: the semirings of the library keep their laws',
    )
  }
  const { laws, ...ranges } = checkOptions.read(options)
  const { lanes, checked } = factsOf(semiring)
  const usual = checked ?? lanes.map(rangeOf)
  check(semiring, laws === 'all', THOROUGH, readRanges(ranges, { dtype: semiring.dtype, lanes }, usual))
}

/** Checks the laws that `semiring()` requires. */
export function checkQuickly(semiring: WrittenSemiring): void {
  const { checked } = factsOf(semiring)
  if (checked) check(semiring, false, QUICK, checked)
}

const known = new WeakSet<WrittenSemiring>()

/** Checks once the laws that products of products rely on, unless the definition has `check: false`. */
export function assertLaws(semiring: WrittenSemiring): void {
  const { checked } = factsOf(semiring)
  if (!checked || known.has(semiring)) return
  check(semiring, true, QUICK, checked)
  known.add(semiring)
}

function check(semiring: WrittenSemiring, all: boolean, count: number, ranges: readonly LaneRange[]): void {
  const trial = new Trials(semiring, count, ranges)
  for (const law of laws) {
    if ((all || law.isOfProducts) && (law.applies?.(semiring) ?? true)) trial.try(law)
  }
}

/** Returns a generator of pseudorandom numbers from 0 to 1 with a fixed seed. */
function generator(): () => number {
  let state = 0x9e3779b9
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Simple and random triples x, y and z of elements. */
class Trials {
  readonly #elements: Readonly<Record<string, Elements>>
  readonly #lanes: readonly LaneType[]
  readonly #semiring: WrittenSemiring
  readonly #count: number
  /** Greatest finite number in the computation of each triple. */
  readonly #greatest: Float64Array
  readonly #hasFloats: boolean

  constructor(semiring: WrittenSemiring, random: number, ranges: readonly LaneRange[]) {
    this.#semiring = semiring
    const { lanes, zero, one } = factsOf(semiring)
    this.#lanes = lanes
    this.#hasFloats = this.#lanes.includes('float32')
    this.#count = SIMPLE ** 3 + random
    this.#greatest = new Float64Array(this.#count)
    const next = generator()
    const simple = simpleElements(this.#lanes, ranges, [zero, ...(one ? [one] : [])])
    const pick = (of: number) => simple[of % simple.length]!
    const drawn = () => {
      const kind = next()
      if (kind < 0.2) return pick(Math.floor(next() * simple.length))
      return this.#lanes.map((type, lane) => drawNumber(type, ranges[lane]!, this.#lanes.length > 1, next))
    }
    const side = (divisor: number) => {
      const choose = (trial: number) =>
        trial < SIMPLE ** 3 ? pick(Math.floor(trial / divisor) % SIMPLE) : drawn()
      const elements = this.#made(choose)
      // Every second random element is replaced by a sum.
      const sums = this.#evaluate(true, elements, this.#made(drawn))
      elements.forEach((lane, index) => {
        for (let trial = SIMPLE ** 3; trial < this.#count; trial += 2) lane[trial] = sums[index]![trial]!
      })
      return elements
    }
    const sides = { x: side(1), y: side(SIMPLE), z: side(SIMPLE ** 2) }
    this.#greatest.fill(0)
    for (const elements of Object.values(sides)) this.#measure(elements)
    this.#elements = { ...sides, zero: this.#made(() => zero), one: this.#made(() => one ?? zero) }
  }

  /** Throws OptionError if a law doesn't hold. */
  try({ name, terms, oneOf }: Law): void {
    const [first, ...others] = terms.map((term) => this.#value(term)) as [Elements, ...Elements[]]
    for (let trial = 0; trial < this.#count; trial++) {
      const same = (other: Elements) => this.#isSame(first, other, trial)
      if (oneOf ? others.some(same) : others.every(same)) continue
      const show = (term: string) => this.#show(this.#value(term), trial)
      const variables = ['x', 'y', 'z'].filter((each) => new RegExp(`\\b${each}\\b`).test(terms.join()))
      const given = variables.map((each) => `${each} = ${show(each)}`)
      const found = terms
        .filter((term) => !variables.includes(term))
        .map((term) => `${term} is ${show(term)}`)
      throw new OptionError(
        `semiring '${this.#semiring.name}' breaks the law that ${name}: for ${given.join(', ')}, ${found.join(', and ')}. ` +
          'If there are no such elements, say so by check: { min, max }',
      )
    }
  }

  /** Returns the values of a term such as (x ⊕ y) ⊗ z. */
  #value(term: string): Elements {
    const { x, y } = this.#elements as { x: Elements; y: Elements }
    const ofFloats = logarithmTerms[term]
    if (ofFloats)
      return x.map((lane, at) => Float32Array.from(lane, (left, trial) => ofFloats(left, y[at]![trial]!)))
    const known = this.#elements[term]
    if (known) return known
    const [, left, operator, right] = /^(\(.*?\)|\w+) ([⊕⊗]) (.+)$/.exec(term) as unknown as string[]
    const [first, second] = [left!, right!].map((each) => this.#value(each.replace(/^\((.*)\)$/, '$1')))
    return this.#evaluate(operator === '⊕', first!, second!)
  }

  #made(of: (trial: number) => readonly number[]): Elements {
    const elements = this.#lanes.map((type) => laneOf(type, this.#count))
    for (let trial = 0; trial < this.#count; trial++) {
      of(trial).forEach((value, lane) => {
        elements[lane]![trial] = value
      })
    }
    return elements
  }

  #evaluate(combine: boolean, left: Elements, right: Elements): Elements {
    const result = this.#lanes.map((type) => laneOf(type, this.#count))
    natively(() =>
      addon.evaluateUserSemiring(nativeOf(this.#semiring), combine, [...left], [...right], result),
    )
    this.#measure(result)
    return result
  }

  #measure(elements: Elements): void {
    if (!this.#hasFloats) return
    elements.forEach((lane, index) => {
      if (this.#lanes[index] !== 'float32') return
      for (let trial = 0; trial < this.#count; trial++) {
        const size = Math.abs(lane[trial]!)
        if (size > this.#greatest[trial]! && Number.isFinite(size)) this.#greatest[trial] = size
      }
    })
  }

  #isSame(left: Elements, right: Elements, trial: number): boolean {
    return left.every((lane, index) => {
      const [first, second] = [lane[trial]!, right[index]![trial]!]
      if (first === second || (Number.isNaN(first) && Number.isNaN(second))) return true
      return (
        this.#lanes[index] === 'float32' && Math.abs(first - second) <= TOLERANCE * this.#greatest[trial]!
      )
    })
  }

  #show(elements: Elements, trial: number): string {
    const shown = elements.map((lane, index) => showNumber(lane[trial]!, this.#lanes[index]!))
    return Array.isArray(this.#semiring.dtype) ? `[${shown.join(', ')}]` : shown[0]!
  }
}

/** Returns small elements and extremes. */
function simpleElements(
  lanes: readonly LaneType[],
  ranges: readonly LaneRange[],
  neutral: readonly (readonly number[])[],
): readonly (readonly number[])[] {
  const small = [0, 1, 2, 3, -1].map((value) =>
    lanes.map((_, lane) => Math.min(Math.max(value, ranges[lane]!.min), ranges[lane]!.max)),
  )
  const edges = (['max', 'min'] as const).map((edge) => ranges.map((range) => range[edge]))
  const all = [...neutral, ...small, ...edges]
  const texts = all.map((element) => element.join())
  return all.filter((_, index) => texts.indexOf(texts[index]!) === index)
}

/** Returns a random number of a lane: small, near a bound, or arbitrary. */
function drawNumber(
  type: LaneType,
  { min, max }: LaneRange,
  isOneOfSeveral: boolean,
  next: () => number,
): number {
  if (min === max) return min
  const kind = next()
  const within = (value: number) => Math.min(Math.max(value, min), max)
  if (type === 'float32') {
    const any = min + next() * (max - min)
    // Multiples of 1/16 have exact sums. So elements that are equal in one lane stay equal in the other
    // lanes.
    const coarse = Math.round(any * 16) / 16
    return within(isOneOfSeveral || kind < 0.5 ? coarse : any)
  }
  if (kind < 0.4) return within(Math.floor(next() * 20) - 8)
  if (kind < 0.5) return within(min + Math.floor(next() * 4))
  if (kind < 0.6) return within(max - Math.floor(next() * 4))
  return within(Math.floor(min + next() * (max - min + 1)))
}
