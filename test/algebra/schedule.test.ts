/** Start times of jobs, compared with rounds of Bellman–Ford, and published projects. */
import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  cycleTimes,
  type EarliestOptions,
  earliestStarts,
  type LatestOptions,
  latestStarts,
  reverseEdges,
} from '../../lib/algebra.js'
import { CycleError, EPSILON, matrix, openDevice } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { Random } from '../support/generators.js'
import { addEdge, randomGraph } from '../support/graphs.js'
import { bestFrom, pathAlgebras, type WeightedEdges } from '../support/paths-oracle.js'

type Project = WeightedEdges

/** The project with an additional first node that has an edge to each job. */
const after = ({ nodes, from, to, weight }: Project, times: number[]): Project => ({
  nodes: nodes + 1,
  from: [...from, ...times.map(() => nodes)],
  to: [...to, ...times.keys()],
  weight: [...weight, ...times],
})

/** Least x with x[j] ≥ x[i] + w and x ≥ release; null if no x exists. */
function earliest(project: Project, release: number[]): number[] | null {
  const { value, endless } = bestFrom(after(project, release), pathAlgebras['max-plus'], project.nodes)
  return endless.includes(true) ? null : (value.slice(0, -1) as number[])
}

/** Greatest x with x[j] ≥ x[i] + w and x ≤ due. */
function latest({ nodes, from, to, weight }: Project, due: number[]): number[] {
  const reversed = { nodes, from: to, to: from, weight: weight.map((lag) => -lag) }
  return bestFrom(after(reversed, due), pathAlgebras['min-plus'], nodes).value.slice(0, -1) as number[]
}

function matrixOf({ nodes, from, to, weight }: Project) {
  const data = new Int32Array(nodes * nodes).fill(EPSILON)
  for (const [k, value] of weight.entries()) {
    const at = from[k]! * nodes + to[k]!
    data[at] = Math.max(data[at]!, value)
  }
  return matrix(nodes, nodes, data)
}

/** Checks that each job of the path starts at the earliest time after its predecessor. */
function expectCriticalPath(
  project: Project,
  path: number[],
  starts: ArrayLike<number>,
  release: number[],
): void {
  expect(starts[path[0]!]).toBe(release[path[0]!])
  for (const [at, job] of path.slice(1).entries()) {
    const before = path[at]!
    const lags = project.weight.filter((_, k) => project.from[k] === before && project.to[k] === job)
    expect(lags.length).toBeGreaterThan(0)
    expect(starts[job]).toBe(starts[before]! + Math.max(...lags))
  }
}

describe('random projects', () => {
  it.each(Array.from({ length: 200 }, (_, index) => index))(
    'have the times of the definition: project %i',
    async (index) => {
      const random = new Random(index + 50)
      const nodes = random.integer(1, 8)
      const count = random.integer(0, 2 * nodes)
      // Most edges lead forward; edges back are deadlines.
      const project = randomGraph(random, nodes, count, (i, j) =>
        i < j ? random.integer(-2, 9) : random.integer(-30, index % 4 === 0 ? 1 : -8),
      )
      const times = (low: number, high: number) =>
        Array.from({ length: nodes }, () => random.integer(low, high))
      const [release, durations, deadline] = [times(-5, 5), times(0, 9), times(10, 40)]
      const expected = earliest(project, release)
      if (!expected) {
        const error = await earliestStarts(project, { release }).catch((caught) => caught)
        expect(error).toBeInstanceOf(CycleError)
        const { cycle, weight } = error as CycleError
        let sum = 0
        for (const [at, job] of cycle.entries()) {
          const next = cycle[(at + 1) % cycle.length]
          const lags = project.weight.filter((_, k) => project.from[k] === job && project.to[k] === next)
          sum += Math.max(...lags)
        }
        expect(weight).toBe(sum)
        expect(sum).toBeGreaterThan(0)
        await expect(latestStarts(project, { release })).rejects.toEqual(coded('CYCLE'))
        return
      }
      const floats = { ...project, weight: Float64Array.from(project.weight, (value) => value / 2) }
      const halves = (values: number[]) => values.map((value) => value / 2)
      const end = Math.max(...expected.map((start, i) => start + durations[i]!))
      for (const weights of [project, matrixOf(project)]) {
        const result = await earliestStarts(weights, { release, durations })
        expect(result.starts).toEqual(Int32Array.from(expected))
        expect(result.end).toBe(end)
        expectCriticalPath(project, result.criticalPath, expected, release)
        const last = result.criticalPath.at(-1)!
        expect(expected[last]! + durations[last]!).toBe(end)

        const due = deadline.map((time, i) => time - durations[i]!)
        const late = latest(project, due)
        const given = await latestStarts(weights, { release, durations, deadline })
        expect(given.starts).toEqual(Int32Array.from(late))
        expect(given.slack).toEqual(Int32Array.from(late, (time, i) => time - expected[i]!))
        expect(given.earliest).toEqual(result)

        const usual = await latestStarts(weights, { release, durations })
        expect(usual.starts).toEqual(
          Int32Array.from(
            latest(
              project,
              durations.map((duration) => end - duration),
            ),
          ),
        )
        expect(Math.min(...usual.slack)).toBe(0)
        for (const job of result.criticalPath) expect(usual.slack[job]).toBe(0)
      }
      const half = await latestStarts(floats, {
        release: halves(release),
        durations: Float64Array.from(halves(durations)),
        deadline: 20,
      })
      expect([...half.earliest.starts].map((value) => value + 0)).toEqual(
        halves(expected).map((value) => value + 0),
      )
      const due = durations.map((duration) => 40 - duration)
      expect([...half.starts]).toEqual(halves(latest(project, due)).map((value) => value + 0))
    },
  )
})

