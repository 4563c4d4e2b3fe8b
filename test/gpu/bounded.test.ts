/** Products with bounded differences along K, on a GPU. */
import { describe } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { boundedSuite } from '../support/suite-bounded.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'bounded' : `bounded (skipped: ${reason})`, () =>
  boundedSuite('cuda'),
)
