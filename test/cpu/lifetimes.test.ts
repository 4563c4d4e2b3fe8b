/** How matrices on a device end, on the CPU. */
import { describe } from 'vitest'
import { lifetimeSuite } from '../support/suite-lifetimes.js'

describe('cpu', () => lifetimeSuite('cpu', { size: 700, options: {} }))
