/** The argmax index of each result, on a GPU. */
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { witnessSuite } from '../support/suite-witness.js'

describeUnless(withoutCuda(), 'cuda', () => witnessSuite('cuda'))
