/** Experiments for subprocesses, by name, because functions can't be sent to another process. */
import type { Experiment } from '../experiment.js'
import { kernels } from '../kernels/check.js'
import { firstCalls } from '../suites/cold.js'
import { suites } from '../suites/names.js'
import { inTrial } from '../suites/suite.js'
import { products } from '../timing/products.js'

const ofSuites = Object.entries(suites).map(([name, suite]) => [`suite ${name}`, inTrial(suite)] as const)

export const experiments = new Map<string, Experiment<never, unknown>>([
  ...ofSuites,
  ['products', products],
  ['first calls', firstCalls],
  ['kernels', kernels],
])
