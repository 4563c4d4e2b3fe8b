/** Cycle means of matrices, of parallel edges and of large graphs, and the errors of bad input. */
import { describe, expect, it } from 'vitest'
import {
  componentCycleMeans,
  criticalGraph,
  cycleTimes,
  eigenvectors,
  maximumCycleMean,
  minimumCycleMean,
} from '../../lib/algebra.js'
import { EPSILON, matrix, mpmm, openDevice } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { bestMean, connected, int32, none, type Rows } from '../support/cycle-means.js'
import { Random } from '../support/generators.js'
import { errorsAfterAbort } from '../support/in-time.js'

describe('matrices', () => {
  const rows: Rows = [
    [-2, 1, none],
    [3, none, 3],
    [5, 2, 1],
  ]

  it('are graphs: element [i, j] is the edge i · n + j from i to j', async () => {
    const mean = (await maximumCycleMean(int32(rows)))!
    expect(mean).toEqual({ numerator: 3, denominator: 1, value: 3, cycle: [0, 1, 2], edges: [1, 5, 6] })
    expect(await criticalGraph(int32(rows))).toMatchObject({
      nodes: Int32Array.of(0, 1, 2),
      edges: [1, 5, 6],
      components: [Int32Array.of(0, 1, 2)],
      cyclicity: 3,
    })
  })

  it('may have strides, other types, and be on a device', async () => {
    const { data } = int32(rows)
    const expected = await maximumCycleMean(int32(rows))
    const apart = new Int32Array(40).fill(99)
    for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) apart[5 + 2 * i + 7 * j] = data[3 * i + j]!
    expect(await maximumCycleMean({ data: apart, shape: [3, 3], strides: [2, 7], offset: 5 })).toEqual(
      expected,
    )
    const half = Int16Array.from(data, (value) => (value === EPSILON ? -(2 ** 15) : value))
    expect(await maximumCycleMean({ data: half, shape: [3, 3] })).toEqual(expected)
    for (const Type of [Float32Array, Float64Array]) {
      const floats = new Type(data).map((value) => (value === EPSILON ? -Infinity : value))
      const mean = (await maximumCycleMean(matrix(3, 3, floats)))!
      expect(mean).toMatchObject({ value: 3, cycle: expected!.cycle })
    }
    const device = await openDevice({ backend: 'cpu' })
    try {
      expect(await maximumCycleMean(await device.upload(int32(rows)))).toEqual(expected)
      expect(await maximumCycleMean(await device.upload({ data: half, shape: [3, 3] }))).toEqual(expected)
    } finally {
      await device.close()
    }
  })

  it.each([10, 60, 300])('have the cycle mean of Karp’s algorithm by products: %i nodes', async (n) => {
    const random = new Random(n)
    for (const share of [1, 0.5, 2 / n]) {
      const data = Int32Array.from({ length: n * n }, () =>
        random.chance(share) ? random.integer(-(10 ** 6), 10 ** 6) : EPSILON,
      )
      // R. Karp, A characterization of the minimum cycle mean in a digraph (1978): x(k) = x(k - 1) ⊗ A from x(0) = 0.
      const a = matrix(
        n,
        n,
        Float64Array.from(data, (value) => (value === EPSILON ? -Infinity : value)),
      )
      let x = matrix(1, n, new Float64Array(n))
      const walks = [x.data]
      for (let k = 1; k <= n; k++) {
        x = (await mpmm(x, a)).c
        walks.push(x.data)
      }
      let expected = -Infinity
      for (let v = 0; v < n; v++) {
        if (walks[n]![v] === -Infinity) continue
        const means = walks.slice(0, n).map((walk, k) => (walks[n]![v]! - walk[v]!) / (n - k))
        expected = Math.max(expected, Math.min(...means))
      }
      const mean = await maximumCycleMean(matrix(n, n, data))
      expect(mean?.value ?? -Infinity).toBe(expected)
    }
  })
})