describe('published projects', () => {
  // R. Sedgewick and K. Wayne, Algorithms, 4th edition, section 4.4: parallel precedence-constrained scheduling.
  const durations = [41, 51, 50, 36, 38, 45, 21, 32, 32, 29]
  const before = [[1, 7, 9], [2], [], [], [], [], [3, 8], [3, 8], [2], [4, 6]]
  const project: Project = { nodes: 10, from: [], to: [], weight: [] }
  for (const [i, after] of before.entries()) for (const j of after) addEdge(project, i, j, durations[i]!)
  const withDeadlines = (deadlines: [job: number, within: number, of: number][]): Project => {
    const copy = { nodes: 10, from: [...project.from], to: [...project.to], weight: [...project.weight] }
    for (const [job, within, of] of deadlines) addEdge(copy, job, of, -within)
    return copy
  }

  it('include Sedgewick and Wayne: ten jobs take 173', async () => {
    const { starts, end, criticalPath } = await earliestStarts(project, { durations })
    expect([...starts]).toEqual([0, 41, 123, 91, 70, 0, 70, 41, 91, 41])
    expect(end).toBe(173)
    expect(criticalPath).toEqual([0, 9, 6, 8, 2])
    const { slack } = await latestStarts(project, { durations })
    expect([...slack.keys()].filter((job) => slack[job] === 0)).toEqual([0, 2, 6, 8, 9])
  })

  it('include Sedgewick and Wayne: the third relative deadline can not be met', async () => {
    const two = withDeadlines([
      [2, 12, 4],
      [2, 70, 7],
    ])
    const { starts } = await earliestStarts(two, { durations })
    expect([starts[4], starts[7]]).toEqual([111, 53])
    const three = withDeadlines([
      [2, 12, 4],
      [2, 70, 7],
      [4, 80, 0],
    ])
    await expect(earliestStarts(three, { durations })).rejects.toEqual(coded('CYCLE', /weight 31, above 0/))
  })
})

