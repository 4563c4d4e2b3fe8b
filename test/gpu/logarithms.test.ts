/** Products over semirings of logarithms, on a GPU: the same bits as on the CPU. */
import { describe } from 'vitest'
import { named, withoutCuda } from '../support/machine.js'
import { logarithmsSuite } from '../support/suite-logarithms.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(named('cuda', reason), () => logarithmsSuite('cuda'))
