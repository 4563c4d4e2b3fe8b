/** The whole contract of a product, on the CPU. */
import { describe } from 'vitest'
import { productSuite } from '../support/suite.js'

describe('cpu', () => productSuite('cpu'))
