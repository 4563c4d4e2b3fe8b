/** Calls of single products, on the CPU. */
import { describe } from 'vitest'
import { callSuite } from '../support/suite-calls.js'

describe('cpu', () => callSuite('cpu'))
