/** Best paths where batches, directions, sources, places and methods meet. */
import { describe } from 'vitest'
import { crossedPaths } from '../support/suite-paths-crossed.js'

describe('best paths', () => crossedPaths('cpu'))
