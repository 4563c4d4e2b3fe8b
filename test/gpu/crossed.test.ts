/** Best paths in combinations of batches, directions, sources, targets and methods, on a GPU. */
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { crossedPaths } from '../support/suite-paths-crossed.js'

describeUnless(withoutCuda(), 'best paths on a GPU', () => crossedPaths('cuda'))
