/** Closures, and paths with their next nodes. */
import { algebras, arrays } from './algebra.mjs'
import { isInexact } from './check.mjs'
import { closureOf, fillWeights, pathError, storedAs, wrongCycle } from './closure-oracle.mjs'
import { newMatrix, place, read } from './layouts.mjs'
import { drawPlace, Wrong } from './products.mjs'

/** Draws weights of edges. There are improving cycles only if `gains`. */
function weights(random, algebra, matrix, gains) {
  const { data, rows: n } = matrix
  const { kind, greatest, isWhole, zero } = algebra
  const density = random.pick([0, 1 / n, 3 / n, 0.4, 1])
  fillWeights(random, algebra, matrix, density, isWhole ? random.pick([1, 1, 1e6]) : 1)
  if (kind === 'sum' && random.chance(0.3)) {
    // Each edge makes paths worse.
    const worse = (weight) => (greatest ? -1 : 1) * (Math.abs(weight) + 1)
    for (let at = 0; at < data.length; at++) if (data[at] !== zero) data[at] = worse(data[at])
  }
  if (gains && data.length > 0) data[data.length - 1] = kind === 'sum' ? (greatest ? 3 : -3) : 2
}

export const paths = {
  'min-plus': 'shortestPaths',
  'max-plus': 'longestPaths',
  'max-min': 'widestPaths',
  'max-times': 'mostReliablePaths',
}

export async function closureCase(context, random) {
  const { library, algebra: toolkit, graph, tally } = context
  const algebra = random.pick(
    algebras.filter(({ idempotent, hasClosure = true }) => idempotent && hasClosure),
  )
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
    if (expected.some(({ gain }) => gain >= 0)) throw new Wrong('a cycle gains, but there is a result')
    const [values, next] = await Promise.all([c, result.next].map(elementsOf))
    for (const [item, { values: should }] of expected.entries()) {
      const first = item * n * n
      const at = should.findIndex((value, index) => storedAs(algebra, value) !== values[first + index])
      if (at >= 0)
        throw new Wrong(
          `[${item}, ${Math.floor(at / n)}, ${at % n}] is ${values[first + at]} and should be ${should[at]}`,
        )
      if (!next) continue
      const part = (data) => data.subarray(first, first + n * n)
      const wrong = pathError(algebra, n, part(source.data), part(values), part(next))
      if (wrong !== undefined) throw new Wrong(wrong)
    }
    tally.add(`closure ${semiring}`, batch * n * n, batch * n ** 3)
    tally.products++
  } catch (error) {
    if (error instanceof Wrong) throw new Wrong(`${what}: ${error.message}`)
    if (isInexact(error)) return tally.refused(error.code)
    if (error.code !== 'ERR_MPMML_CYCLE' || !expected.some(({ gain }) => gain >= 0))
      throw new Wrong(`${what}: ${error.stack}`)
    const { batch: item = 0 } = error
    const wrong = wrongCycle(algebra, n, source.data.subarray(item * n * n, (item + 1) * n * n), error)
    if (wrong !== undefined) throw new Wrong(`${what}: ${wrong}`)
    tally.refused(error.code)
  } finally {
    await device?.close()
    drawn.leave()
  }
}

/** Returns the elements of a matrix in an array or on a device; undefined for undefined. */
const elementsOf = async (matrix) =>
  matrix && read('download' in matrix ? await matrix.download() : matrix).data