describe('the meaning of edges', () => {
  it('includes that the better of parallel edges counts, and is returned', async () => {
    const graph = { nodes: 1, from: [0, 0, 0, 0], to: [0, 0, 0, 0], weight: [3, 5, 5, -1] }
    expect(await maximumCycleMean(graph)).toEqual({
      numerator: 5,
      denominator: 1,
      value: 5,
      cycle: [0],
      edges: [1],
    })
    expect(await minimumCycleMean(graph)).toMatchObject({ numerator: -1, edges: [3] })
  })

  it("includes that the semiring's zero is no edge", async () => {
    const graph = { nodes: 1, from: [0], to: [0], weight: [EPSILON] }
    expect(await maximumCycleMean(graph)).toBeNull()
    expect(await minimumCycleMean(graph)).toMatchObject({ numerator: -(2 ** 31) })
    const float = { ...graph, weight: Float32Array.of(-Infinity) }
    expect(await maximumCycleMean(float)).toBeNull()
    await expect(minimumCycleMean(float)).rejects.toEqual(coded('VALUE', /^weight\[0\] is -Infinity/))
  })

  it('includes graphs without nodes and without edges', async () => {
    const none = { nodes: 0, from: [], to: [], weight: [] }
    for (const graph of [none, { ...none, nodes: 1 }, { ...none, nodes: 3 }, matrix(0, 0), int32([[null]])]) {
      expect(await maximumCycleMean(graph)).toBeNull()
      expect(await eigenvectors(graph)).toBeNull()
      expect(await criticalGraph(graph)).toBeNull()
    }
    expect((await cycleTimes(none)).values.length).toBe(0)
    expect(await componentCycleMeans({ ...none, nodes: 2 })).toMatchObject({ means: [null, null] })
  })

  it('includes that a zero mean has no sign, and an eigenvector no negative zero', async () => {
    const graph = { nodes: 2, from: [0, 1], to: [1, 0], weight: [0, 0] }
    for (const semiring of ['max-plus', 'min-plus'] as const) {
      expect((await bestMean(graph, semiring))!.numerator).toBe(0)
      expect([...(await eigenvectors(graph, { semiring }))!.vectors[0]!.values]).toEqual([0, 0])
    }
  })
})

describe('bad input', () => {
  const graph = { nodes: 2, from: [0, 1], to: [1, 0], weight: [1, 2] }
  const functions = {
    maximumCycleMean,
    minimumCycleMean,
    componentCycleMeans,
    cycleTimes,
    eigenvectors,
    criticalGraph,
  }
  const cases: [string, unknown, string, RegExp][] = [
    ['nothing', undefined, 'DTYPE', /must be a matrix/],
    ['a number', 3, 'DTYPE', /must be a matrix/],
    ['a matrix that is not square', matrix(2, 3), 'SHAPE', /must be one square matrix.*\[2, 3\]/],
    ['a batch', matrix([2, 3, 3]), 'SHAPE', /must be one square matrix.*\[2, 3, 3\]/],
    ['a matrix of uint8', matrix(1, 1, new Uint8Array(1)), 'DTYPE', /max-plus has|min-plus has/],
    ['NaN in a matrix', matrix(1, 1, Float64Array.of(NaN)), 'VALUE', /element \[0, 0\] is NaN/],
    ['NaN in a list', { ...graph, weight: Float64Array.of(1, NaN) }, 'VALUE', /weight\[1\] is NaN/],
    ['a short matrix', { data: new Int32Array(3), shape: [2, 2] }, 'SHAPE', /at least 4 elements/],
    ['a list without ends', { nodes: 2, from: [0] }, 'DTYPE', /to must be an array of node numbers/],
    ['a node outside', { ...graph, to: [1, 2] }, 'VALUE', /to\[1\] is 2/],
    ['a negative node', { ...graph, from: [0, -1] }, 'VALUE', /from\[1\] is -1/],
    ['arrays of unequal lengths', { ...graph, from: [0] }, 'SHAPE', /1, 2 and 2 entries/],
    ['a negative number of nodes', { ...graph, nodes: -1 }, 'SHAPE', /nodes must be/],
    ['weights that are no integers', { ...graph, weight: [1, 0.5] }, 'DTYPE', /weight\[1\]/],
  ]
  for (const [name, call] of Object.entries(functions)) {
    it.each(cases)(`is rejected by ${name}: %s`, async (_, weights, code, message) => {
      await expect(call(weights as never)).rejects.toEqual(coded(code, message))
    })
    it(`is rejected by ${name} in options`, async () => {
      await expect(call(graph, { ring: 1 } as never)).rejects.toEqual(
        coded('OPTION', /there is no option 'ring'/),
      )
      await expect(call(graph, { signal: 1 } as never)).rejects.toEqual(coded('OPTION', /AbortSignal/))
      const signal = AbortSignal.abort('enough')
      await expect(call(graph, { signal })).rejects.toMatchObject({
        code: 'ERR_MPMML_ABORTED',
        cause: 'enough',
      })
    })
  }

  it('includes other semirings', async () => {
    await expect(criticalGraph(graph, { semiring: 'max-min' as never })).rejects.toEqual(
      coded('OPTION', /option semiring must be 'max-plus' or 'min-plus'/),
    )
    await expect(maximumCycleMean(graph, { semiring: 'min-plus' } as never)).rejects.toEqual(coded('OPTION'))
  })

  it('includes +∞ in max-plus', async () => {
    await expect(maximumCycleMean(matrix(1, 1, Float64Array.of(Infinity)))).rejects.toEqual(
      coded('VALUE', /element \[0, 0\] is Infinity/),
    )
  })
})

