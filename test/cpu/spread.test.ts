/** Matrices spread among devices, each of which is the CPU. */
import { describe } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { spreadSuite } from '../support/suite-sharded.js'

// With a GPU, that is what is pretended to be several.
const hasCuda = withoutCuda() === undefined

describe.skipIf(hasCuda)(hasCuda ? 'cpu (skipped: there is a GPU)' : 'cpu', () => spreadSuite('cpu'))
