/** Groups of products, on a GPU. */
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { groupedSuite } from '../support/suite-grouped.js'

describeUnless(withoutCuda(), 'cuda', () => groupedSuite('cuda'))
