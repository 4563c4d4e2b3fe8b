/** Tells the rest of the library that semirings of users are there. */
import { provideUserWork } from '../user-semiring.js'
import { algebraOf } from './algebra.js'
import { power, star } from './powers.js'

provideUserWork({ algebraOf, power, star })
