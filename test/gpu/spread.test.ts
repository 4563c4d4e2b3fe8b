/** Matrices sharded over several simulated devices, each of which is the same GPU. */
import { describe } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { spreadSuite } from '../support/suite-sharded.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () =>
  spreadSuite('cuda'),
)