describe('projects', () => {
  const jobs = { nodes: 4, from: [0, 0, 1, 2], to: [1, 2, 3, 3], weight: [5, 5, 3, 4] }

  it('have a negative slack if deadlines can not be met', async () => {
    const durations = [5, 3, 4, 2]
    const { starts, slack, critical } = await latestStarts(jobs, { durations, deadline: 10 })
    expect([...starts]).toEqual([-1, 5, 4, 8])
    expect([...slack]).toEqual([-1, 0, -1, -1])
    expect(critical).toEqual([0, 1, 2, 3])
  })

  it('may have no jobs', async () => {
    const none = { nodes: 0, from: [], to: [], weight: [] }
    expect(await earliestStarts(none)).toEqual({
      starts: new Int32Array(0),
      end: 0,
      criticalPath: [],
      critical: [],
    })
    expect(await latestStarts(matrix(0, 0))).toMatchObject({ starts: new Int32Array(0) })
  })

  it('may be on a device', async () => {
    const device = await openDevice({ backend: 'cpu' })
    try {
      const resident = await device.upload(matrixOf(jobs))
      expect(await latestStarts(resident)).toEqual(await latestStarts(jobs))
    } finally {
      await device.close()
    }
  })

  it('may be a long chain', async () => {
    const nodes = 200_000
    const from = Int32Array.from({ length: nodes - 1 }, (_, i) => i)
    const chain = { nodes, from, to: from.map((i) => i + 1), weight: new Int32Array(nodes - 1).fill(3) }
    const { starts, end, criticalPath } = await earliestStarts(chain, { durations: 2 })
    expect([starts[1], starts[nodes - 1], end]).toEqual([3, 3 * (nodes - 1), 3 * nodes - 1])
    expect(criticalPath.length).toBe(nodes)
  })

  it('may have times beyond int32', async () => {
    const far = { nodes: 3, from: [0, 1], to: [1, 2], weight: [2 ** 30, 2 ** 30] }
    await expect(earliestStarts(far)).rejects.toEqual(coded('OVERFLOW'))
    const near = { nodes: 2, from: [0], to: [1], weight: [2 ** 31 - 1] }
    expect((await earliestStarts(near)).end).toBe(2 ** 31 - 1)
    await expect(earliestStarts(near, { durations: 1 })).rejects.toEqual(
      coded('OVERFLOW', /the end of job 1/),
    )
    await expect(latestStarts(near, { deadline: -5 })).rejects.toEqual(
      coded('OVERFLOW', /distance|latest start/),
    )
    const early = { nodes: 1, from: [], to: [], weight: [] }
    await expect(latestStarts(early, { deadline: -(2 ** 31) + 1, release: 1 })).rejects.toEqual(
      coded('OVERFLOW', /the slack of job 0/),
    )
  })
})

/** A project of integers, and its copy in another unit of time, in which its times are fractions. */
function inFractions({ nodes, from, to, weight }: Project, unit: number, type: typeof Float64Array) {
  return { nodes, from, to, weight: type.from(weight, (value) => value * unit) }
}

