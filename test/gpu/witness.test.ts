/** The argmax index of each result, on a GPU. */
import { describe } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { witnessSuite } from '../support/suite-witness.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () =>
  witnessSuite('cuda'),
)
