/** Products with bounded differences along K, on the CPU. */
import { describe } from 'vitest'
import { boundedSuite } from '../support/suite-bounded.js'

describe('bounded', () => boundedSuite('cpu'))