describe('projects of fractions', () => {
  it('have no slack in a chain of decimals', async () => {
    const durations = Float64Array.of(0.1, 0.2, 0.3)
    const chain = { nodes: 3, from: [0, 1], to: [1, 2], weight: durations.slice(0, 2) }
    const { slack, critical, earliest } = await latestStarts(chain, { durations })
    expect([...slack]).toEqual([0, 0, 0])
    expect(critical).toEqual([0, 1, 2])
    expect(earliest.criticalPath).toEqual([0, 1, 2])
    const { slack: beforeDeadline } = await latestStarts(chain, { durations, deadline: 0.6 })
    expect([...beforeDeadline]).toEqual([0, 0, 0])
  })

  it('have two critical chains if both take equal decimals in another order, or merged', async () => {
    const durations = Float64Array.of(0.1, 0.2, 0.3, 0.3, 0.2, 0.1, 0.6)
    const chains = {
      nodes: 7,
      from: [0, 1, 3, 4],
      to: [1, 2, 4, 5],
      weight: Float64Array.of(0.1, 0.2, 0.3, 0.2),
    }
    const { critical } = await earliestStarts(chains, { durations })
    expect(critical).toEqual([0, 1, 2, 3, 4, 5, 6])
  })

  it('have a small slack that isn’t caused by rounding', async () => {
    const chains = { nodes: 2, from: [], to: [], weight: new Float64Array(0) }
    const small = async (...durations: [number, number]) =>
      (await latestStarts(chains, { durations: Float64Array.from(durations) })).slack[0]
    expect(await small(1, 1 + 2 ** -40)).toBe(2 ** -40)
    expect(await small(2 ** 40, 2 ** 40 + 2 ** -12)).toBe(2 ** -12)
    expect(await small(1000.1, 1000.1 + 1e-11)).toBeCloseTo(1e-11, 12)
    expect(await small(0.1, 0.1 + 1e-15)).toBeGreaterThan(0)
  })

  it.each(Array.from({ length: 120 }, (_, index) => index))(
    'have the critical jobs of integers: project %i',
    async (index) => {
      const random = new Random(index + 900)
      const nodes = random.integer(2, 12)
      // Few different weights, so that several paths are critical.
      const project = randomGraph(random, nodes, 3 * nodes, (i, j) =>
        i < j ? random.integer(0, 4) : random.integer(-40, -20),
      )
      const durations = Array.from({ length: nodes }, () => random.integer(0, 5))
      const expected = await latestStarts(project, { durations }).catch(() => null)
      if (!expected) return
      const [unit, type] = [
        [0.1, Float64Array],
        [1 / 3, Float64Array],
        [0.01, Float32Array],
        [0.25, Float64Array],
      ][index % 4] as [number, typeof Float64Array]
      const found = await latestStarts(inFractions(project, unit, type), {
        durations: type.from(durations, (value) => value * unit),
      })
      expect(found.critical).toEqual(expected.critical)
      expect(found.earliest.critical).toEqual(expected.earliest.critical)
      expect(found.earliest.criticalPath).toEqual(expected.earliest.criticalPath)
      for (const [job, slack] of expected.slack.entries()) {
        if (slack === 0) expect(found.slack[job]).toBe(0)
        else expect(found.slack[job]).toBeCloseTo(slack * unit, 4)
      }
    },
  )

  it('are rejected with the advice to use whole units if only rounding makes a cycle too long', async () => {
    const names = ['a', 'b', 'c']
    const plan = {
      nodes: names,
      from: ['a', 'b', 'c'],
      to: ['b', 'c', 'a'],
      weight: Float64Array.of(0.1, 0.2, -0.3),
    }
    await expect(earliestStarts(plan)).rejects.toMatchObject({
      code: 'ERR_MPMML_CYCLE',
      keys: names,
      message: expect.stringMatching(/a → b → c → a .*rounding.*minutes/),
    })
    const late = { ...plan, weight: Float64Array.of(0.1, 0.2, -0.25) }
    const error = await earliestStarts(late).catch(({ message }) => message)
    expect(error).toMatch(/shorten its jobs/)
    expect(error).not.toMatch(/rounding/)
  })
})

describe('critical jobs', () => {
  /** Jobs on some path of tight edges to a job that ends last, by all walks backward from such jobs. */
  function criticalOf(project: Project, starts: number[], durations: number[]): number[] {
    const end = Math.max(...starts.map((time, i) => time + durations[i]!))
    const found = new Set([...starts.keys()].filter((i) => starts[i]! + durations[i]! === end))
    for (const j of found)
      for (const [k, w] of project.weight.entries())
        if (project.to[k] === j && starts[project.from[k]!]! + w === starts[j]) found.add(project.from[k]!)
    return [...found].sort((a, b) => a - b)
  }

  it.each(Array.from({ length: 100 }, (_, index) => index))(
    'are the jobs of all critical chains: project %i',
    async (index) => {
      const random = new Random(index + 300)
      const nodes = random.integer(1, 10)
      const project = randomGraph(random, nodes, 2 * nodes, (i, j) =>
        i < j ? random.integer(0, 3) : random.integer(-9, 0),
      )
      const durations = Array.from({ length: nodes }, () => random.integer(0, 3))
      const result = await earliestStarts(project, { durations }).catch(() => null)
      if (!result) return
      expect(result.critical).toEqual(criticalOf(project, [...result.starts], durations))
      expect(result.critical).toEqual(expect.arrayContaining(result.criticalPath))
      expect(new Set(result.criticalPath).size).toBe(result.criticalPath.length)
      expectCriticalPath(project, result.criticalPath, result.starts, Array(nodes).fill(0))
    },
  )

  it('include both of two chains, and milestones', async () => {
    const [start, a, b, c, d, done] = [0, 1, 2, 3, 4, 5]
    const project: Project = { nodes: 6, from: [], to: [], weight: [] }
    const durations = [0, 3, 4, 5, 2, 0]
    for (const [i, j] of [
      [start, a],
      [start, c],
      [a, b],
      [c, d],
      [b, done],
      [d, done],
      [c, done],
    ] as const)
      addEdge(project, i, j, durations[i]!)
    const { criticalPath, critical } = await earliestStarts(project, { durations })
    expect(critical).toEqual([start, a, b, c, d, done])
    expect([
      [start, a, b, done],
      [start, c, d, done],
    ]).toContainEqual(criticalPath)
  })
})

