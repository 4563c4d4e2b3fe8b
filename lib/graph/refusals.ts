/** Errors for graph queries that native code rejects. */
import { OptionError, OutOfMemoryError, OverflowError, ValueError } from '../errors.js'
import { cycleError } from '../graph-core/cycles.js'
import { wrongNode } from '../graph-core/edges.js'
import { type NodeNames, nodeText } from '../graph-core/names.js'
import type { GraphRefusal } from '../native.js'
import { finiteOf, outsideError } from '../overflow.js'
import { exactWeight } from './cycles.js'
import { assertWeight, type Graph } from './keyed.js'
import type { PathRules } from './rules.js'

/**
 * `backward`: whether the search ran backward; `item`: index of the matrix in the batch, if the query has a
 * batch.
 */
export function refusalError(
  refusal: GraphRefusal,
  graph: Graph,
  rules: PathRules,
  backward: boolean,
  item: number | undefined,
): Error {
  const { kind, at, cycle, keys } = refusal
  const names = 'edges' in graph ? graph.edges.names : null
  switch (kind) {
    case 'nan':
    case 'negative':
      return wrongWeight(graph, at, rules)
    case 'from':
    case 'to':
      return wrongEnd(graph, kind, at)
    case 'gains':
      return new OptionError(
        'option limit is for weights of which none makes a path better, because what is farther is not searched, but one of them does: leave it out',
      )
    case 'cycle': {
      const nodes = backward ? [...cycle].reverse() : [...cycle]
      return cycleError({ nodes, weight: exactWeight(rules, [...keys]).weight, batch: item }, rules, names)
    }
    case 'inexact':
      return inexact()
    case 'overflow':
      return overflowError(refusal.value, refusal.from, refusal.to, item, rules, names)
    case 'undivided':
      return new OptionError(
        "method 'dissection' can't answer this: it isn't for `paths` of sums or products that are rounded, nor for edges of them that " +
          'make paths better, nor if a cycle gains where none of the asked paths goes, nor if the separators of the graph take more ' +
          'memory than there is: leave the method out',
      )
    case 'too many':
      return new OutOfMemoryError('the graph has more edges than can be numbered: use a smaller one')
  }
}

/** Returns the error that `check` throws. */
function thrownBy(check: () => void): Error {
  try {
    check()
  } catch (error) {
    return error as Error
  }
  return new ValueError(
    'the weights were changed while they were read: write to them when the promise is settled',
  )
}

function wrongWeight(graph: Graph, at: number, rules: PathRules): Error {
  if ('edges' in graph) {
    const value = graph.edges.weight[at]!
    if (Number.isNaN(value))
      return new ValueError(`weight[${at}] is NaN, which no path can be compared with: leave the edge out`)
    return thrownBy(() => assertWeight(rules, value, () => `weight[${at}]`))
  }
  const { matrix, item } = graph
  const [row, col] = [Math.floor(at / matrix.rows), at % matrix.rows]
  const position = matrix.offset + item * matrix.batchStride + row * matrix.rowStride + col * matrix.colStride
  const where = `graph[${matrix.batched ? `${item}, ` : ''}${row}, ${col}]`
  return thrownBy(() => assertWeight(rules, matrix.data[position]!, () => where))
}

const wrongEnd = (graph: Graph, end: 'from' | 'to', at: number): Error =>
  thrownBy(() => {
    if ('edges' in graph) wrongNode(graph.edges[end][at], graph.edges.nodes, `${end}[${at}]`)
  })

const inexact = () =>
  new OverflowError(
    'the sum of the weights of a path is beyond 2^53, so it is not exact: scale the weights, or use a Float64Array, whose sums are rounded',
  )

/** Returns the error for an integer distance that the overflow policy doesn't allow. */
export function overflowError(
  value: number,
  from: number,
  to: number,
  item: number | undefined,
  { maximizes }: Pick<PathRules, 'maximizes'>,
  names: NodeNames | null,
): OverflowError {
  const text = (node: number) => nodeText(node, names)
  const where = item === undefined ? '' : ` in matrix ${item} of the batch`
  return outsideError(
    `the distance from ${text(from)} to ${text(to)}${where}`,
    value,
    finiteOf(maximizes),
    "use weights in a Float64Array, or choose overflow 'saturate' or 'wrap'",
  )
}
