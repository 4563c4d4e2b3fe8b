/** How matrices on a device end, on a GPU. */
import { describe } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { lifetimeSuite } from '../support/suite-lifetimes.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () =>
  lifetimeSuite('cuda', { size: 4096, options: {} }),
)
