/** Best paths: all functions, compared with their definition. */
import { beforeEach, describe, expect, it, vi } from 'vitest'
import {
  type EdgeList,
  longestPaths,
  mostReliablePaths,
  type PathOptions,
  type PathSemiring,
  type PathsResult,
  shortestPaths,
  transitiveClosure,
  verifyPaths,
  widestPaths,
} from '../../lib/graph.js'
import {
  CycleError,
  DeviceMatrix,
  type ElementArray,
  type MatrixLike,
  type MpmmlError,
  type OperandArray,
  openDevice,
  zeroOf,
} from '../../lib/index.js'
import { expectSame } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { randomGraph } from '../support/graphs.js'
import { bestFrom, pathAlgebras, valueOfPath, type WeightedEdges } from '../support/paths-oracle.js'

// Forced choice between searches and a closure; undefined leaves it to the estimate.
const forced = vi.hoisted(() => ({ search: undefined as boolean | undefined }))
vi.mock('../../lib/backend-selection.js', async (original) =>
  (await import('../support/forced-search.js')).forcedSearch(original, forced),
)
beforeEach(() => {
  forced.search = undefined
})

type Find = (weights: unknown, options?: PathOptions) => Promise<PathsResult>
const functions: Record<PathSemiring, Find> = {
  'min-plus': shortestPaths as Find,
  'max-plus': longestPaths as Find,
  'max-min': widestPaths as Find,
  'max-times': mostReliablePaths as Find,
  'or-and': transitiveClosure as Find,
}
const arrays = { int32: Int32Array, float32: Float32Array, float64: Float64Array, uint8: Uint8Array }
type Type = keyof typeof arrays
const types: Record<PathSemiring, Type[]> = {
  'min-plus': ['int32', 'float32', 'float64'],
  'max-plus': ['int32', 'float32', 'float64'],
  'max-min': ['int32', 'float32', 'float64'],
  'max-times': ['float32', 'float64'],
  'or-and': ['uint8'],
}
const semirings = Object.keys(types) as PathSemiring[]
const kinds = semirings.flatMap((semiring) => types[semiring].map((type) => [semiring, type] as const))

/** Weights with which every ⊗ is exact in every type. The weights in `safe` form no improving cycle. */
const weightsOf: Record<PathSemiring, { safe: number[]; any: number[] }> = {
  'min-plus': { safe: [0, 0, 1, 2, 3, 9], any: [-2, -1, 0, 0, 1, 2, 5] },
  'max-plus': { safe: [0, 0, -1, -2, -7], any: [2, 1, 0, 0, -1, -2, -5] },
  'max-min': { safe: [-3, 0, 1, 2, 3], any: [-3, 0, 1, 2, 3] },
  'max-times': { safe: [1, 1, 0.5, 0.25], any: [2, 2, 1, 1, 0.5, 0.5, 0.25] },
  'or-and': { safe: [1], any: [1] },
}

function smallGraph(random: Random, semiring: PathSemiring, kind: 'safe' | 'any'): WeightedEdges {
  const nodes = random.integer(1, 9)
  return randomGraph(random, nodes, random.integer(0, 3 * nodes), () =>
    random.pick(weightsOf[semiring][kind]),
  )
}

const asList = ({ nodes, from, to, weight }: WeightedEdges, type: Type): EdgeList<ElementArray> => ({
  nodes,
  from,
  to,
  weight: arrays[type].from(weight),
})

/** Matrices of graphs of equal size, with strides and an offset. */
function asMatrix(
  random: Random,
  graphs: WeightedEdges[],
  semiring: PathSemiring,
  type: Type,
  batched: boolean,
): MatrixLike<OperandArray> {
  const { nodes } = graphs[0]!
  const zero = zeroOf(semiring, type)
  const { better } = pathAlgebras[semiring]
  const gap = random.integer(0, 2)
  const transposed = random.chance(0.5)
  const offset = random.integer(0, 3)
  const lead = nodes + gap
  const item = lead * nodes + random.integer(0, 3)
  const data = new arrays[type](offset + item * graphs.length).fill(zero)
  const steps = transposed ? [1, lead] : [lead, 1]
  for (const [index, { from, to, weight }] of graphs.entries()) {
    for (const [e, value] of weight.entries()) {
      const at = offset + index * item + from[e]! * steps[0]! + to[e]! * steps[1]!
      if (data[at] === zero || better(value, data[at]!)) data[at] = value
    }
  }
  return batched
    ? { data, offset, shape: [graphs.length, nodes, nodes], strides: [item, ...steps] }
    : { data, offset, shape: [nodes, nodes], strides: steps }
}

