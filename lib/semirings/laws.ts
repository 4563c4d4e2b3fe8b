/** Checks the laws of semirings by a search for counterexamples. */
import { natively, OptionError } from '../errors.js'
import { addon } from '../native.js'
import { checkedLater, choice, Options, type OptionsOf } from '../options.js'
import type { LaneArray, Lanes, LaneType, UserSemiring } from '../user-semiring.js'
import { laneOf, showNumber } from './constants.js'
import {
  type CheckedElements,
  checkedOf,
  isUserSemiring,
  type LaneRange,
  lanesOf,
  nativeOf,
  neutralOf,
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

/** Random and simple triples of elements, and ⊕ and ⊗ of elements. */
interface Trial {
  readonly x: Elements
  readonly y: Elements
  readonly z: Elements
  readonly zero: Elements
  readonly one: Elements
  plus(left: Elements, right: Elements): Elements
  times(left: Elements, right: Elements): Elements
}

interface Law {
  /** Name of the law in words. */
  readonly name: string
  readonly isOfProducts: boolean
  holds(semiring: WrittenSemiring): boolean
  /**
   * Returns the terms that must be equal, as strings for messages, with their values. With `oneOf` only one
   * of the others must equal the first.
   */
  terms(trial: Trial): readonly (readonly [text: string, value: Elements])[]
  readonly oneOf?: boolean
}

const always = () => true
const areLogarithms = ({ logarithms }: WrittenSemiring) => logarithms
const hasOne = (semiring: WrittenSemiring) => semiring.one !== undefined

/** Applies `value` to the elements of each lane, which are floats. */
function each(x: Elements, y: Elements, value: (left: number, right: number) => number): Elements {
  return x.map((lane, index) => Float32Array.from(lane, (left, trial) => value(left, y[index]![trial]!)))
}

/** Returns log(eˣ + eʸ); neither x nor y may be ∞. */
function logOfSum(x: number, y: number): number {
  const greater = Math.max(x, y)
  return greater === Number.NEGATIVE_INFINITY ? greater : greater + Math.log1p(Math.exp(-Math.abs(x - y)))
}

const laws: readonly Law[] = [
  {
    name: 'zero is neutral in ⊕',
    isOfProducts: true,
    holds: always,
    terms: ({ x, zero, plus }) => [
      ['x', x],
      ['x ⊕ zero', plus(x, zero)],
      ['zero ⊕ x', plus(zero, x)],
    ],
  },
  {
    name: '⊕ is commutative',
    isOfProducts: true,
    holds: always,
    terms: ({ x, y, plus }) => [
      ['x ⊕ y', plus(x, y)],
      ['y ⊕ x', plus(y, x)],
    ],
  },
  {
    name: '⊕ is associative',
    isOfProducts: true,
    holds: always,
    terms: ({ x, y, z, plus }) => [
      ['(x ⊕ y) ⊕ z', plus(plus(x, y), z)],
      ['x ⊕ (y ⊕ z)', plus(x, plus(y, z))],
    ],
  },
  {
    name: 'zero absorbs (absorbs: false says that it does not)',
    isOfProducts: true,
    holds: ({ absorbs }) => absorbs,
    terms: ({ x, zero, times }) => [
      ['zero', zero],
      ['zero ⊗ x', times(zero, x)],
      ['x ⊗ zero', times(x, zero)],
    ],
  },
  {
    name: '⊕ is idempotent',
    isOfProducts: true,
    holds: ({ idempotent }) => idempotent,
    terms: ({ x, plus }) => [
      ['x', x],
      ['x ⊕ x', plus(x, x)],
    ],
  },
  {
    name: '⊕ is selective',
    isOfProducts: true,
    holds: ({ selective }) => selective,
    terms: ({ x, y, plus }) => [
      ['x ⊕ y', plus(x, y)],
      ['x', x],
      ['y', y],
    ],
    oneOf: true,
  },
  {
    name: '⊕ is of logarithms',
    isOfProducts: true,
    holds: areLogarithms,
    terms: ({ x, y, plus }) => [
      ['x ⊕ y', plus(x, y)],
      ['log(eˣ + eʸ)', each(x, y, logOfSum)],
    ],
  },
  {
    name: '⊗ is of logarithms',
    isOfProducts: true,
    holds: areLogarithms,
    terms: ({ x, y, times }) => [
      ['x ⊗ y', times(x, y)],
      ['x + y', each(x, y, (left, right) => left + right)],
    ],
  },
  {
    name: 'one is neutral in ⊗',
    isOfProducts: false,
    holds: hasOne,
    terms: ({ x, one, times }) => [
      ['x', x],
      ['x ⊗ one', times(x, one)],
      ['one ⊗ x', times(one, x)],
    ],
  },
  {
    name: '⊗ is associative',
    isOfProducts: false,
    holds: always,
    terms: ({ x, y, z, times }) => [
      ['(x ⊗ y) ⊗ z', times(times(x, y), z)],
      ['x ⊗ (y ⊗ z)', times(x, times(y, z))],
    ],
  },
  {
    name: '⊗ is distributive from the left',
    isOfProducts: false,
    holds: always,
    terms: ({ x, y, z, plus, times }) => [
      ['x ⊗ (y ⊕ z)', times(x, plus(y, z))],
      ['(x ⊗ y) ⊕ (x ⊗ z)', plus(times(x, y), times(x, z))],
    ],
  },
  {
    name: '⊗ is distributive from the right',
    isOfProducts: false,
    holds: always,
    terms: ({ x, y, z, plus, times }) => [
      ['(x ⊕ y) ⊗ z', times(plus(x, y), z)],
      ['(x ⊗ z) ⊕ (y ⊗ z)', plus(times(x, z), times(y, z))],
    ],
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
  const lanes = lanesOf(semiring)
  const usual = checkedOf(semiring) ?? lanes.map(rangeOf)
  check(semiring, laws === 'all', THOROUGH, readRanges(ranges, { dtype: semiring.dtype, lanes }, usual))
}

/** Checks the laws that `semiring()` requires. */
export function checkQuickly(semiring: WrittenSemiring): void {
  const ranges = checkedOf(semiring)
  if (ranges) check(semiring, false, QUICK, ranges)
}

const checked = new WeakSet<WrittenSemiring>()

/** Checks once the laws that products of products rely on, unless the definition has `check: false`. */
export function assertLaws(semiring: WrittenSemiring): void {
  const ranges = checkedOf(semiring)
  if (!ranges || checked.has(semiring)) return
  check(semiring, true, QUICK, ranges)
  checked.add(semiring)
}

function check(semiring: WrittenSemiring, all: boolean, count: number, ranges: readonly LaneRange[]): void {
  const trial = new Trials(semiring, count, ranges)
  for (const law of laws) {
    if ((all || law.isOfProducts) && law.holds(semiring)) trial.try(law)
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

class Trials implements Trial {
  readonly x: Elements
  readonly y: Elements
  readonly z: Elements
  readonly zero: Elements
  readonly one: Elements
  readonly #lanes: readonly LaneType[]
  readonly #semiring: WrittenSemiring
  readonly #count: number
  /** Greatest finite number in the computation of each triple. */
  readonly #greatest: Float64Array
  readonly #hasFloats: boolean

  constructor(semiring: WrittenSemiring, random: number, ranges: readonly LaneRange[]) {
    this.#semiring = semiring
    this.#lanes = lanesOf(semiring)
    this.#hasFloats = this.#lanes.includes('float32')
    this.#count = SIMPLE ** 3 + random
    this.#greatest = new Float64Array(this.#count)
    const { zero, one } = neutralOf(semiring)
    this.zero = this.#elements(() => zero)
    this.one = this.#elements(() => one ?? zero)
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
      const elements = this.#elements(choose)
      // Every second random element is replaced by a sum.
      const sums = this.plus(elements, this.#elements(drawn))
      elements.forEach((lane, index) => {
        for (let trial = SIMPLE ** 3; trial < this.#count; trial += 2) lane[trial] = sums[index]![trial]!
      })
      return elements
    }
    this.x = side(1)
    this.y = side(SIMPLE)
    this.z = side(SIMPLE ** 2)
    this.#greatest.fill(0)
    for (const elements of [this.x, this.y, this.z]) this.#measure(elements)
  }

  readonly plus = (left: Elements, right: Elements): Elements => this.#evaluate(true, left, right)
  readonly times = (left: Elements, right: Elements): Elements => this.#evaluate(false, left, right)

  /** Throws OptionError if a law doesn't hold. */
  try(law: Law): void {
    const [[, first], ...others] = law.terms(this) as [
      readonly [string, Elements],
      ...(readonly [string, Elements])[],
    ]
    for (let trial = 0; trial < this.#count; trial++) {
      const same = ([, other]: readonly [string, Elements]) => this.#isSame(first, other, trial)
      if (law.oneOf ? others.some(same) : others.every(same)) continue
      const shown = law.terms(this).map(([text, value]) => `${text} is ${this.#show(value, trial)}`)
      const variables = (['x', 'y', 'z'] as const)
        .filter((name) => law.terms(this).some(([text]) => new RegExp(`\\b${name}\\b`).test(text)))
        .map((name) => `${name} = ${this.#show(this[name], trial)}`)
      const values = shown.filter((text) => !/^[xyz] is/.test(text))
      throw new OptionError(
        `semiring '${this.#semiring.name}' breaks the law that ${law.name}: for ${variables.join(', ')}, ${values.join(', and ')}. ` +
          'If there are no such elements, say so by check: { min, max }',
      )
    }
  }

  #elements(of: (trial: number) => readonly number[]): Elements {
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
