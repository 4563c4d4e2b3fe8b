/** Best paths in combinations of batches, directions, sources, targets and methods, on a GPU. */
import { describe } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { crossedPaths } from '../support/suite-paths-crossed.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(
  reason === undefined ? 'best paths on a GPU' : `best paths on a GPU (skipped: ${reason})`,
  () => crossedPaths('cuda'),
)
