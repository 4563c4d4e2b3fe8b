/** Creates custom semirings from functions and from JSON. */
import { show, showList, typeName } from '../describe.js'
import { configureCpu } from '../environment.js'
import { natively, OptionError } from '../errors.js'
import { expressionTypes, maxLanes } from '../expression-table.js'
import { addon, type NativeUserSemiring } from '../native.js'
import { assertNames, readBoolean } from '../options.js'
import type { ElementOf, Lanes, LaneType, SemiringJson, UserSemiring } from '../user-semiring.js'
import { bitsOf, limits, numberFromJson, numberToJson, readNumber, showNumber } from './constants.js'
import {
  type Expression,
  expressionFromJson,
  expressionToJson,
  isLaneType,
  laneTypes,
  printExpression,
  wordsOf,
} from './expression.js'
import { type Operations, trace, type Value, type ValueOrNumber } from './value.js'

/** Key of the method that Node.js calls to print an object. */
const inspected: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never

/** Values of an element: a single value, or an array with one value per lane. */
export type ElementValue<L extends Lanes> = L extends readonly LaneType[]
  ? { readonly [Lane in keyof L]: Value<Extract<L[Lane], LaneType>> }
  : L extends LaneType
    ? Value<L>
    : never

/** Result of ⊕ and ⊗: a value or a number; an array with one of these per lane if dtype is an array. */
export type ElementResult<L extends Lanes> = L extends readonly LaneType[]
  ? { readonly [Lane in keyof L]: ValueOrNumber<Extract<L[Lane], LaneType>> }
  : L extends LaneType
    ? ValueOrNumber<L>
    : never

/**
 * ⊕ or ⊗. The library calls the function once, with symbolic values, and records the operations that it
 * applies to them. No source code is parsed, so minifiers don't break it. An `if` on a value can't work: use
 * `select`.
 */
export type ElementFunction<L extends Lanes> = (
  x: ElementValue<L>,
  y: ElementValue<L>,
  operations: Operations,
  // The empty tuple makes TypeScript infer a tuple for an array literal.
) => ElementResult<L> | readonly []

/** Definition of a semiring for {@link semiring}. */
export interface SemiringDefinition<L extends Lanes = Lanes> {
  /** Name in messages; at most 100 characters. */
  name: string
  /** Type of an element, 'int32', 'uint32' or 'float32'; or an array with the types of its 1 to 4 lanes. */
  dtype: L
  /** Neutral element of ⊕, and the value of a result without candidates. An array if dtype is one. */
  zero: ElementOf<L>
  /** Neutral element of ⊗, if one exists. `power` and `star` need it for the identity matrix. */
  one?: ElementOf<L> | undefined
  /** x ⊕ y. In a product x is the result of the earlier steps, or C0, and y is the next candidate. */
  plus: ElementFunction<L>
  /** x ⊗ y. In a product x is an element of A, and y an element of B. */
  times: ElementFunction<L>
  /**
   * Whether zero ⊗ x and x ⊗ zero are zero for each x, including infinities and NaN if matrices contain them;
   * true by default. Kernels may then use zeros for elements outside a structure. If false, kernels skip the
   * steps outside of the structure, which is slightly slower.
   */
  absorbs?: boolean | undefined
  /** Whether x ⊕ x is x; false by default. `star` needs it. */
  idempotent?: boolean | undefined
  /** Whether x ⊕ y is always x or y; false by default. The option `witness` needs it. It implies `idempotent`. */
  selective?: boolean | undefined
  /**
   * Whether elements are natural logarithms: x ⊕ y is log(eˣ + eʸ) and x ⊗ y is x + y, up to rounding; false
   * by default. Products of 32 steps and more are then computed with exponentials, in a fraction of the time.
   * Requires dtype 'float32' and an absorbing zero −∞.
   */
  logarithms?: boolean | undefined
  /**
   * The quick check of the laws that products rely on: see {@link checkSemiring}. True by default; false
   * skips the check, and an object bounds the elements that it uses.
   */
  check?: boolean | CheckedElements<L> | undefined
}

/**
 * Elements that the laws are checked with: random elements within these bounds, zero, one, and sums x ⊕ y of
 * these.
 */
export interface CheckedElements<L extends Lanes = Lanes> {
  /**
   * Least element, per lane if dtype is an array. By default the least value of the type; −1024 for float32.
   */
  min?: ElementOf<L> | undefined
  /**
   * Greatest element, per lane if dtype is an array. By default the greatest value of the type; 1024 for
   * float32.
   */
  max?: ElementOf<L> | undefined
}

