/** Matrices sharded over several simulated devices, each of which is the CPU. */
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { shardedSuite } from '../support/suite-sharded.js'

// If a GPU exists, the simulated devices are that GPU, not the CPU.
const hasCuda = withoutCuda() === undefined

describeUnless(hasCuda && 'there is a GPU', 'cpu', () => shardedSuite('cpu'))
