/** Concurrency of products and other work, on the CPU. */
import { describe } from 'vitest'
import { variants } from '../../lib/index.js'
import { runningSuite } from '../support/running-suite.js'

// The naive variant, because faster variants end before the test can act.
const naive = variants().find(({ family, semiring }) => family === 'naive' && semiring === 'max-plus')!

describe('cpu', () => runningSuite({ size: 900, options: { variant: naive.name } }))
