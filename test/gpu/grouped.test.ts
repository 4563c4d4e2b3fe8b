/** Groups of products, on a GPU. */
import { describe } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { groupedSuite } from '../support/suite-grouped.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () =>
  groupedSuite('cuda'),
)
