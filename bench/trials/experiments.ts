/** What is measured in processes of their own, by name. */
import { oneCore } from '../suites/graph/witness.js'
import { suites } from '../suites/names.js'
import { inTrial } from '../suites/suite.js'
import { products } from '../timing/products.js'
import type { Trialled } from './protocol.js'

const ofSuites = Object.entries(suites).map(([name, suite]) => [`suite ${name}`, inTrial(suite)] as const)

export const experiments = new Map<string, Trialled<never, unknown>>([
  ...ofSuites,
  ['products', products],
  ['one core', oneCore],
])
