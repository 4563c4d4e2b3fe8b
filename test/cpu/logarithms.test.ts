/** Products over semirings of logarithms, on the CPU. */
import { describe } from 'vitest'
import { logarithmsSuite } from '../support/suite-logarithms.js'

describe('cpu', () => logarithmsSuite('cpu'))