/** The elements of a lane from which the laws are checked. */
export interface LaneRange {
  readonly min: number
  readonly max: number
}

/** Properties of a semiring except its name and expressions. */
interface SemiringProperties<L extends Lanes> {
  readonly name: string
  readonly dtype: L
  readonly lanes: readonly LaneType[]
  /** Neutral elements, lane by lane. */
  readonly zero: readonly number[]
  readonly one: readonly number[] | undefined
  readonly absorbs: boolean
  readonly idempotent: boolean
  readonly selective: boolean
  readonly logarithms: boolean
  /** Ranges of elements for the check of the laws, one per lane; undefined if no laws are checked. */
  readonly checked: readonly LaneRange[] | undefined
}

/** A {@link UserSemiring}. */
export class WrittenSemiring<L extends Lanes = Lanes> implements UserSemiring<L> {
  readonly name: string
  readonly dtype: L
  readonly zero: ElementOf<L>
  readonly one: ElementOf<L> | undefined
  readonly absorbs: boolean
  readonly idempotent: boolean
  readonly selective: boolean
  readonly logarithms: boolean
  readonly #facts: SemiringProperties<L>
  readonly #plus: Expression
  readonly #times: Expression
  #native: NativeUserSemiring | undefined

  constructor(facts: SemiringProperties<L>, plus: Expression, times: Expression) {
    const { zero, one } = facts
    this.name = facts.name
    this.dtype = facts.dtype
    this.zero = elementOf(facts, zero)
    this.one = one && elementOf(facts, one)
    this.absorbs = facts.absorbs
    this.idempotent = facts.idempotent
    this.selective = facts.selective
    this.logarithms = facts.logarithms
    this.#facts = facts
    this.#plus = plus
    this.#times = times
    Object.freeze(this)
  }

  /** Returns whether `value` is a semiring of this class; an object that imitates one isn't. */
  static is(value: unknown): value is WrittenSemiring {
    return typeof value === 'object' && value !== null && #facts in value
  }

  static factsOf(semiring: WrittenSemiring): SemiringProperties<Lanes> {
    return semiring.#facts
  }

