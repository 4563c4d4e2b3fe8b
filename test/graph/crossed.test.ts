/** Best paths in combinations of batches, directions, sources, targets and methods, on the CPU. */
import { describe } from 'vitest'
import { crossedPaths } from '../support/suite-paths-crossed.js'

describe('best paths', () => crossedPaths('cpu'))
