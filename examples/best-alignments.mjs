/**
 * Finds the three best alignments of two strands, because a single best alignment isn't conclusive if others
 * are equally good. Elements are the three best scores, best first; an alignment is a path through a grid.
 * Steps to the right skip a base of one strand, steps down skip a base of the other, and diagonal steps pair
 * both bases.
 *
 *   node examples/best-alignments.mjs                     of two short strands
 *   node examples/best-alignments.mjs GATTACA GCATGCU
 *
 * Scores as in Needleman and Wunsch's example: 1 for equal bases, −1 for others and for gaps.
 *
 * @see S. B. Needleman, C. D. Wunsch, A general method applicable to the search for similarities, J. Mol. Biol. 48, 1970
 */
import { parseArgs } from 'node:util'
import { mpmm, zeroOf } from 'mpmml'
import { kBest } from 'mpmml/semirings'

const { positionals } = parseArgs({ allowPositionals: true })
const [first = 'GATTACA', second = 'GCATGCU'] = positionals
const width = second.length + 1
const nodes = (first.length + 1) * width
const zero = zeroOf('max-plus')
const best = kBest('max-plus', 3)

/** Returns the steps from a grid node: target, score, and the column that the step adds to the alignment. */
function stepsFrom(node) {
  const [i, j] = [Math.floor(node / width), node % width]
  const [x, y] = [first[i], second[j]]
  const steps = []
  if (x && y) steps.push({ to: node + width + 1, score: x === y ? 1 : -1, column: [x, y] })
  if (x) steps.push({ to: node + width, score: -1, column: [x, '-'] })
  if (y) steps.push({ to: node + 1, score: -1, column: ['-', y] })
  return steps
}

/** Returns three lanes of a matrix without any path. */
const nothing = (cols) =>
  [0, 1, 2].map(() => ({ data: new Int32Array(nodes * cols).fill(zero), shape: [nodes, cols] }))

const steps = nothing(nodes)
for (let node = 0; node < nodes; node++) {
  for (const { to, score } of stepsFrom(node)) steps[0].data[node * nodes + to] = score
}
const end = nothing(1)
end[0].data[nodes - 1] = 0

// Best scores from each node to the end, over paths whose length limit grows by one step per product.
let scores = end
for (let most = 0; most < first.length + second.length; most++) {
  scores = (await mpmm(steps, scores, { semiring: best, accumulate: end })).c
}

/** Generates the paths from a node to the end with the given score. */
function* ways(node, score) {
  if (node === nodes - 1) {
    if (score === 0) yield []
    return
  }
  for (const { to, score: gained, column } of stepsFrom(node)) {
    // Only the three best paths are wanted, so only the three best scores of the next node matter.
    if (!scores.some(({ data }) => data[to] === score - gained)) continue
    for (const rest of ways(to, score - gained)) yield [column, ...rest]
  }
}

const found = scores.map(({ data }) => data[0]).filter((score) => score !== zero)
for (const score of new Set(found)) {
  let left = found.filter((other) => other === score).length
  for (const columns of ways(0, score)) {
    if (left-- === 0) break
    console.log(`score ${score}`)
    for (const strand of [0, 1]) console.log(`  ${columns.map((column) => column[strand]).join('')}`)
  }
}
