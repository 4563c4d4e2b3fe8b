/** Checks samples of results by their definition, or by Dijkstra's algorithm. */
import { type DenseMatrix, type ElementArray, zeroOf } from '../../../lib/index.js'
import { dtypeOf } from '../../dtype.js'
import { Draw } from '../../random.js'

/**
 * Returns the largest candidate of an element of a max-plus product, and its smallest k; k is −1 if all
 * candidates are zero.
 */
function winner(
  { data: a, shape: [, depth] }: DenseMatrix<ElementArray>,
  { data: b, shape: [, cols] }: DenseMatrix<ElementArray>,
  i: number,
  j: number,
): { value: number; k: number } {
  const zero = zeroOf('max-plus', dtypeOf(a))
  let value = zero
  let best = -1
  for (let k = 0; k < depth!; k++) {
    const [left, right] = [a[i * depth! + k]!, b[k * cols! + j]!]
    if (left === zero || right === zero) continue
    const candidate = a instanceof Float32Array ? Math.fround(left + right) : left + right
    if (candidate > value) {
      value = candidate
      best = k
    }
  }
  return { value, k: best }
}

/** Describes an error of a product and its witness in a sample of elements; undefined if none is found. */
export function wrongWitness(
  a: DenseMatrix<ElementArray>,
  b: DenseMatrix<ElementArray>,
  c: DenseMatrix<ElementArray>,
  witness: DenseMatrix<ElementArray>,
  samples: number,
): string | undefined {
  const [rows, cols] = c.shape as [number, number]
  const draw = new Draw(rows)
  for (let sample = 0; sample < samples; sample++) {
    const [i, j] = [draw.integer(0, rows - 1), draw.integer(0, cols - 1)]
    const expected = winner(a, b, i, j)
    const came = { value: c.data[i * cols + j]!, k: witness.data[i * cols + j]! }
    if (came.value !== expected.value || came.k !== expected.k) {
      return `C[${i}, ${j}] is ${came.value} by k = ${came.k}, but it must be ${expected.value} by k = ${expected.k}`
    }
  }
  return undefined
}

/**
 * Returns the min-plus distances from one node, by Dijkstra's algorithm on a matrix of nonnegative weights.
 */
export function distancesFrom(weights: ArrayLike<number>, nodes: number, source: number): Float64Array {
  const none = zeroOf('min-plus')
  const distances = new Float64Array(nodes).fill(Number.POSITIVE_INFINITY)
  const done = new Uint8Array(nodes)
  distances[source] = 0
  for (;;) {
    let i = -1
    let least = Number.POSITIVE_INFINITY
    for (let node = 0; node < nodes; node++) {
      if (done[node] === 0 && distances[node]! < least) {
        least = distances[node]!
        i = node
      }
    }
    if (i < 0) return distances
    done[i] = 1
    const row = i * nodes
    for (let j = 0; j < nodes; j++) {
      const weight = weights[row + j]!
      if (weight !== none && least + weight < distances[j]!) distances[j] = least + weight
    }
  }
}

/** Describes an error in a row of distances; undefined if none is found. */
export function wrongDistances(
  weights: ArrayLike<number>,
  nodes: number,
  source: number,
  row: ArrayLike<number>,
): string | undefined {
  const none = zeroOf('min-plus')
  const expected = distancesFrom(weights, nodes, source)
  for (let j = 0; j < nodes; j++) {
    const value = row[j] === none ? Number.POSITIVE_INFINITY : row[j]!
    if (value !== expected[j]) {
      return `the distance from ${source} to ${j} is ${value}, but it must be ${expected[j]}`
    }
  }
  return undefined
}

/** Describes an error of a path and its length; undefined if none is found. */
export function wrongPath(
  weights: ArrayLike<number>,
  nodes: number,
  path: readonly number[] | null,
  [from, to]: readonly [number, number],
  length: number,
): string | undefined {
  const none = zeroOf('min-plus')
  const name = `the path from ${from} to ${to}`
  if (path === null) return length === none ? undefined : `${name} is missing`
  if (path[0] !== from || path.at(-1) !== to) return `${name} is ${path.join(', ')}`
  let sum = 0
  for (let at = 1; at < path.length; at++) {
    const weight = weights[path[at - 1]! * nodes + path[at]!]!
    if (weight === none) return `${name} has no edge from ${path[at - 1]} to ${path[at]}`
    sum += weight
  }
  return sum === length ? undefined : `${name} has the length ${sum}, but ${length} is stated`
}
