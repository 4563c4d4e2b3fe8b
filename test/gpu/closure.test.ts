/** Closures and powers, on a GPU. */
import { describe } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { closureSuite } from '../support/suite-closure.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () =>
  closureSuite('cuda'),
)
