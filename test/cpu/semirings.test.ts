/** Products over the semirings without sums, on the CPU. */
import { describe } from 'vitest'
import { semiringSuite } from '../support/suite-semirings.js'

describe('cpu', () => semiringSuite('cpu'))