describe('jobs with names', () => {
  const named = {
    nodes: ['walls', 'roof', 'wires', 'paint'],
    from: ['walls', 'walls', 'roof', 'wires'],
    to: ['roof', 'wires', 'paint', 'paint'],
    weight: [5, 5, 3, 4],
  }
  const durations = [5, 3, 4, 2]

  it('are in results and errors', async () => {
    const { starts, criticalPath, critical, keys } = await earliestStarts(named, { durations })
    expectTypeOf(criticalPath).toEqualTypeOf<string[]>()
    expectTypeOf(starts).toExtend<Int32Array>()
    expect(criticalPath).toEqual(['walls', 'wires', 'paint'])
    expect(critical).toEqual(['walls', 'wires', 'paint'])
    expect([...Array.from(keys!)]).toEqual(named.nodes)
    const late = await latestStarts(named, { durations })
    expect(late.critical).toEqual(critical)
    expect(late.earliest.criticalPath).toEqual(criticalPath)
    await expect(earliestStarts(named, { durations: [5, 3, 4, 2 ** 31 - 1] })).rejects.toEqual(
      coded('OVERFLOW', /the end of job paint/),
    )
    const round = {
      ...named,
      from: [...named.from, 'paint'],
      to: [...named.to, 'walls'],
      weight: [5, 5, 3, 4, -8],
    }
    await expect(latestStarts(round)).rejects.toMatchObject({
      cycle: [0, 2, 3],
      keys: ['walls', 'wires', 'paint'],
      weight: 1,
      message: expect.stringMatching(/walls → wires → paint → walls/),
    })
    await expect(latestStarts(round)).rejects.not.toMatchObject({ message: expect.stringMatching(/path/) })
  })

  it('are the keys of a list with keys', async () => {
    const keyed = { nodes: 2, keys: ['a', 'b'], from: [0], to: [1], weight: Float64Array.of(0.5) }
    const { criticalPath, starts } = await earliestStarts(keyed)
    expectTypeOf(starts).toExtend<Float64Array>()
    expect(criticalPath).toEqual(['a', 'b'])
  })
})

describe('bad input', () => {
  const jobs = { nodes: 2, from: [0], to: [1], weight: [5] }
  const early = (weights: unknown, options: object = {}) =>
    earliestStarts(weights as never, options as EarliestOptions)
  const late = (weights: unknown, options: object = {}) =>
    latestStarts(weights as never, options as LatestOptions)
  it.each<[string, () => Promise<unknown>, string, RegExp]>([
    ['nothing', () => early(null), 'DTYPE', /must be a matrix/],
    ['a matrix that is not square', () => early(matrix(2, 3)), 'SHAPE', /one square matrix/],
    ['a node outside', () => early({ ...jobs, to: [2] }), 'VALUE', /to\[0\] is 2/],
    ['NaN', () => early(matrix(1, 1, Float64Array.of(NaN))), 'VALUE', /\[0, 0\] is NaN/],
    [
      'releases of another length',
      () => early(jobs, { release: [1] }),
      'SHAPE',
      /release must have 2 elements/,
    ],
    [
      'releases that are not there',
      () => early(jobs, { release: [1, EPSILON] }),
      'VALUE',
      /release\[1\] is -2147483648/,
    ],
    [
      'durations of halves',
      () => early(jobs, { durations: 0.5 }),
      'DTYPE',
      /durations\[0\] must be an int32/,
    ],
    [
      'a negative duration',
      () => early(jobs, { durations: -1 }),
      'VALUE',
      /^durations is -1, but it must be 0 or more$/,
    ],
    [
      'a negative duration among others',
      () => late({ ...jobs, weight: Float64Array.of(5) }, { durations: Float64Array.of(1, -0.5) }),
      'VALUE',
      /^durations\[1\] is -0.5, but it must be 0 or more$/,
    ],
    [
      'a duration that is not there',
      () => early(jobs, { durations: [1, EPSILON] }),
      'VALUE',
      /durations\[1\] is -2147483648, but it must be a time, which is finite/,
    ],
    ['durations of words', () => early(jobs, { durations: 'long' }), 'DTYPE', /durations must be a matrix/],
    [
      'an infinite deadline',
      () => late({ ...jobs, weight: Float64Array.of(5) }, { deadline: Infinity }),
      'VALUE',
      /deadline is Infinity/,
    ],
    ['a deadline for the earliest', () => early(jobs, { deadline: 5 }), 'OPTION', /no option 'deadline'/],
    ['another option', () => late(jobs, { semiring: 'min-plus' }), 'OPTION', /no option 'semiring'/],
    ['a signal', () => early(jobs, { signal: AbortSignal.abort() }), 'ABORTED', /aborted/],
  ])('%s', async (_, call, code, message) => {
    await expect(call()).rejects.toEqual(coded(code, message))
  })
})

