/** Failing allocations on the CPU. */
import { describe } from 'vitest'
import { faultSuite } from '../support/suite-faults.js'

describe('cpu', () => faultSuite('cpu'))
