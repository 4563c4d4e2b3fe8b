/** Closures and powers, on a GPU. */
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { closureSuite } from '../support/suite-closure.js'

describeUnless(withoutCuda(), 'cuda', () => closureSuite('cuda'))