describe('reverseEdges', () => {
  it('converts precedences to the matrix of cycle times', async () => {
    const random = new Random(7)
    const [nodes, periods] = [9, 2000]
    const edges = {
      nodes,
      // Each job waits for another one, so that each has a cycle time.
      from: Array.from({ length: 20 }, () => random.integer(0, nodes - 1)),
      to: Array.from({ length: 20 }, (_, e) => (e < nodes ? e : random.integer(0, nodes - 1))),
      weight: Array.from({ length: 20 }, () => random.integer(1, 50)),
    }
    // A job begins its next period after its predecessors of the previous period.
    let starts = Array<number>(nodes).fill(0)
    for (let k = 0; k < periods; k++) {
      const next = Array<number>(nodes).fill(-Infinity)
      for (const [e, from] of edges.from.entries()) {
        next[edges.to[e]!] = Math.max(next[edges.to[e]!]!, starts[from]! + edges.weight[e]!)
      }
      starts = next
    }
    const { values } = await cycleTimes(reverseEdges(edges))
    // The transient changes the mean of all periods by less than this bound.
    for (let job = 0; job < nodes; job++)
      expect(Math.abs(starts[job]! / periods - values[job]!)).toBeLessThan(0.5)
    expect(new Set(values).size).toBeGreaterThan(1)
  })

  it('is its own inverse', () => {
    const edges = { nodes: 3, from: [0, 1], to: [1, 2], weight: Float64Array.of(1, 2) }
    expect(reverseEdges(edges)).toEqual({ nodes: 3, from: [1, 2], to: [0, 1], weight: edges.weight })
    expect(reverseEdges(reverseEdges(edges))).toEqual(edges)
  })

  it('transposes matrices, in arrays and on a device', async () => {
    const a = matrix(2, 2, [1, 2, 3, 4])
    const reversed = reverseEdges(a)
    expect(reversed).toEqual({ data: a.data, shape: [2, 2], strides: [1, 2], offset: 0 })
    expect(reverseEdges(reversed)).toEqual({ ...a, strides: [2, 1], offset: 0 })
    const inner = { data: Int16Array.of(0, 1, 2, 0, 3, 4), shape: [2, 2], strides: [3, 1], offset: 1 }
    expect(reverseEdges(inner)).toEqual({ ...inner, strides: [1, 3] })
    const device = await openDevice({ backend: 'cpu' })
    const there = reverseEdges(await device.upload(a))
    expect([...(await there.download()).data]).toEqual([1, 3, 2, 4])
    await device.close()
  })

  it.each([
    ['nothing', undefined, 'DTYPE', 'graph must be an edge list'],
    ['a number', 5, 'DTYPE', 'or a square matrix { data, shape }, but it is a number'],
    ['an object', {}, 'DTYPE', 'graph'],
    ['a matrix that is not square', matrix(2, 3), 'SHAPE', 'square'],
    ['a batch', matrix([2, 2, 2]), 'SHAPE', 'square'],
  ])('rejects %s', (_, graph, code, message) => {
    expect(() => reverseEdges(graph as never)).toThrow(coded(code, message))
  })
})
