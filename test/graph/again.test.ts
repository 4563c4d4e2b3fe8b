/** Paths that a closure can't find directly, on the CPU. */
import { describe, expect, it } from 'vitest'
import { shortestPaths, verifyPaths } from '../../lib/graph.js'
import { matrix } from '../../lib/index.js'
import { Random } from '../support/generators.js'
import { balanced, pathsAgain } from '../support/suite-paths-again.js'

describe('cpu', () => {
  pathsAgain('cpu')

  it('finds no endless paths around cycles of float64 with weight 0', async () => {
    const random = new Random(64)
    for (let round = 0; round < 1000; round++) {
      const nodes = random.integer(3, 12)
      const weights = matrix(nodes, nodes, balanced(random, nodes, Float64Array) as Float64Array)
      const result = await shortestPaths(weights, { paths: true })
      expect(await verifyPaths(weights, result)).toMatchObject({ paths: nodes * nodes })
    }
  })
})
