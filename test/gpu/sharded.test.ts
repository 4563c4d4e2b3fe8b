/** Matrices sharded over several simulated devices, each of which is the same GPU. */
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { shardedSuite } from '../support/suite-sharded.js'

describeUnless(withoutCuda(), 'cuda', () => shardedSuite('cuda'))
