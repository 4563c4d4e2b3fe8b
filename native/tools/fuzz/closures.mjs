/** Closures, and paths with their next nodes: the textbook's loops over pivots, in float64. */
import { algebras, arrays } from './algebra.mjs'
import { newMatrix, place } from './layouts.mjs'
import { drawPlace, Wrong } from './products.mjs'

const times = ({ kind }, x, y) =>
  kind === 'sum' ? x + y : kind === 'product' ? x * y : x < y === (kind === 'least') ? x : y

/** `gain`: whether a cycle gains; then the values are none. Values must be such that nothing is rounded. */
export function closureOf(algebra, n, elements, reflexive) {
  const { zero, one, greatest, dtype, kind } = algebra
  const values = Float64Array.from(elements, (x) => (dtype === 'uint8' && x !== 0 ? 1 : x))
  const better = (x, y) => (greatest ? x > y : x < y)
  for (let k = 0; k < n; k++) {
    if (
      (kind === 'sum' || kind === 'product') &&
      values[k * n + k] !== zero &&
      better(values[k * n + k], one)
    )
      return { values, gain: true }
    for (let i = 0; i < n; i++) {
      const first = values[i * n + k]
      if (first === zero) continue
      for (let j = 0; j < n; j++) {
        const second = values[k * n + j]
        if (second === zero) continue
        const way = times(algebra, first, second)
        const last = values[i * n + j]
        if (last === zero || better(way, last)) values[i * n + j] = way
      }
    }
  }
  if (reflexive) for (let i = 0; i < n; i++) values[i * n + i] = one
  return { values, gain: false }
}

/** Weights of edges; no cycle gains unless `gains`, but many neither gain nor lose. */
function weights(random, algebra, matrix, gains) {
  const { data, rows: n } = matrix
  const { kind, greatest, zero, dtype } = algebra
  const density = random.pick([0, 1 / n, 3 / n, 0.4, 1])
  const heavy = dtype === 'int32' ? random.pick([1, 1, 1e6]) : 1
  const potentials = Array.from({ length: n }, () => random.integer(-40, 40))
  for (let index = 0; index < data.length; index++) {
    const [i, j] = [Math.floor(index / n) % n, index % n]
    if (!random.chance(density)) data[index] = zero
    else if (kind === 'sum')
      data[index] =
        heavy * (greatest ? -1 : 1) * (random.pick([0, 0, 1, 5, 30]) + potentials[i] - potentials[j])
    else if (kind === 'product') data[index] = random.pick([1, 1, 0.5, 0.25])
    else data[index] = dtype === 'uint8' ? random.integer(1, 255) : random.integer(-9, 9)
  }
  if (gains && data.length > 0) data[data.length - 1] = kind === 'sum' ? (greatest ? 3 : -3) : 2
}

const paths = {
  'min-plus': 'shortestPaths',
  'max-plus': 'longestPaths',
  'max-min': 'widestPaths',
  'max-times': 'mostReliablePaths',
}

/** What is wrong with next nodes, in words: they must lead over edges that make the distance. */
function wrongWay(algebra, n, edges, distances, next) {
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      if (i === j) continue
      const [distance, where] = [distances[i * n + j], `${i} → ${j}`]
      let [sum, node] = [algebra.one, i]
      if (distance === algebra.zero) {
        if (next[i * n + j] !== -1) return `${where} has no path, but next is ${next[i * n + j]}`
        continue
      }
      for (let count = 0; node !== j; count++) {
        const to = next[node * n + j]
        if (!(to >= 0 && to < n) || count === n) return `${where}: next leads to ${to}, or in a circle`
        if (edges[node * n + to] === algebra.zero) return `${where}: there is no edge from ${node} to ${to}`
        sum = times(algebra, sum, edges[node * n + to])
        node = to
      }
      if (sum !== distance) return `${where}: the path has ${sum}, and the distance is ${distance}`
    }
  }
  return undefined
}

