/** Setup of every test file. */
import { types } from 'node:util'
import { expect } from 'vitest'

const bytesOf = ({ buffer, byteOffset, byteLength }: NodeJS.TypedArray) =>
  Buffer.from(buffer, byteOffset, byteLength)

// `toEqual` takes seconds for a million elements. This equality is fast for equal arrays; for others `toEqual` finds the difference.
expect.addEqualityTesters([
  (one: unknown, other: unknown) =>
    types.isTypedArray(one) &&
    types.isTypedArray(other) &&
    one.constructor === other.constructor &&
    bytesOf(one).equals(bytesOf(other))
      ? true
      : undefined,
])
