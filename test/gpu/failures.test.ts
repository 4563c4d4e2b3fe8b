/** Products on a device that fail or are aborted, on a GPU. */
import { describe } from 'vitest'
import { onOne } from '../support/homes.js'
import { withoutCuda } from '../support/machine.js'
import { failureSuite } from '../support/suite-failures.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () =>
  failureSuite(onOne('cuda'), { size: 4096, options: {}, inFlight: 70, stops: false }),
)
