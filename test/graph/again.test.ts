/** Paths that a closure can't answer at once, on the CPU. */
import { describe, expect, it } from 'vitest'
import { shortestPaths, verifyPaths } from '../../lib/graph.js'
import { matrix } from '../../lib/index.js'
import { Random } from '../support/generators.js'
import { balanced, pathsAgain } from '../support/suite-paths-again.js'

describe('cpu', () => {
  pathsAgain('cpu')

  it('cycles of float64 that weigh nothing lead nobody round', async () => {
    const random = new Random(64)
    for (let round = 0; round < 1000; round++) {
      const nodes = random.integer(3, 12)
      const weights = matrix(nodes, nodes, balanced(random, nodes, Float64Array) as Float64Array)
      const result = await shortestPaths(weights, { paths: true })
      expect(await verifyPaths(weights, result)).toMatchObject({ paths: nodes * nodes })
    }
  })
})
