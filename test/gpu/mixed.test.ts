/** Concurrent calls of all kinds, on a GPU. */
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { mixedSuite } from '../support/suite-mixed.js'

describeUnless(withoutCuda(), 'cuda', () => mixedSuite('cuda', 300))
