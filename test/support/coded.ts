/** Expected rejection of a call. */
import { expect } from 'vitest'

/** Matches an error of the library with this code, whose message contains a text or matches a pattern. */
export const coded = (code: string, message: string | RegExp = '') =>
  expect.objectContaining({
    code: `ERR_MPMML_${code}`,
    message: typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
  })