/** Compares the paths of a graph with the definition. */
async function expectRight(
  graph: WeightedEdges,
  semiring: PathSemiring,
  type: Type,
  result: PathsResult,
  sources: readonly number[],
  targets: readonly number[],
  item = 0,
): Promise<void> {
  const algebra = pathAlgebras[semiring]
  const zero = zeroOf(semiring, type)
  const { distances, next } = result
  expect(distances.data).toBeInstanceOf(arrays[type])
  expect(distances.shape.slice(-2)).toEqual([sources.length, targets.length])
  for (const [row, i] of sources.entries()) {
    const { value } = bestFrom(graph, algebra, i)
    for (const [col, j] of targets.entries()) {
      const position = (item * sources.length + row) * targets.length + col
      const expected = value[j] === Infinity && type === 'int32' ? 2 ** 31 - 1 : (value[j] ?? zero)
      expectSame(distances.data[position], expected, `${i} → ${j}`)
      if (!next) continue
      const path = (await result.path(i, j, item)) as number[] | null
      if (value[j] === null) {
        expectSame(path, null)
        expectSame(next.data[position], -1)
        continue
      }
      expectSame(path![0], i)
      expectSame(path!.at(-1), j)
      expectSame(new Set(path).size, path!.length)
      expectSame(valueOfPath(graph, algebra, path!), value[j], `of ${i} → ${j}`)
      expectSame(next.data[position], path![1] ?? -1)
    }
  }
}

/** Expects an error with an improving cycle of the graph that is between a source and a target. */
function expectCycle(
  graph: WeightedEdges,
  semiring: PathSemiring,
  error: unknown,
  sources: readonly number[],
  targets: readonly number[],
): void {
  expect(error).toBeInstanceOf(CycleError)
  const { cycle, weight, message } = error as CycleError
  const algebra = pathAlgebras[semiring]
  expect(cycle.length).toBeGreaterThan(0)
  expect(new Set(cycle).size).toBe(cycle.length)
  expect(valueOfPath(graph, algebra, [...cycle, cycle[0]!])).toBe(weight)
  expect(algebra.better(weight, algebra.one)).toBe(true)
  expect(message).toContain(`${weight}`)
  const matters = sources.some((i) => {
    const { value } = bestFrom(graph, algebra, i)
    return (
      value[cycle[0]!] !== null && targets.some((j) => bestFrom(graph, algebra, cycle[0]!).value[j] !== null)
    )
  })
  expect(matters).toBe(true)
}

async function settled(work: Promise<PathsResult>): Promise<PathsResult | MpmmlError> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    return error as MpmmlError
  }
}

/** The matrix in an array: the matrix itself, or its copy from a device. */
const hostOf = async (matrix: unknown) => (matrix instanceof DeviceMatrix ? matrix.download() : matrix)

const everyNode = ({ nodes }: WeightedEdges) => Array.from({ length: nodes }, (_, i) => i)

