/** Products of every semiring and element type at every target, on the CPU. */
import { describe } from 'vitest'
import { productSuite } from '../support/suite-products.js'

describe('cpu', () => productSuite('cpu'))
