/** Random calls on a GPU. */
import { describe } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { fuzzSuite } from '../support/suite-fuzz.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () =>
  fuzzSuite('cuda'),
)
