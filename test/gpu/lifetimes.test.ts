/** How matrices on a device end, on a GPU. */
import { describe } from 'vitest'
import { onOne } from '../support/homes.js'
import { withoutCuda } from '../support/machine.js'
import { lifetimeSuite } from '../support/suite-lifetimes.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () =>
  lifetimeSuite(onOne('cuda'), { size: 4096, options: {} }),
)
