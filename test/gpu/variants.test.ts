/** Every variant of CUDA. */
import { describe } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { variantSuite } from '../support/suite-variants.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () =>
  variantSuite('cuda'),
)
