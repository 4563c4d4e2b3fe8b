/** Failing allocations on a GPU. */
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { faultSuite } from '../support/suite-faults.js'

describeUnless(withoutCuda(), 'cuda', () => faultSuite('cuda'))
