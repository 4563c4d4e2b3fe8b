/** Products over custom semirings, on the CPU. */
import { describe } from 'vitest'
import { userSemiringSuite } from '../support/suite-user-semirings.js'

describe('cpu', () => userSemiringSuite('cpu'))
