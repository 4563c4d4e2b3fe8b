/** Products on several devices, each of which is the CPU. */
import { describe } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { severalSuite } from '../support/suite-multi-device.js'

// If a GPU exists, the simulated devices are that GPU, not the CPU.
const hasCuda = withoutCuda() === undefined

describe.skipIf(hasCuda)(hasCuda ? 'cpu (skipped: there is a GPU)' : 'cpu', () => severalSuite('cpu'))
