/** Groups of products, on the CPU. */
import { describe } from 'vitest'
import { groupedSuite } from '../support/suite-grouped.js'

describe('cpu', () => groupedSuite('cpu'))
