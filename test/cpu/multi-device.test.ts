/** Products on several devices, each of which is the CPU. */
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { multiDeviceSuite } from '../support/suite-multi-device.js'

// If a GPU exists, the simulated devices are that GPU, not the CPU.
const hasCuda = withoutCuda() === undefined

describeUnless(hasCuda && 'there is a GPU', 'cpu', () => multiDeviceSuite('cpu'))
