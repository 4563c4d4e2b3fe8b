/** Products over semirings of logarithms, on a GPU: the same bits as on the CPU. */
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { logarithmsSuite } from '../support/suite-logarithms.js'

describeUnless(withoutCuda(), 'cuda', () => logarithmsSuite('cuda'))
