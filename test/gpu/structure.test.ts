/** Products with structures, on a GPU. */
import { describe } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { structureSuite } from '../support/suite-structure.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () =>
  structureSuite('cuda'),
)
