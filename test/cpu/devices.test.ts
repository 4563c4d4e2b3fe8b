/** Matrices that stay on a device, on the CPU. */
import { describe } from 'vitest'
import { deviceSuite } from '../support/suite-devices.js'

describe('cpu', () => deviceSuite('cpu'))
