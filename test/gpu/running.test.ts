/** Concurrency of products and other work, on a GPU. */
import { describe } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { runningSuite } from '../support/running-suite.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () => {
  runningSuite({ size: 6000, options: { variant: 'ladder_maxplus_i32_naive_32x32_coalesced' } })
})
