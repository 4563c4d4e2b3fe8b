/** Every variant of the CPU. */
import { describe } from 'vitest'
import { variantSuite } from '../support/suite-variants.js'

describe('cpu', () => variantSuite('cpu'))
