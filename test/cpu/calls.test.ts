/** Calls of products that stand alone, on the CPU. */
import { describe } from 'vitest'
import { callSuite } from '../support/suite-calls.js'

describe('cpu', () => callSuite('cpu'))
