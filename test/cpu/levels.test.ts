/** Products of few levels within lines, on the CPU. */
import { describe } from 'vitest'
import { levelsSuite } from '../support/suite-levels.js'

describe('levels', () => levelsSuite('cpu'))
