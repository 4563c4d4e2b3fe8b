/** Products of float32 and float64 on the CPU. */
import { describe } from 'vitest'
import { floatSuite } from '../support/suite-floats.js'

describe('cpu', () => floatSuite('cpu'))
