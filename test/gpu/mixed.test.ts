/** Concurrent calls of all kinds, on a GPU. */
import { describe } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { mixedSuite } from '../support/suite-mixed.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () =>
  mixedSuite('cuda', 300),
)
