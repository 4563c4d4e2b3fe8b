/** Tells the rest of the library that semirings of users are there. */
import { provideUserWork } from '../user-semiring.js'
import { multiplyGrouped } from './grouped.js'
import { power, star } from './powers.js'
import { multiply, multiplySync, plan } from './product.js'
import { isUserSemiring } from './semiring.js'

provideUserWork({ isOne: isUserSemiring, multiply, multiplySync, multiplyGrouped, plan, power, star })
