/** What reading options has in common. */
import { type Name, show, showChoices } from './describe.js'
import { OptionError } from './errors.js'

/** Throws OptionError unless `options` is an object without other properties than `names`; `what` is what it is called. */
export function requireNames(
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
    if (!names.includes(name)) {
      const place = what === 'options' ? '' : ` of ${what}`
      throw new OptionError(`there is no option ${show(name)}${place}: expected ${showChoices(names)}`)
    }
  }
}

/** The index in `choices` of what was given as option `name`. */
export function readChoice(choices: readonly string[], value: unknown, name: string): number {
  const index = choices.indexOf(value as string)
  if (index >= 0) return index
  throw new OptionError(`option ${name} must be ${showChoices(choices)}, but it is ${show(value)}`)
}

/** What was given as option `name`, which must be a boolean. */
export function readBoolean(value: unknown, name: string): boolean {
  if (typeof value === 'boolean') return value
  throw new OptionError(`option ${name} must be a boolean, but it is ${show(value)}`)
}

/** What was given as option onProgress. */
export function readListener<Told>(value: unknown): ((told: Told) => void) | undefined {
  if (value === undefined || typeof value === 'function') return value as (told: Told) => void
  throw new OptionError(`option onProgress must be a function, but it is ${show(value)}`)
}
