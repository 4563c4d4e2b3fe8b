/** Matrices that stay on a device, on a GPU. */
import { describe } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { deviceSuite } from '../support/suite-devices.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () =>
  deviceSuite('cuda'),
)
