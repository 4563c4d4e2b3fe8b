/** Random calls on a GPU. */
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { fuzzSuite } from '../support/suite-fuzz.js'

describeUnless(withoutCuda(), 'cuda', () => fuzzSuite('cuda'))
