/** Limits of closures on a WebGPU device; test/webgpu/laws.test.ts has closures of random graphs. */
import { afterAll, expect, it } from 'vitest'
import { describeUnless } from '../support/skip.js'
import { callsOf, close, endDevices, withoutAdapter } from '../support/webgpu-calls.js'

const reason = await withoutAdapter()
const calls = callsOf()
afterAll(endDevices)
const NONE = 2 ** 31 - 1

/** Weights of a path graph: each node has an edge of this weight to the next node. */
function line(nodes: number, weight: number): Int32Array {
  const weights = new Int32Array(nodes * nodes).fill(NONE)
  for (let i = 1; i < nodes; i++) weights[(i - 1) * nodes + i] = weight
  return weights
}

describeUnless(reason, 'a closure on a WebGPU device', () => {
  it.each([1, 63, 64, 65, 130])('has the sums of all edges between %d nodes in a line', async (n) => {
    const weights = line(n, -3)
    const edges = weights.slice()
    expect(await close(calls, weights, n)).toEqual({ gain: -1, next: null })
    const expected = Array.from(weights, (_, index) => {
      const [i, j] = [Math.floor(index / n), index % n]
      return j < i ? NONE : 0 - 3 * (j - i)
    })
    expect([...weights]).toEqual(expected)
    const { next } = await close(calls, edges, n, 'min-plus', true)
    expect([...next!]).toEqual(
      expected.map((distance, index) =>
        distance === NONE || distance === 0 ? -1 : Math.floor(index / n) + 1,
      ),
    )
  })

  it('leaves the weights unchanged and reports the first node with an improving cycle through earlier nodes', async () => {
    const n = 70
    const weights = line(n, 1)
    // The cycle 5 → 6 → … → 66 → 5 has the weight 61 − 62.
    weights[66 * n + 5] = -62
    const before = weights.slice()
    expect((await close(calls, weights, n)).gain).toBe(66)
    expect(weights).toEqual(before)
  })

  it.each([1, 2, 3])(
    'returns next nodes that lead to each node, also with cycles of weight 0 (%d)',
    async (seed) => {
      const n = 130
      let state = seed
      const random = (count: number) => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0
        return (state >>> 8) % count
      }
      // Differences of potentials are weights of both signs without improving cycles. Two of three edges are
      // on cycles of weight 0.
      const potential = Array.from({ length: n }, () => random(50))
      const weights = Int32Array.from({ length: n * n }, (_, index) => {
        const [i, j] = [Math.floor(index / n), index % n]
        return random(5) === 0 ? NONE : Math.max(0, random(3) - 1) + potential[i]! - potential[j]!
      })
      const edges = weights.slice()
      const distances = Array.from(weights, (weight, i) =>
        i % (n + 1) === 0 ? 0 : weight === NONE ? Number.POSITIVE_INFINITY : weight,
      )
      for (let k = 0; k < n; k++) {
        for (let i = 0; i < n; i++) {
          for (let j = 0; j < n; j++) {
            const path = distances[i * n + k]! + distances[k * n + j]!
            if (path < distances[i * n + j]!) distances[i * n + j] = path
          }
        }
      }
      const { next } = await close(calls, weights, n, 'min-plus', true)
      expect([...weights]).toEqual(
        distances.map((distance) => (distance === Number.POSITIVE_INFINITY ? NONE : distance)),
      )
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < n; j++) {
          let [node, sum, steps] = [i, 0, 0]
          while (node !== j && steps++ < n) {
            const to = next![node * n + j]!
            sum += edges[node * n + to] ?? Number.NaN
            node = to
          }
          if (node !== j || sum !== distances[i * n + j])
            expect([i, j, node, sum]).toEqual([i, j, j, distances[i * n + j]])
        }
      }
    },
  )

  it.each([
    ['min-plus', 1, true],
    ['max-plus', -1, false],
  ] as const)(
    'returns next nodes of a large graph over %s whose edges have the sign %d, reflexive: %s',
    async (semiring, sign, reflexive) => {
      const n = 520
      const none = sign > 0 ? NONE : -(2 ** 31)
      let state = 9
      const random = (count: number) => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0
        return (state >>> 8) % count
      }
      const weights = new Int32Array(n * n).fill(none)
      // The last nodes have no edge from others.
      for (let edge = 0; edge < 3 * n; edge++)
        weights[random(n) * n + random(n - 20)] = sign * (1 + random(9))
      const edges = weights.slice()
      const distances = Float64Array.from(edges, (weight) => (weight === none ? Infinity : sign * weight))
      if (reflexive) for (let i = 0; i < n; i++) distances[i * n + i] = 0
      for (let k = 0; k < n; k++)
        for (let i = 0; i < n; i++) {
          const first = distances[i * n + k]!
          if (first === Infinity) continue
          for (let j = 0; j < n; j++) {
            const path = first + distances[k * n + j]!
            if (path < distances[i * n + j]!) distances[i * n + j] = path
          }
        }
      const { gain, next } = await close(calls, weights, n, semiring, true, 1, reflexive)
      expect(gain).toBe(-1)
      const wrong = distances.findIndex((distance, at) => {
        if (weights[at] !== (distance === Infinity ? none : sign * distance)) return true
        const [i, j] = [Math.floor(at / n), at % n]
        const to = next![at]!
        if (distance === Infinity || (reflexive && i === j)) return to !== -1
        const rest = to === j ? 0 : distances[to * n + j]!
        return edges[i * n + to] === none || sign * edges[i * n + to]! + rest !== distance
      })
      expect(wrong).toBe(-1)
    },
  )

  it('accepts weights up to the bound of exact paths and rejects larger ones', async () => {
    const most = Math.floor(2 ** 30 / 3 / 4)
    const weights = line(4, most)
    expect((await close(calls, weights, 4)).gain).toBe(-1)
    expect([weights[3], weights[12]]).toEqual([3 * most, NONE])
    const beyond = line(4, most + 1)
    const before = beyond.slice()
    await expect(close(calls, beyond, 4)).rejects.toMatchObject({ code: 'ERR_MPMML_OPTION' })
    expect(beyond).toEqual(before)
  })

  it('closes more graphs than a recording has dispatches', async () => {
    const [batch, n] = [70, 3]
    const weights = new Int32Array(batch * n * n).fill(NONE)
    for (let item = 0; item < batch; item++) weights.set([1, NONE, NONE, NONE, item], item * n * n + 1)
    expect((await close(calls, weights, n, 'min-plus', false, batch)).gain).toBe(-1)
    const expected = Array.from({ length: batch }, (_, item) => [
      0,
      1,
      item + 1,
      NONE,
      0,
      item,
      NONE,
      NONE,
      0,
    ])
    expect([...weights]).toEqual(expected.flat())
  })

  it('rejects semirings without a closure kernel', async () => {
    await expect(close(calls, line(3, 1), 3, 'max-min')).rejects.toMatchObject({ code: 'ERR_MPMML_OPTION' })
  })

  it('computes nothing after its self-test has failed', async () => {
    const isCross = (code: string) => code.includes('rowPanel')
    const wrong = callsOf({ code: (code) => (isCross(code) ? code.replaceAll('min(', 'max(') : code) })
    const weights = line(3, 1)
    await expect(close(wrong, weights, 3)).rejects.toThrow(/self-test|WebGPU/)
    expect((await wrong.describeGpu()).reason).toContain('closures over min-plus')
  })
})
