/** Products of float32 and float64 on a GPU. */
import { describe } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { floatSuite } from '../support/suite-floats.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () =>
  floatSuite('cuda'),
)
