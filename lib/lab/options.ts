/**
 * Options of the laboratory's calls. Native code requires values in range, and omitted options must be
 * absent.
 */
import { device } from '../backend.js'
import { show } from '../describe.js'
import { OptionError } from '../errors.js'
import { MAX_INT32 } from '../integers.js'
import type { LabLaunches } from '../native.js'
import { type OptionsOf, option, readWhole, required, whole } from '../options.js'

/** Option for a number of elements. */
export const size = whole(undefined, 1, MAX_INT32)
export const requiredSize = (most = MAX_INT32) => required((value, name) => readWhole(value, name, 1, most))
/** Option for the number of timed launches. */
export const repetitions = whole(undefined, 1, 1e6)
/** Option for a device; the first device by default. */
export const deviceOrFirst = { ...device, usual: 0 }
export const launchesSet = {
  repetitions,
  warmup: whole(undefined, 0, 1e6),
  device: deviceOrFirst,
} satisfies OptionsOf<LabLaunches>

/** Returns an option for a number that may be fractional. */
export const fraction = (least: number, most: number) =>
  option(undefined, (value, name) => {
    if (typeof value === 'number' && value >= least && value <= most) return value
    throw new OptionError(
      `option ${name} must be a number from ${least} to ${most}, but it is ${show(value)}`,
    )
  })

/** Returns the fields that are set. */
export const given = <Read extends object>(read: Read): Read =>
  Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined)) as Read