export async function closureCase(context, random) {
  const { library, algebra: toolkit, graph, tally } = context
  const algebra = random.pick(algebras.filter(({ idempotent }) => idempotent))
  const n = random.pick([
    random.size(1, 70),
    random.size(1, 70),
    random.size(60, 200),
    random.integer(250, 320),
  ])
  const batched = random.chance(0.3)
  const batch = batched ? random.integer(1, n > 100 ? 2 : 9) : 1
  const name = random.pick(['star', 'plus', ...(algebra.semiring in paths ? ['paths', 'paths'] : [])])
  const drawn = drawPlace(random, context)
  const source = newMatrix(arrays[algebra.dtype], batched, batch, n, n)
  const canGain = algebra.kind === 'sum' || algebra.kind === 'product'
  const gains = canGain && random.chance(0.15)
  weights(random, algebra, source, gains)
  const resident = random.chance(0.4)
  const what = `${name} of ${batched ? `${batch} of ` : ''}${n} over ${algebra.semiring} on ${algebra.dtype}${gains ? ', a cycle gains' : ''}${resident ? ', resident' : ''}; ${JSON.stringify(drawn.where)}`
  const device = resident ? await library.openDevice(drawn.where) : undefined
  const given = place(random, source).matrix
  const a = device ? await device.upload(given) : given
  const inPlace = name !== 'paths' && random.chance(0.3)
  const expected = Array.from({ length: batch }, (_, item) =>
    closureOf(algebra, n, source.data.subarray(item * n * n, (item + 1) * n * n), name !== 'plus'),
  )
  const { semiring } = algebra
  try {
    const where = device ? {} : drawn.where
    const result =
      name === 'paths'
        ? await graph[paths[semiring]](a, { paths: true, ...where })
        : await toolkit[name](a, { semiring, ...where, ...(inPlace ? { out: a } : {}) })
    const c = result.c ?? result.distances
    if (expected.some(({ gain }) => gain)) throw new Wrong('a cycle gains, but there is a result')
    const [values, next] = await Promise.all([c, result.next].map((matrix) => rowMajor(matrix)))
    for (const [item, { values: should }] of expected.entries()) {
      const first = item * n * n
      const at = should.findIndex((value, index) => value !== values[first + index])
      if (at >= 0)
        throw new Wrong(
          `[${item}, ${Math.floor(at / n)}, ${at % n}] is ${values[first + at]} and should be ${should[at]}`,
        )
      if (!next) continue
      const part = (data) => data.subarray(first, first + n * n)
      const wrong = wrongWay(algebra, n, part(source.data), part(values), part(next))
      if (wrong !== undefined) throw new Wrong(wrong)
    }
    tally.add(`closure ${semiring}`, batch * n * n, batch * n ** 3)
    tally.products++
  } catch (error) {
    if (error instanceof Wrong) throw new Wrong(`${what}: ${error.message}`)
    if (error.code !== 'ERR_MPMML_CYCLE' || !expected.some(({ gain }) => gain))
      throw new Wrong(`${what}: ${error.stack}`)
    const { cycle, batch: item = 0 } = error
    const edges = source.data.subarray(item * n * n, (item + 1) * n * n)
    const weight = cycle.reduce(
      (sum, node, index) => times(algebra, sum, edges[node * n + cycle[(index + 1) % cycle.length]]),
      algebra.one,
    )
    if (!(algebra.greatest ? weight > algebra.one : weight < algebra.one))
      throw new Wrong(`${what}: the cycle ${cycle} weighs ${weight}, which is no gain`)
    tally.refused(error.code)
  } finally {
    await device?.close()
    drawn.leave()
  }
}

/** The elements of a matrix in an array or on a device; undefined of none. */
async function rowMajor(matrix) {
  if (!matrix) return undefined
  const { data, shape, strides, offset } = 'download' in matrix ? await matrix.download() : matrix
  const [batch, rows, cols] = shape.length === 3 ? shape : [1, ...shape]
  const [byItem, byRow, byCol] = shape.length === 3 ? strides : [0, ...strides]
  return data.constructor.from({ length: batch * rows * cols }, (_, index) => {
    const [item, i, j] = [Math.floor(index / cols / rows), Math.floor(index / cols) % rows, index % cols]
    return data[(offset ?? 0) + item * byItem + i * byRow + j * byCol]
  })
}
