/** Reads the options of the laboratory's calls: native code takes only what is an integer in its range. */
import { show, showChoices } from '../describe.js'
import { OptionError } from '../errors.js'

/** The values that an option may have; integers unless `fraction`. */
interface Range {
  least: number
  most: number
  fraction?: true
}

/** `options` with the numbers checked: every property must be in `ranges` or among `others`. */
export function readNumbers<Name extends string>(
  options: unknown,
  ranges: Readonly<Record<Name, Range>>,
  others: readonly string[] = [],
): Partial<Record<Name, number>> {
  if (options === undefined) return {}
  if (typeof options !== 'object' || options === null) {
    throw new OptionError(`options must be an object, but it is ${show(options)}`)
  }
  const read: Partial<Record<Name, number>> = {}
  for (const [name, value] of Object.entries(options)) {
    if (others.includes(name) || value === undefined) continue
    const range = Object.hasOwn(ranges, name) ? ranges[name as Name] : undefined
    if (!range) {
      const known = [...Object.keys(ranges), ...others]
      throw new OptionError(`there is no option ${show(name)}: expected ${showChoices(known)}`)
    }
    if (
      typeof value !== 'number' ||
      !(value >= range.least && value <= range.most) ||
      !(range.fraction || Number.isInteger(value))
    ) {
      const kind = range.fraction ? 'a number' : 'an integer'
      throw new OptionError(
        `option ${name} must be ${kind} from ${range.least} to ${range.most}, but it is ${show(value)}`,
      )
    }
    read[name as Name] = value
  }
  return read
}

/** `read` with `names` in it; throws OptionError if one is missing. */
export function withNumbers<Name extends string, Needed extends Name>(
  read: Partial<Record<Name, number>>,
  names: readonly Needed[],
): Partial<Record<Name, number>> & Record<Needed, number> {
  for (const name of names) {
    if (read[name] === undefined)
      throw new OptionError(`option ${name} is missing: this has no default for it`)
  }
  return read as Partial<Record<Name, number>> & Record<Needed, number>
}

const MAX_INT32 = 2147483647

export const size = { least: 1, most: MAX_INT32 }
export const repetitions = { least: 1, most: 1e6 }
export const warmup = { least: 0, most: 1e6 }
export const device = { least: 0, most: 65535 }
