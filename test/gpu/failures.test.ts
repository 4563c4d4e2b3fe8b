/** Products on a device that fail or are aborted, on a GPU. */
import { onOne } from '../support/homes.js'
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { failureSuite } from '../support/suite-failures.js'

describeUnless(withoutCuda(), 'cuda', () =>
  failureSuite(onOne('cuda'), { size: 4096, options: {}, inFlight: 70, stops: false }),
)
