/** Paths that a closure can't find directly, on a GPU, which never falls back to a search on the CPU. */
import { expect, it } from 'vitest'
import { shortestPaths, verifyPaths } from '../../lib/graph.js'
import { matrix } from '../../lib/index.js'
import { expectError } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { balanced, pathsAgain } from '../support/suite-paths-again.js'

describeUnless(withoutCuda(), 'cuda', () => {
  pathsAgain('cuda')

  it('has no paths around cycles of float64 with weight 0, or reports why not', async () => {
    const random = new Random(64)
    const seen = { found: 0, refused: 0 }
    for (let round = 0; round < 300; round++) {
      const nodes = random.integer(3, 12)
      const weights = matrix(nodes, nodes, balanced(random, nodes, Float64Array) as Float64Array)
      try {
        const result = await shortestPaths(weights, { backend: 'cuda', paths: true })
        expect(result.backend).toBe('cuda')
        await verifyPaths(weights, result)
        seen.found++
      } catch (error) {
        expectError(error, 'OPTION', "backend 'cuda'", 'leave backend out')
        expect((await shortestPaths(weights, { paths: true })).distances.data).toHaveLength(nodes * nodes)
        seen.refused++
      }
    }
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(0)
  })
})
