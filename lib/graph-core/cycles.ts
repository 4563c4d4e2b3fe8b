/** Form of cycles in results and errors. */
import { show } from '../describe.js'
import { CycleError } from '../errors.js'
import { type NodeNames, nodeText } from './names.js'

/**
 * Returns the index of the least node. Cycles start there, so that the result doesn't depend on where a
 * search found the cycle.
 */
export const leastOf = (cycle: readonly number[]): number =>
  cycle.reduce((best, node, at) => (node < cycle[best]! ? at : best), 0)

/** Rotates a cyclic list so that it starts at index `first`. */
export const rotated = <T>(list: readonly T[], first: number): T[] => [
  ...list.slice(first),
  ...list.slice(0, first),
]

/** A cycle that gains. */
export interface ImprovingCycle {
  /** Nodes of the cycle, in order. */
  readonly nodes: readonly number[]
  /** Product of the weights of its edges by the semiring's ⊗. */
  readonly weight: number
  /** The index of the matrix, if it is one of a batch. */
  readonly batch: number | undefined
}

/** Rule that decides whether a cycle is improving: its weight is better than the semiring's one. */
export interface ImprovementRule {
  readonly maximizes: boolean
  /** The value of the empty path. */
  readonly one: number
}

const MAX_SHOWN = 8

/** Returns the error for a cycle that gains. */
export function cycleError(
  { nodes, weight, batch }: ImprovingCycle,
  { maximizes, one }: ImprovementRule,
  names: NodeNames | null = null,
): CycleError {
  const cycle = rotated(nodes, leastOf(nodes))
  const where = batch === undefined ? '' : ` in matrix ${batch} of the batch`
  return new CycleError(
    `the cycle ${cycleText(cycle, names)}${where} has the weight ${show(weight)}, ${maximizes ? 'above' : 'below'} ${one}, ` +
      'so it gains: each round makes a path better, and there is no best one. Change the weight of one of its edges',
    { cycle, weight, batch, keys: names ? cycle.map((node) => names.keys[node]) : undefined },
  )
}

/** "0 → 3 → 0" */
export function cycleText(cycle: readonly number[], names: NodeNames | null): string {
  const text = (node: number) => nodeText(node, names)
  const shown = cycle.slice(0, MAX_SHOWN).map(text)
  return [...shown, ...(cycle.length > MAX_SHOWN ? ['…'] : []), text(cycle[0]!)].join(' → ')
}
