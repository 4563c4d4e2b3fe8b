/** Converts edge lists to matrices. */

import { type Edges, isNode, wrongNode } from '../graph-core/edges.js'
import { PER_SLICE, type Steps } from '../graph-core/slices.js'
import type { DenseMatrix } from '../matrix.js'
import type { ElementArray } from '../storage.js'
import { assertWeight, weightsOf } from './keyed.js'
import type { PathRules } from './rules.js'
import { makeArray } from './search.js'

/**
 * Returns the matrix of an edge list: the best weight of parallel edges, and the semiring's zero where no
 * edge exists.
 */
export function* denseMatrix(edges: Edges, rules: PathRules, type: number): Steps<DenseMatrix<ElementArray>> {
  const { nodes, from, to } = edges
  const data = makeArray('the distances', type, [1, nodes, nodes])
  const perStep = 64 * PER_SLICE
  for (let at = 0; at < data.length; at += perStep) {
    data.fill(rules.zero, at, at + perStep)
    yield
  }
  const weights = weightsOf(edges, rules)
  for (let e = 0; e < from.length; e++) {
    if (e % PER_SLICE === PER_SLICE - 1) yield
    const weight = weights ? weights[e]! : 1
    if (!(weight > 0)) assertWeight(rules, weight, () => `weight[${e}]`)
    const [i, j] = [from[e], to[e]]
    if (!isNode(i, nodes)) wrongNode(i, nodes, `from[${e}]`)
    if (!isNode(j, nodes)) wrongNode(j, nodes, `to[${e}]`)
    const position = i * nodes + j
    // In or-and any byte except 0 is true, so taking the greatest byte of parallel edges is correct.
    if (rules.maximizes ? weight > data[position]! : weight < data[position]!) data[position] = weight
  }
  return { data, shape: [nodes, nodes], strides: [nodes, 1], offset: 0 }
}
