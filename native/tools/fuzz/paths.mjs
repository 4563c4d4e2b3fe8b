/** Paths between some nodes of a graph, or of each of a batch, within limits. */
import { algebras, arrays } from './algebra.mjs'
import { closureOf, fillWeights, isBetter, storedAs, times } from './closure-oracle.mjs'
import { paths as functions } from './closures.mjs'
import { newMatrix, place, read } from './layouts.mjs'
import { Wrong } from './products.mjs'

/** Draws several nodes, a single one, or undefined for all. */
function drawNodes(random, n) {
  if (random.chance(0.3)) return undefined
  if (random.chance(0.3)) return random.integer(0, n - 1)
  const nodes = Array.from({ length: n }, (_, node) => node).filter(() => random.chance(0.4))
  return nodes.length > 0 ? nodes : [random.integer(0, n - 1)]
}

/** Makes weights of which none makes a path better; floats may have fractions that sums keep exactly. */
function lose({ kind, greatest, isInteger, zero }, { data }, fraction) {
  for (let at = 0; at < data.length; at++) {
    if (data[at] === zero) continue
    if (kind === 'sum') data[at] = (greatest ? -1 : 1) * Math.abs(data[at])
    if (!isInteger && kind !== 'product') data[at] *= fraction
  }
}

/**
 * Draws a limit at or near the value of a path, also by fractions. Sometimes it is better than the empty
 * path.
 */
function drawLimit(random, { one, isFloat }, values) {
  const value = random.chance(0.2) || values.length === 0 ? one : random.pick(values)
  const beside = random.pick([0, 0, 0.5, -0.5, 0.25, 1, -1, isFloat ? 2 ** -40 : 2 ** -20])
  return random.chance(0.1) ? random.pick([-Infinity, Infinity]) : value + beside
}

/** Returns the edges of a matrix as a list. Some are duplicated with a worse weight. */
function listOf(random, { greatest, zero, kind }, Type, { data, rows: n }) {
  const edges = []
  for (const [at, weight] of data.entries()) {
    if (weight === zero) continue
    edges.push([Math.floor(at / n), at % n, weight])
    if (kind === 'sum' && random.chance(0.1))
      edges.push([Math.floor(at / n), at % n, weight + (greatest ? -1 : 1)])
  }
  return {
    nodes: n,
    from: edges.map(([from]) => from),
    to: edges.map(([, to]) => to),
    weight: Type.from(edges, ([, , weight]) => weight),
  }
}

/** Error text for a wrong path between two nodes; undefined if the path is right. */
function wrongPath(algebra, n, edges, [from, to], path, value) {
  if (value === algebra.zero) return path === null ? undefined : `there is no path, but it is ${path}`
  if (path === null || path[0] !== from || path.at(-1) !== to) return `the path is ${path}`
  let sum = algebra.one
  for (let at = 1; at < path.length; at++) {
    const weight = edges[path[at - 1] * n + path[at]]
    if (weight === algebra.zero) return `the path ${path} has no edge to ${path[at]}`
    sum = times(algebra, sum, weight)
  }
  return sum === value ? undefined : `the path ${path} has ${sum}, and the distance is ${value}`
}

export async function pathCase({ graph, tally }, random) {
  const algebra = random.pick(algebras.filter(({ semiring }) => semiring in functions))
  const n = random.size(1, 60)
  const Type = arrays[algebra.dtype]
  const batched = random.chance(0.5)
  const batch = batched ? random.integer(1, 5) : 1
  const source = newMatrix(Type, batched, batch, n, n)
  fillWeights(random, algebra, source, random.pick([1 / n, 2 / n, 0.3, 1]))
  const isLimited = random.chance(0.6)
  if (isLimited) lose(algebra, source, random.pick([1, 0.25]))
  const part = (item) => source.data.subarray(item * n * n, (item + 1) * n * n)
  const closures = Array.from({ length: batch }, (_, item) => closureOf(algebra, n, part(item), true))
  const sources = drawNodes(random, n)
  const targets = drawNodes(random, n)
  const reached = closures.flatMap(({ values }) => [...values].filter((value) => value !== algebra.none))
  const limit = isLimited ? drawLimit(random, algebra, reached) : undefined
  const method = random.pick([undefined, 'search', ...(isLimited ? [] : ['closure', 'dissection'])])
  const keepsPaths = random.chance(0.7)
  const given =
    !batched && random.chance(0.5) ? listOf(random, algebra, Type, source) : place(random, source).matrix
  const options = {
    backend: 'cpu',
    paths: keepsPaths,
    ...(sources === undefined ? {} : { sources }),
    ...(targets === undefined ? {} : { targets }),
    ...(limit === undefined ? {} : { limit }),
    ...(method === undefined ? {} : { method }),
  }
  const what = `${functions[algebra.semiring]} of ${batched ? `${batch} of ` : ''}${n} on ${algebra.dtype}, ${'nodes' in given ? 'a list' : 'a matrix'}; ${JSON.stringify({ ...options, limit: `${limit}` })}`
  try {
    const { distances, path } = await graph[functions[algebra.semiring]](given, options)
    const { data } = read(distances)
    const all = Array.from({ length: n }, (_, node) => node)
    const [rows, cols] = [sources, targets].map((nodes) => (nodes === undefined ? all : [nodes].flat()))
    for (const [item, { values }] of closures.entries()) {
      for (const [row, from] of rows.entries()) {
        for (const [col, to] of cols.entries()) {
          const value = values[from * n + to]
          const isBeyond = limit !== undefined && isBetter(algebra, limit, value)
          const should = storedAs(algebra, isBeyond ? algebra.none : value)
          const found = data[(item * rows.length + row) * cols.length + col]
          const at = `${item}: ${from} → ${to}`
          if (found !== should) throw new Wrong(`${what}: ${at} is ${found} and should be ${should}`)
          if (!keepsPaths) continue
          const wrong = wrongPath(
            algebra,
            n,
            part(item),
            [from, to],
            path(from, to, batched ? item : undefined),
            found,
          )
          if (wrong !== undefined) throw new Wrong(`${what}: ${at}: ${wrong}`)
        }
      }
    }
    tally.add(`paths ${algebra.semiring}`, data.length, batch * n ** 3)
    tally.products++
  } catch (error) {
    if (error instanceof Wrong) throw error
    // Nested dissection refuses graphs without small separators, and rounded sums with paths.
    if (method !== 'dissection' || error.code !== 'ERR_MPMML_OPTION')
      throw new Wrong(`${what}: ${error.stack}`)
    tally.refused(error.code)
  }
}
