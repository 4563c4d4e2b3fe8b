/** Products on several devices, each of which is the same GPU. */
import { describe } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { severalSuite } from '../support/suite-several.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () =>
  severalSuite('cuda'),
)
