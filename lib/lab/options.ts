/** The options of the laboratory's calls: native code takes only what is in its range, and none that is left out. */
import { device } from '../backend.js'
import { show } from '../describe.js'
import { OptionError } from '../errors.js'
import { MAX_INT32 } from '../integers.js'
import type { LabLaunches } from '../native.js'
import { type OptionsOf, option, readWhole, required, whole } from '../options.js'

/** A number of elements. */
export const size = whole(undefined, 1, MAX_INT32)
export const requiredSize = (most = MAX_INT32) => required((value, name) => readWhole(value, name, 1, most))
/** Timed launches. */
export const repetitions = whole(undefined, 1, 1e6)
/** The first device, if none is named. */
export const deviceOrFirst = { ...device, usual: 0 }
export const launchesSet = {
  repetitions,
  warmup: whole(undefined, 0, 1e6),
  device: deviceOrFirst,
} satisfies OptionsOf<LabLaunches>

/** A number, not necessarily a whole one. */
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
