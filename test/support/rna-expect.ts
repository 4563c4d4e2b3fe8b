/** Checks of the results of folding and interaction. */
import { expect } from 'vitest'
import type { InteractionWindow } from '../../lib/rna.js'
import { expectSame } from './expect.js'
import type { Random } from './generators.js'
import { type BasePair, fault, type Model, weightOf } from './rna-oracle.js'

export function randomStrand(random: Random, length: number): string {
  return Array.from({ length }, () => 'ACGU'[random.integer(0, 3)]).join('')
}

/** Checks the pairs of a strand, and returns their weight. */
export function scoreOfPairs(
  strand: string,
  pairs: readonly BasePair[],
  { weights, minLoop = 3 }: Model,
): number {
  let score = 0
  for (const [i, j] of pairs) {
    expectSame(j - i > minLoop, true)
    const weight = weightOf(strand[i]!, strand[j]!, weights)
    expectSame(weight > 0, true)
    score += weight
  }
  expect(fault({ within1: pairs, within2: [], between: [] })).toBe('')
  return score
}

/** Checks that the pairs of a result are a structure of its score, and agree with its text. */
export function expectStructure(
  strand1: string,
  strand2: string,
  found: InteractionWindow,
  model: Model = {},
): void {
  const { within1, within2, between } = found.pairs
  const last = strand2.length - 1
  const turn = (j: number) => (model.antiparallel === false ? j : last - j)
  const reversedStrand = {
    within1,
    within2: within2.map(([i, j]) => [turn(i), turn(j)].sort((x, y) => x - y) as BasePair),
    between: between.map(([i, j]): BasePair => [i, turn(j)]),
  }
  expect(fault(reversedStrand)).toBe('')
  const { weights, weightsBetween = weights } = model
  const weightsOf = between.map(([i, j]) => weightOf(strand1[i]!, strand2[j]!, weightsBetween))
  for (const weight of weightsOf) expectSame(weight > 0, true)
  const score =
    scoreOfPairs(strand1, within1, model) +
    scoreOfPairs(strand2, within2, model) +
    weightsOf.reduce((x, y) => x + y, 0)
  expect(score).toBe(found.score)
  for (const j of [...within2.flat(), ...between.map(([, at]) => at)]) {
    expectSame(j >= found.start && j < found.start + found.length, true)
  }
  const [dots1, dots2] = found.dotBracket.split('&') as [string, string]
  const places = (dots: string, letter: string) =>
    [...dots].flatMap((dot, at) => (dot === letter ? [at] : []))
  expect([dots1.length, dots2.length]).toEqual([strand1.length, strand2.length])
  for (const [dots, pairs] of [
    [dots1, within1],
    [dots2, within2],
  ] as const) {
    expect(places(dots, '(')).toEqual(pairs.map(([i]) => i).sort((x, y) => x - y))
    expect(places(dots, ')')).toEqual(pairs.map(([, j]) => j).sort((x, y) => x - y))
  }
  expect(places(dots1, '[')).toEqual(between.map(([i]) => i))
  expect(places(dots2, ']')).toEqual(between.map(([, j]) => j).sort((x, y) => x - y))
}
