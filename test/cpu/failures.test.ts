/** Failing and aborted products on a device, on the CPU. */
import { describe } from 'vitest'
import { variants } from '../../lib/index.js'
import { onOne } from '../support/homes.js'
import { failureSuite } from '../support/suite-failures.js'

// The naive variant, because faster variants end before the test can act.
const naive = variants().find(({ family, semiring }) => family === 'naive' && semiring === 'max-plus')!

describe('cpu', () =>
  failureSuite(onOne('cpu'), { size: 900, options: { variant: naive.name }, inFlight: 1, stops: true }))
