/** Concurrency of products and other work, on a GPU. */
import { withoutCuda } from '../support/machine.js'
import { runningSuite } from '../support/running-suite.js'
import { describeUnless } from '../support/skip.js'

describeUnless(withoutCuda(), 'cuda', () => {
  runningSuite({ size: 6000, options: { variant: 'ladder_maxplus_i32_naive_32x32_coalesced' } })
})