describe.each(kinds)('%s over %s', (semiring, type) => {
  const find = functions[semiring]
  const algebra = pathAlgebras[semiring]
  const endless = (graph: WeightedEdges, sources: readonly number[], targets: readonly number[]) =>
    sources.some((i) => {
      const { endless } = bestFrom(graph, algebra, i)
      return targets.some((j) => endless[j])
    })

  it.each([
    ['searched', true],
    ['from all pairs', false],
  ] as const)('finds all pairs and subsets of them: %s', async (_, search) => {
    forced.search = search
    const random = new Random(11)
    let cycles = 0
    let results = 0
    for (let round = 0; round < 150; round++) {
      const graph = smallGraph(random, semiring, round % 2 === 0 ? 'safe' : 'any')
      const weights = random.chance(0.5)
        ? asList(graph, type)
        : asMatrix(random, [graph], semiring, type, false)
      const some = () =>
        random.chance(0.4)
          ? undefined
          : Array.from({ length: random.integer(0, 3) }, () => random.integer(0, graph.nodes - 1))
      const [sources, targets] = [some(), some()]
      const [rows, cols] = [sources ?? everyNode(graph), targets ?? everyNode(graph)]
      const result = await settled(find(weights, { paths: true, sources, targets }))
      if (endless(graph, rows, cols)) {
        cycles++
        expectCycle(graph, semiring, result, rows, cols)
        continue
      }
      results++
      if (result instanceof Error) throw result
      await expectRight(graph, semiring, type, result, rows, cols)
      expect(await verifyPaths(weights as never, result)).toEqual({
        distances: rows.length * cols.length,
        paths: rows.length * cols.length,
      })
      const plain = await find(weights, { sources, targets })
      expect(plain.distances).toEqual(result.distances)
      expect(plain).not.toHaveProperty('next')
      expect(result).toMatchObject({ semiring, backend: 'cpu' })
    }
    expect(results).toBeGreaterThan(40)
    if (semiring !== 'max-min' && semiring !== 'or-and') expect(cycles).toBeGreaterThan(15)
  })

  it.each([
    [true, false],
    [false, false],
    [true, true],
    [false, true],
  ])('finds the paths of each graph of a batch: searched %s, on a device %s', async (search, resident) => {
    forced.search = search
    const device = resident ? await openDevice({ backend: 'cpu' }) : undefined
    const random = new Random(12)
    // All combinations of one, three or all nodes as sources and as targets. Three sources and one target
    // cause a backward search.
    const crossed = [1, 3, Infinity].flatMap((from) => [1, 3, Infinity].map((to) => [from, to] as const))
    for (let round = 0; round < 2 * crossed.length; round++) {
      const first = smallGraph(random, semiring, 'safe')
      const graphs = [first]
      while (graphs.length < 3) {
        const other = smallGraph(random, semiring, 'safe')
        if (other.nodes === first.nodes) graphs.push(other)
      }
      const matrix = asMatrix(random, graphs, semiring, type, true)
      const weights = device ? await device.upload(matrix as never) : matrix
      const all = everyNode(first)
      const some = (count: number) => {
        const shift = random.integer(0, first.nodes - 1)
        return count === Infinity
          ? undefined
          : [...all.slice(shift), ...all].slice(0, Math.min(count, all.length))
      }
      const [sources, targets] = crossed[round % crossed.length]!.map(some)
      const result = await find(weights, { paths: true, sources, targets })
      expect(result.distances.shape).toEqual([3, (sources ?? all).length, (targets ?? all).length])
      const [distances, next] = await Promise.all([hostOf(result.distances), hostOf(result.next)])
      const onHost = { ...result, distances, next } as unknown as PathsResult
      for (const [item, graph] of graphs.entries()) {
        await expectRight(graph, semiring, type, onHost, sources ?? all, targets ?? all, item)
      }
      await verifyPaths(weights as never, result)
    }
    await device?.close()
  })

  it('has equal results of searches and all pairs for hundreds of nodes, which verifyPaths accepts', async () => {
    const random = new Random(13)
    for (const nodes of [65, 150]) {
      const weight = () => random.pick(weightsOf[semiring].safe)
      const graph = asList(randomGraph(random, nodes, 4 * nodes, weight), type)
      forced.search = true
      const searched = await find(graph, { paths: true })
      forced.search = false
      const closed = await find(graph, { paths: true })
      expect(closed.distances).toEqual(searched.distances)
      for (const result of [searched, closed]) {
        expect(await verifyPaths(graph, result)).toEqual({ distances: nodes ** 2, paths: nodes ** 2 })
      }
    }
  })
})