describe('large graphs', () => {
  it('may be a cycle of 10^6 nodes', async () => {
    const nodes = 1_000_000
    const from = Int32Array.from({ length: nodes }, (_, i) => i)
    const graph = { nodes, from, to: from.map((i) => (i + 1) % nodes), weight: from.map((i) => i % 2) }
    const mean = (await maximumCycleMean(graph))!
    expect(mean).toMatchObject({ numerator: 1, denominator: 2 })
    expect(mean.cycle.length).toBe(nodes)
  })

  it('may have 300 000 nodes, each of which is a component', async () => {
    const nodes = 300_000
    const from = Int32Array.from({ length: nodes }, (_, i) => i)
    const graph = { nodes, from, to: from, weight: from }
    expect(await maximumCycleMean(graph)).toMatchObject({ numerator: nodes - 1, cycle: [nodes - 1] })
    expect((await cycleTimes(graph)).values[17]).toBe(17)
  })

  it('are rejected if their eigenvectors exceed the memory: one for each of 300 000 loops of equal weight', async () => {
    const nodes = 300_000
    const from = Int32Array.from({ length: nodes }, (_, i) => i)
    const graph = { nodes, from, to: from, weight: new Int32Array(nodes) }
    await expect(eigenvectors(graph)).rejects.toEqual(coded('OUT_OF_MEMORY', /the 300000 eigenvectors/))
    expect((await criticalGraph(graph))!.components.length).toBe(nodes)
  })

  it('let the event loop turn during a search, which a signal ends', async () => {
    const random = new Random(5)
    const graph = connected(random, 20_000, 400_000, () => random.integer(-1000, 1000))
    const [error] = await errorsAfterAbort(
      (signal) => [criticalGraph(graph, { signal })],
      (controller) => {
        let turns = 0
        const timer = setInterval(() => {
          if (++turns < 3) return
          clearInterval(timer)
          controller.abort('enough')
        }, 1)
      },
    )
    expect(error).toMatchObject({ code: 'ERR_MPMML_ABORTED', cause: 'enough' })
  })
})

describe('cycle means whose sums are beyond float64', () => {
  // The mean of 1.5·2^1023 and 1.25·2^1023 is 1.375·2^1023.
  const edges = { nodes: 2, from: [0, 1], to: [1, 0] }
  const mean = 1.375 * 2 ** 1023

  it.each([1, -1])('are finite with the sign %i', async (sign) => {
    const weight = Float64Array.of(sign * 1.5 * 2 ** 1023, sign * 1.25 * 2 ** 1023)
    const expected = { numerator: sign * mean, denominator: 1, value: sign * mean }
    expect(await maximumCycleMean({ ...edges, weight })).toMatchObject(expected)
    expect(await minimumCycleMean({ ...edges, weight })).toMatchObject(expected)
    expect((await cycleTimes({ ...edges, weight })).values).toEqual(Float64Array.of(sign * mean, sign * mean))
    const { means } = await componentCycleMeans({ ...edges, weight })
    expect(means).toMatchObject([expected])
  })

  it('belong to eigenvectors with finite values', async () => {
    const weight = Float64Array.of(1.5 * 2 ** 1023, 1.25 * 2 ** 1023)
    const found = (await eigenvectors({ ...edges, weight }))!
    expect(found.eigenvalue.value).toBe(mean)
    // Element 1 is weight[1] − mean = −2^1020.
    expect([...found.vectors[0]!.values]).toEqual([0, -(2 ** 1020)])
  })
})
