/** Failing allocations on a GPU. */
import { describe } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { faultSuite } from '../support/suite-faults.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () =>
  faultSuite('cuda'),
)
