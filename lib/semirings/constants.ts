/** Numbers of lanes: conversion to their types and bits, and arrays for them. */
import { show } from '../describe.js'
import { OptionError } from '../errors.js'
import { MAX_INT32, MIN_INT32 } from '../integers.js'
import type { LaneArray, LaneType } from '../user-semiring.js'

export const limits = { int32: [MIN_INT32, MAX_INT32], uint32: [0, 2 ** 32 - 1] } as const

/**
 * Returns a number in a lane type; float32 rounds it. `where` begins messages.
 *
 * @throws ArgumentError (ERR_MPMML_OPTION) if the value isn't a number, or an integer type can't represent
 * it.
 */
export function readNumber(value: unknown, type: LaneType, where: string): number {
  if (type === 'float32') {
    if (typeof value === 'number') return Math.fround(value)
    throw new OptionError(`${where} must be a number, but it is ${show(value)}`)
  }
  const [least, most] = limits[type]
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most)
    return (value as number) + 0
  throw new OptionError(
    `${where} must be an integer from ${least} to ${most}, to be of ${type}, but it is ${show(value)}`,
  )
}

const float = new Float32Array(1)
const floatBits = new Int32Array(float.buffer)
const NAN_BITS = 0x7fc00000

/** Returns the 32 bits of a number of a lane type as an int32. */
export function bitsOf(value: number, type: LaneType): number {
  if (type !== 'float32') return value | 0
  if (Number.isNaN(value)) return NAN_BITS
  float[0] = value
  return floatBits[0]!
}

/** Returns the number with the given bits: the inverse of {@link bitsOf}. */
export function numberOf(bits: number, type: LaneType): number {
  if (type === 'int32') return bits
  if (type === 'uint32') return bits >>> 0
  floatBits[0] = bits
  return float[0]!
}

const named = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
  ['-0', -0],
])

/** Returns a number in a form for JSON, which lacks infinities and NaN. */
export function numberToJson(value: number): number | string {
  if (Object.is(value, -0)) return '-0'
  return Number.isFinite(value) ? value : String(value)
}

/** Returns the number that a JSON value denotes; other values are returned unchanged, and rejected later. */
export const numberFromJson = (value: unknown): unknown =>
  typeof value === 'string' ? (named.get(value) ?? value) : value

/** Formats a number: float32 with the fewest digits that distinguish it from its neighbours. */
export function showNumber(value: number, type: LaneType): string {
  if (Object.is(value, -0)) return '-0'
  if (type === 'float32' && Number.isFinite(value)) {
    for (let digits = 1; digits < 9; digits++) {
      const short = Number(value.toPrecision(digits))
      if (Math.fround(short) === value) return String(short)
    }
  }
  return String(value)
}

const laneArrays = {
  int32: Int32Array,
  uint32: Uint32Array,
  float32: Float32Array,
} as const satisfies Record<LaneType, unknown>

/** Returns an array of zeros for a lane. */
export const laneOf = (type: LaneType, length: number): LaneArray => new laneArrays[type](length)
