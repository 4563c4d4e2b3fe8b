/** Products with structures, on a GPU. */
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { structureSuite } from '../support/suite-structure.js'

describeUnless(withoutCuda(), 'cuda', () => structureSuite('cuda'))
