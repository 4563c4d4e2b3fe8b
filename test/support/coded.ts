/** What a call must reject with. */
import { expect } from 'vitest'

/** An error of the library with this code, whose message matches. */
export const coded = (code: string, message?: string | RegExp) =>
  expect.objectContaining({
    code: `ERR_MPMML_${code}`,
    ...(message !== undefined && { message: expect.stringMatching(message) }),
  })
