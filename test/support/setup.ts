/** What every file of tests begins with. */
import { types } from 'node:util'
import { expect } from 'vitest'

const bytesOf = ({ buffer, byteOffset, byteLength }: NodeJS.TypedArray) =>
  Buffer.from(buffer, byteOffset, byteLength)

// `toEqual` takes seconds for a million elements, one by one. Of what isn't the same it shall say where, as it does.
expect.addEqualityTesters([
  (one: unknown, other: unknown) =>
    types.isTypedArray(one) &&
    types.isTypedArray(other) &&
    one.constructor === other.constructor &&
    bytesOf(one).equals(bytesOf(other))
      ? true
      : undefined,
])
