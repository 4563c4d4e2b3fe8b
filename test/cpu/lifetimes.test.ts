/** Lifetime of matrices on a device, on the CPU. */
import { describe } from 'vitest'
import { onOne } from '../support/homes.js'
import { lifetimeSuite } from '../support/suite-lifetimes.js'

describe('cpu', () => lifetimeSuite(onOne('cpu'), { size: 700, options: {} }))
