/** Matrices that stay on a device, on a GPU. */
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { deviceSuite } from '../support/suite-devices.js'

describeUnless(withoutCuda(), 'cuda', () => deviceSuite('cuda'))
