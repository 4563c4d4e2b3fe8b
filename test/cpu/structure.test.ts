/** Products with structures, on the CPU. */
import { describe } from 'vitest'
import { structureSuite } from '../support/suite-structure.js'

describe('cpu', () => structureSuite('cpu'))
