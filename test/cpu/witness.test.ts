/** Which k decides each result, on the CPU. */
import { describe } from 'vitest'
import { witnessSuite } from '../support/suite-witness.js'

describe('cpu', () => witnessSuite('cpu'))
