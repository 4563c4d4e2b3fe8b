/** Matrices sharded over several simulated devices, each of which is the same GPU. */
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { spreadSuite } from '../support/suite-sharded.js'

describeUnless(withoutCuda(), 'cuda', () => spreadSuite('cuda'))
