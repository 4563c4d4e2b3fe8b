/** Winning indices, closures, paths and cycle means: what they cost, and if they are right. */
import { batched, hostToHost, resident, shareOfProduct } from './graph/all-pairs.js'
import { sparseNetwork } from './graph/network.js'
import { againstSciPy } from './graph/scipy.js'
import { witnessCases, witnessOnOneCore } from './graph/witness.js'
import type { Suite } from './suite.js'

export const graph: Suite = {
  shows: 'the winning index beside each product, all shortest distances and paths, and cycle means',
  grid(bench) {
    const nodes = bench.pick(100, 8192, 1024)
    const many = bench.pick(200, 32_768, 2048)
    const some = bench.pick(100, 4096, 1024)
    const count = bench.pick(20, 10_000, 1000)
    return [
      ...witnessCases(bench),
      [`${nodes} nodes, resident`, () => resident(bench, nodes)],
      [`${many} nodes, resident`, () => shareOfProduct(bench, many)],
      [`${some} nodes, arrays`, () => hostToHost(bench, some)],
      [`${count} graphs`, () => batched(bench, count, bench.quick ? 16 : 64)],
      // What doesn't need a GPU, and is asked of any machine.
      ['all distances on the CPU, and by SciPy', () => againstSciPy(bench, bench.quick ? 100 : 2048)],
      ['witness on one core', () => witnessOnOneCore(bench)],
      ['cycle mean', () => sparseNetwork(bench)],
    ]
  },
}