  /** Returns native code's object for the semiring, which is created at the first call. */
  static nativeOf(semiring: WrittenSemiring): NativeUserSemiring {
    if (semiring.#native) return semiring.#native
    // The check of the laws may be the first computation of the process.
    configureCpu()
    const { name, lanes, zero, one, absorbs, idempotent, selective, logarithms } = semiring.#facts
    const plus = wordsOf(semiring.#plus)
    const times = wordsOf(semiring.#times)
    const bits = (element: readonly number[]) =>
      Int32Array.from(element, (value, lane) => bitsOf(value, lanes[lane]!))
    semiring.#native = natively(() =>
      addon.userSemiring({
        name,
        lanes: Int32Array.from(lanes, (type) => expressionTypes.indexOf(type)),
        zero: bits(zero),
        one: one ? bits(one) : undefined,
        plus: plus.nodes,
        plusResults: plus.results,
        times: times.nodes,
        timesResults: times.results,
        absorbs,
        idempotent,
        selective,
        logarithms,
      }),
    )
    return semiring.#native
  }

  toJSON(): SemiringJson {
    const { name, dtype, lanes, zero, one, absorbs, idempotent, selective, logarithms, checked } = this.#facts
    const isUsual = checked?.every(({ min, max }, lane) => {
      const usual = rangeOf(lanes[lane]!)
      return min === usual.min && max === usual.max
    })
    const json = (element: readonly number[]) => elementOf(this.#facts, element.map(numberToJson) as never)
    return {
      semiring: 1,
      name,
      dtype,
      zero: json(zero),
      ...(one && { one: json(one) }),
      plus: expressionToJson(this.#plus),
      times: expressionToJson(this.#times),
      absorbs,
      idempotent,
      selective,
      ...(logarithms && { logarithms }),
      ...(!isUsual && {
        check: checked
          ? {
              min: json(checked.map(({ min }) => min)),
              max: json(checked.map(({ max }) => max)),
            }
          : false,
      }),
    }
  }

  toString(): string {
    const { name, lanes, dtype, zero, one } = this.#facts
    const element = (values: readonly number[]) => {
      const shown = values.map((value, lane) => showNumber(value, lanes[lane]!)).join(', ')
      return Array.isArray(dtype) ? `[${shown}]` : shown
    }
    const law = (operator: string, expression: Expression) => {
      const { text, named } = printExpression(expression, lanes.length)
      return [`x ${operator} y = ${text}`, ...named.map((each) => `  ${each}`)].join('\n')
    }
    const flags = (['absorbs', 'idempotent', 'selective', 'logarithms'] as const).filter((flag) => this[flag])
    return [
      `semiring '${name}' of ${Array.isArray(dtype) ? `[${lanes.join(', ')}]` : dtype}`,
      law('⊕', this.#plus),
      law('⊗', this.#times),
      `zero ${element(zero)}, ${one ? `one ${element(one)}` : 'no one'}${flags.map((flag) => `, ${flag}`).join('')}`,
    ].join('\n')
  }

  [inspected](): string {
    return this.toString()
  }
}

/** Accessors of the private fields, for the rest of the library. */
export const { is: isUserSemiring, factsOf, nativeOf } = WrittenSemiring

/** Returns a number if dtype is no array, otherwise an array. */
function elementOf<L extends Lanes>(
  { dtype }: SemiringProperties<L>,
  lanes: readonly number[],
): ElementOf<L> {
  return (Array.isArray(dtype) ? Object.freeze([...lanes]) : lanes[0]) as ElementOf<L>
}

/** Returns the default range of a lane's values for the check of the laws. */
export function rangeOf(type: LaneType): LaneRange {
  const [min, max] = type === 'float32' ? [-1024, 1024] : limits[type]
  return { min, max }
}

const MAX_NAME = 100

function readName(value: unknown, where: string): string {
  if (typeof value !== 'string' || value === '' || value.length > MAX_NAME) {
    const came = typeof value === 'string' && value !== '' ? `one of ${value.length}` : show(value)
    throw new OptionError(`${where}.name must be a text of 1 to ${MAX_NAME} characters, but it is ${came}`)
  }
  // Control characters would break or forge lines of messages and logs.
  if (/\p{Cc}|[\u2028\u2029]/u.test(value)) {
    throw new OptionError(`${where}.name must have no control characters, such as line breaks`)
  }
  return value
}

function readLanes(value: unknown, where: string): { dtype: Lanes; lanes: readonly LaneType[] } {
  if (isLaneType(value)) return { dtype: value, lanes: [value] }
  const given: unknown[] = Array.isArray(value) ? Array.from(value) : []
  if (given.length >= 1 && given.length <= maxLanes && given.every(isLaneType)) {
    const lanes = Object.freeze([...given])
    return { dtype: lanes, lanes }
  }
  throw new OptionError(
    `${where}.dtype must be ${laneTypes.map((type) => `'${type}'`).join(', ')}, or an array of 1 to ${maxLanes} of them, one for each lane, ` +
      `but it is ${Array.isArray(value) ? showList(value) : show(value)}`,
  )
}

/** Reads an element. `read` prepares a number of it. */
function readElement(
  value: unknown,
  { dtype, lanes }: Pick<SemiringProperties<Lanes>, 'dtype' | 'lanes'>,
  where: string,
  read: (value: unknown) => unknown = (value) => value,
): readonly number[] {
  if (!Array.isArray(dtype)) return [readNumber(read(value), lanes[0]!, where)]
  if (!Array.isArray(value) || value.length !== lanes.length) {
    const came = Array.isArray(value) ? showList(value) : typeName(value)
    throw new OptionError(
      `${where} must be an array of ${lanes.length} numbers, one for each lane, but it is ${came}`,
    )
  }
  return Array.from(value as unknown[], (each, lane) =>
    readNumber(read(each), lanes[lane]!, `${where}[${lane}]`),
  )
}

const readFlag = (value: unknown, usual: boolean, where: string): boolean =>
  value === undefined ? usual : readBoolean(value, where)

/**
 * Reads the fields that definitions and JSON share. The caller has copied `given`, so that getters run once.
 */
function readFacts(
  given: Record<string, unknown>,
  where: string,
  read?: (value: unknown) => unknown,
): SemiringProperties<Lanes> {
  const name = readName(given.name, where)
  const types = readLanes(given.dtype, where)
  const selective = readFlag(given.selective, false, `${where}.selective`)
  const idempotent = readFlag(given.idempotent, selective, `${where}.idempotent`)
  if (selective && !idempotent) {
    throw new OptionError(`${where} is selective, so that x ⊕ x is x, but idempotent is false: leave it out`)
  }
  const zero = readElement(given.zero, types, `${where}.zero`, read)
  const absorbs = readFlag(given.absorbs, true, `${where}.absorbs`)
  const logarithms = readFlag(given.logarithms, false, `${where}.logarithms`)
  if (logarithms && !(types.dtype === 'float32' && zero[0] === Number.NEGATIVE_INFINITY && absorbs)) {
    throw new OptionError(
      `${where} is of logarithms, but these need dtype 'float32' and zero -Infinity, the logarithm of 0, which absorbs: leave logarithms out`,
    )
  }
  if (logarithms && idempotent) {
    throw new OptionError(
      `${where} is of logarithms, so that x ⊕ x is x + log 2, but idempotent or selective is true: leave out one of them`,
    )
  }
  return {
    name,
    ...types,
    zero,
    one: given.one === undefined ? undefined : readElement(given.one, types, `${where}.one`, read),
    absorbs,
    idempotent,
    selective,
    logarithms,
    checked:
      given.check === false ? undefined : readRanges(given.check, types, types.lanes.map(rangeOf), read),
  }
}

const definitionNames: readonly (keyof SemiringDefinition)[] = [
  'name',
  'dtype',
  'zero',
  'one',
  'plus',
  'times',
  'absorbs',
  'idempotent',
  'selective',
  'logarithms',
  'check',
]

/** Creates a semiring from a definition, without the quick check of the laws, which is the caller's task. */
export function write<L extends Lanes>(definition: SemiringDefinition<L>): WrittenSemiring<L> {
  assertNames(definition, definitionNames, 'the semiring')
  const { plus, times, ...given } = { ...(definition as unknown as Record<string, unknown>) }
  const facts = readFacts(given, 'the semiring')
  const traced = (work: unknown, name: string) => {
    if (typeof work !== 'function') {
      throw new OptionError(`the semiring.${name} must be a function of x and y, but it is ${show(work)}`)
    }
    return trace(
      work as never,
      facts.lanes,
      Array.isArray(facts.dtype),
      `${name} of semiring '${facts.name}'`,
    )
  }
  return new WrittenSemiring(facts as SemiringProperties<L>, traced(plus, 'plus'), traced(times, 'times'))
}

/**
 * Returns the ranges of elements for the check of the laws: `value` is a {@link CheckedElements}, whose
 * omitted bounds are those of `usual`.
 *
 * @throws ArgumentError (ERR_MPMML_OPTION).
 */
export function readRanges(
  value: unknown,
  types: Pick<SemiringProperties<Lanes>, 'dtype' | 'lanes'>,
  usual: readonly LaneRange[],
  read?: (value: unknown) => unknown,
): readonly LaneRange[] {
  if (value === undefined || value === true) return usual
  assertNames(value, ['min', 'max'], 'option check')
  const { min, max } = value as Record<string, unknown>
  const low = min === undefined ? null : readElement(min, types, 'option check.min', read)
  const high = max === undefined ? null : readElement(max, types, 'option check.max', read)
  return usual.map((range, lane) => {
    const found = { min: low?.[lane] ?? range.min, max: high?.[lane] ?? range.max }
    if (found.min === found.max || (found.min < found.max && Number.isFinite(found.max - found.min))) {
      return found
    }
    throw new OptionError(
      `option check must have finite numbers with min ≤ max, but they are ${found.min} and ${found.max}${types.lanes.length > 1 ? ` in lane ${lane}` : ''}`,
    )
  })
}

const jsonNames: readonly (keyof SemiringJson)[] = ['semiring', ...definitionNames]

/** Limit in characters of a JSON string, far above the size of any semiring. */
const MAX_JSON = 2 ** 17

/** Reads the untrusted form of {@link UserSemiring.toJSON}. */
export function read(json: unknown): WrittenSemiring {
  const value = typeof json === 'string' ? parsed(json) : json
  assertNames(value, jsonNames, 'the semiring in JSON')
  const { semiring: version, plus, times, ...given } = { ...(value as Record<string, unknown>) }
  if (version !== 1) {
    throw new OptionError(
      `the semiring in JSON must have the property semiring: 1, the version of its form, but that is ${show(version)}`,
    )
  }
  const facts = readFacts(given, 'the semiring in JSON', numberFromJson)
  const expression = (value: unknown, name: string) =>
    expressionFromJson(value, facts.lanes, `${name} of semiring '${facts.name}'`)
  return new WrittenSemiring(facts, expression(plus, 'plus'), expression(times, 'times'))
}

function parsed(text: string): unknown {
  if (text.length > MAX_JSON) {
    throw new OptionError(
      `the semiring in JSON must have at most ${MAX_JSON} characters, but it has ${text.length}`,
    )
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new OptionError(`the semiring in JSON isn't JSON: ${(error as Error).message}`, { cause: error })
  }
}
