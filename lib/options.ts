/**
 * Defines and reads options. Each option is defined once, as a value with its reader and its default. The
 * options of a function are a set of such values.
 *
 * Interfaces of options are written by hand: editors and the reference show their docs, which a type computed
 * from values would lose. {@link OptionsOf} lets the compiler reject a set with missing or additional names.
 */
import { type Name, show, showChoices, typeName } from './describe.js'
import { DTypeError, OptionError } from './errors.js'

/** Value of a number that is omitted. */
export const UNSET = -1

/** An option of a function. */
export interface Option<Read> {
  /**
   * Converts a given value to the form that the library uses. Throws OptionError, whose message calls the
   * option `name`, for an invalid value.
   */
  readonly read: (value: unknown, name: string) => Read
  /** Default, used if the option is omitted. */
  readonly usual: Read
  readonly isRequired: boolean
  /** Allowed values, if they have names. */
  readonly choices?: readonly string[]
}

/** Returns an option that may be omitted. */
export function option<Read, Usual = Read>(
  usual: Usual,
  read: (value: unknown, name: string) => Read,
  choices?: readonly string[],
): Option<Read | Usual> {
  return { read, usual, isRequired: false, ...(choices && { choices }) }
}

/** Returns a required option: `read` throws if it is omitted. */
export const required = <Read>(read: (value: unknown, name: string) => Read): Option<Read> => ({
  read,
  usual: undefined as never,
  isRequired: true,
})

/** Returns an option whose value is one of the given names. */
export function choice<Choice extends string, Usual extends Choice | undefined>(
  choices: readonly Choice[],
  usual: Usual,
): Option<Choice | Usual> {
  return option(usual, (value, name) => choices[readChoice(choices, value, name)]!, choices)
}

/** Returns an option that the function itself checks together with other arguments. */
export const checkedLater = <Type = unknown>(): Option<Type | undefined> =>
  option(undefined, (value) => value as Type)

/** A whole number from `least` to `most`. */
export const whole = <Usual extends number | undefined>(
  usual: Usual,
  least: number,
  most: number,
): Option<number | Usual> => option(usual, (value, name) => readWhole(value, name, least, most))

/** A boolean. */
export const boolean = <Usual extends boolean | undefined>(usual: Usual): Option<boolean | Usual> =>
  option(usual, (value, name) => readBoolean(value, `option ${name}`))

/** A string. */
export const string = <Usual extends string | undefined>(usual: Usual): Option<string | Usual> =>
  option(usual, (value, name) => {
    if (typeof value === 'string') return value
    throw new OptionError(`option ${name} must be a string, but it is ${show(value)}`)
  })

/** Throws OptionError unless `value`, which messages call `name`, is a boolean. */
export function readBoolean(value: unknown, name: string): boolean {
  if (typeof value === 'boolean') return value
  throw new OptionError(`${name} must be a boolean, but it is ${show(value)}`)
}

/** A function that the work calls. */
export const listener = <Report>(): Option<((report: Report) => void) | undefined> =>
  option(undefined, (value, name) => {
    if (typeof value === 'function') return value as (report: Report) => void
    throw new OptionError(`option ${name} must be a function, but it is ${show(value)}`)
  })

type Set = Readonly<Record<string, Option<unknown>>>

/** The set of options of an interface: of all of its names, and of no other. */
export type OptionsOf<Interface> = { readonly [Name in keyof Required<Interface>]: Option<unknown> }

/** Result of {@link Options.read}. */
export type ReadOf<From> =
  From extends Options<infer S> ? { -readonly [Name in keyof S]: S[Name]['usual'] } : never

/** The options of a function. */
export class Options<S extends Set> {
  readonly names: readonly (keyof S & string)[]
  readonly #usual: Record<string, unknown>
  readonly #byName: ReadonlyMap<string, Option<unknown>>
  readonly #mayBeLeftOut: boolean

  constructor(readonly set: S) {
    this.names = Object.keys(set)
    this.#byName = new Map(Object.entries(set))
    this.#usual = Object.fromEntries(this.names.map((name) => [name, set[name]!.usual]))
    this.#mayBeLeftOut = this.names.every((name) => !set[name]!.isRequired)
  }

  /** Reads what the user passed: each property once. `what` is what messages call it. */
  read(options: unknown, what: Name = 'options'): ReadOf<Options<S>> {
    const read = { ...this.#usual }
    if (this.#mayBeLeftOut && (options === undefined || isPlain(options))) {
      for (const name in options) {
        const option = this.#byName.get(name)
        if (option === undefined) throw unknownName(name, this.names, what)
        const value = options[name]
        if (value !== undefined) read[name] = option.read(value, name)
      }
    } else {
      // An object of a class may have getters, which a for-in loop doesn't find; querying all names takes
      // several times as long.
      assertNames(options, this.names, what)
      for (const [name, option] of this.#byName) {
        const value = (options as Record<string, unknown>)[name]
        if (value !== undefined || option.isRequired) read[name] = option.read(value, name)
      }
    }
    return read as ReadOf<Options<S>>
  }
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** Throws DTypeError unless `value` is an object that has these properties; `expected` says what it must be. */
export function assertObject(
  value: unknown,
  name: string,
  expected: string,
  properties: readonly string[] = [],
): asserts value is Record<string, unknown> {
  const isObject = typeof value === 'object' && value !== null
  const missing = isObject ? properties.find((property) => !(property in value)) : undefined
  if (isObject && missing === undefined) return
  const actual = missing === undefined ? typeName(value) : `an object without ${missing}`
  throw new DTypeError(`${name} must be ${expected}, but it is ${actual}`)
}

/** Throws OptionError unless `options` is an object without other properties than `names`; `what` is what it is called. */
export function assertNames(
  options: unknown,
  names: readonly string[],
  what: Name = 'options',
): asserts options is object {
  if (typeof options !== 'object' || options === null) {
    throw new OptionError(
      `${what} must be an object with properties such as ${show(names[0])}, but it is ${show(options)}`,
    )
  }
  for (const name in options) {
    if (!isOneOf(names, name)) throw unknownName(name, names, what)
  }
}

/** Returns names.includes(name), but faster: groups check each name of thousands of products. */
function isOneOf(names: readonly string[], name: string): boolean {
  for (let index = 0; index < names.length; index++) if (names[index] === name) return true
  return false
}

function unknownName(name: string, names: readonly string[], what: Name): OptionError {
  const place = what === 'options' ? '' : ` of ${what}`
  return new OptionError(`there is no option ${show(name)}${place}: expected ${showChoices(names)}`)
}

/** Returns the index of `value` in `choices`. Throws OptionError for option `name` if it is missing there. */
export function readChoice(choices: readonly string[], value: unknown, name: string): number {
  const index = choices.indexOf(value as string)
  if (index >= 0) return index
  throw new OptionError(`option ${name} must be ${showChoices(choices)}, but it is ${show(value)}`)
}

/**
 * Returns `value` if it is an integer from `least` to `most`. Throws OptionError for option `name` otherwise.
 */
export function readWhole(value: unknown, name: string, least: number, most: number): number {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most)
    return (value as number) + 0
  const limits = most >= Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`
  throw new OptionError(`option ${name} must be a whole number ${limits}, but it is ${show(value)}`)
}
