/** Devices that finish their work after the call returns, as a GPU does, simulated on the CPU. */
import { afterAll, beforeAll, describe } from 'vitest'
import { addon } from '../../lib/native.js'
import { onOne } from '../support/homes.js'
import { deviceSuite } from '../support/suite-devices.js'
import { failureSuite } from '../support/suite-failures.js'
import { lifetimeSuite } from '../support/suite-lifetimes.js'

describe.each([0.05, 1])('work that takes %d ms', (milliseconds) => {
  beforeAll(() => addon.delayWork(milliseconds))
  afterAll(() => addon.delayWork(0))

  deviceSuite('cpu')
  lifetimeSuite(onOne('cpu'), { size: 200, options: {} })
  failureSuite(onOne('cpu'), { size: 200, options: {}, inFlight: 70, stops: false })
})
