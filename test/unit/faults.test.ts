/** Simulated failures of allocations in the CPU backend. */
import { describe } from 'vitest'
import { faultSuite } from '../support/suite-faults.js'

describe('cpu', () => faultSuite('cpu'))
