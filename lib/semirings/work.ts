/** Registers the implementation of custom semirings with the rest of the library. */
import { provideUserWork } from '../user-semiring.js'
import { algebraOf } from './algebra.js'
import { power, star } from './powers.js'

provideUserWork({ algebraOf, power, star })
