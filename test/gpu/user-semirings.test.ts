/** Products over semirings that users write, on a GPU. */
import { describe } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { userSemiringSuite } from '../support/suite-user-semirings.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () =>
  userSemiringSuite('cuda'),
)
