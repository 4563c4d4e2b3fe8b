/** Products of which only some elements count, on the CPU. */
import { describe } from 'vitest'
import { structureSuite } from '../support/suite-structure.js'

describe('cpu', () => structureSuite('cpu'))
