/** Best paths of arrays on disk, compared with Floyd–Warshall in its textbook form. */
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type ArraysOptions, shortestPathsArrays } from '../../lib/arrays.js'
import { readNpy, writeNpy } from '../../lib/files.js'
import { type Plain, readZarr, writeZarr } from '../support/arrays.js'
import { coded } from '../support/coded.js'
import { useFolder } from '../support/folder.js'
import { Random } from '../support/generators.js'
import { floydWarshall, realOf, shortestDistances } from '../support/graph-oracle.js'

const inFolder = useFolder()

let names = 0
const fresh = (ending: string) => inFolder(`${names++}${ending}`)

const NONE = 2 ** 31 - 1

/** Returns a graph without negative cycles. Potentials make some weights negative. */
function graph(n: number, density: number, seed: number, range = 1000): Plain & { data: Int32Array } {
  const random = new Random(seed)
  const potential = Array.from({ length: n }, () => random.integer(0, range))
  const data = Int32Array.from({ length: n * n }, (_, at) =>
    random.chance(density)
      ? random.integer(0, range) + potential[Math.floor(at / n)]! - potential[at % n]!
      : NONE,
  )
  for (let i = 0; i < n; i++) data[i * n + i] = random.chance(0.5) ? NONE : random.integer(0, 5)
  return { shape: [n, n], data }
}

async function distances(weights: Plain, out: string, options: ArraysOptions) {
  const path = fresh('.npy')
  await writeNpy(path, weights as Parameters<typeof writeNpy>[1])
  const result = await shortestPathsArrays(path, out, { backend: 'cpu', ...options })
  expect(existsSync(`${out}.partial`)).toBe(false)
  return { result, data: (out.endsWith('.npy') ? await readNpy(out) : await readZarr(out)).data }
}

describe('shortest paths', () => {
  it.each([
    [1, 1],
    [5, 2],
    [50, 50],
    [50, 64],
    [64, 32],
    [77, 20],
    [77, 76],
  ])('are right for %i nodes in blocks of %i', async (n, block) => {
    const weights = graph(n, 0.1, n)
    const { data } = await distances(weights, fresh('.npy'), { block })
    expect(data).toEqual(shortestDistances(weights.data, n))
  })

  it('are written to a compressed Zarr array from an int16 array', async () => {
    const n = 60
    const weights = graph(n, 0.15, 3, 100)
    const [path, out] = [fresh('.zarr'), fresh('.zarr')]
    await writeZarr(
      path,
      { shape: [n, n], data: Int16Array.from(weights.data, (value) => (value === NONE ? 32767 : value)) },
      [16, 16],
    )
    await shortestPathsArrays(path, out, { backend: 'cpu', block: 16, chunks: [8, 16], codec: 'zstd' })
    expect((await readZarr(out)).data).toEqual(shortestDistances(weights.data, n))
  })

  it('are exact if intermediate sums exceed int32, and overflow if distances do', async () => {
    const n = 40
    const large = 2 ** 30
    // The edges form a chain with large weights, then equally large negative ones, so intermediate sums
    // exceed int32 far.
    const data = new Int32Array(n * n).fill(NONE)
    for (let i = 0; i + 1 < n; i++) data[i * n + i + 1] = i < n / 2 ? large : -large
    const weights = { shape: [n, n] as [number, number], data }
    const exact = floydWarshall(realOf(data), n)
    await expect(distances(weights, fresh('.npy'), { block: 16 })).rejects.toEqual(
      coded('OVERFLOW', /the distance from \d+ to \d+ is -?\d{10,}, outside the finite range/),
    )
    const { data: saturated } = await distances(weights, fresh('.npy'), { block: 16, overflow: 'saturate' })
    expect(saturated).toEqual(
      Int32Array.from(exact, (value) =>
        Number.isFinite(value) ? Math.min(Math.max(value, -(2 ** 31)), NONE - 1) : NONE,
      ),
    )
    // The last node connects all nodes by short edges, so distances fit into int32 only after the last step.
    const few = data.map((value) => (value === NONE ? NONE : Math.abs(value)))
    for (let i = 0; i < n; i++) few[i * n + n - 1] = few[(n - 1) * n + i] = 7
    const { data: near } = await distances({ shape: [n, n], data: few }, fresh('.npy'), { block: 16 })
    expect(near).toEqual(shortestDistances(few, n))
  })

  it.each(['float32', 'float64'] as const)('are exact over integers in %s', async (dtype) => {
    const weights = graph(50, 0.2, 9)
    const data = (dtype === 'float32' ? Float32Array : Float64Array).from(realOf(weights.data))
    const { data: found } = await distances({ shape: [50, 50], data }, fresh('.npy'), { block: 20 })
    expect(Array.from(found)).toEqual(Array.from(floydWarshall(data, 50)))
  })

  it('are weights of best paths within rounding over floats', async () => {
    const n = 50
    const random = new Random(12)
    const data = Float32Array.from({ length: n * n }, () =>
      random.chance(0.2) ? random.integer(1, 1 << 20) / 3 : Number.POSITIVE_INFINITY,
    )
    const exact = floydWarshall(data, n)
    for (const block of [7, 20, 50]) {
      const { data: found } = await distances({ shape: [n, n], data }, fresh('.npy'), { block })
      for (const [at, distance] of exact.entries()) {
        if (!Number.isFinite(distance)) expect(found[at]).toBe(distance)
        // A path has fewer than n edges, and the relative rounding error of every sum is at most 2^-24.
        else expect(Math.abs(found[at]! - distance)).toBeLessThanOrEqual(n * 2 ** -24 * distance)
      }
    }
  })

  it.each([
    [{ cols: 16 }, { rows: 16, cols: 16, depth: 16 }],
    [{ depth: 24 }, { rows: 24, cols: 24, depth: 24 }],
    [
      { rows: 8, depth: 8 },
      { rows: 8, cols: 8, depth: 8 },
    ],
  ])('are right in blocks of %j', async (block, expected) => {
    const weights = graph(50, 0.1, 3)
    const { result, data } = await distances(weights, fresh('.npy'), { block })
    expect(result.block).toEqual(expected)
    expect(data).toEqual(shortestDistances(weights.data, 50))
  })

  it('are rejected with blocks that are not square', async () => {
    for (const block of [
      { rows: 16, cols: 32 },
      { cols: 16, depth: 8 },
    ]) {
      await expect(distances(graph(5, 0.5, 1), fresh('.npy'), { block })).rejects.toEqual(
        coded('OPTION', /blocks of paths are square/),
      )
    }
  })

  it('are longest paths with max-plus and widest paths with max-min', async () => {
    const n = 48
    const weights = graph(n, 0.2, 4)
    const mirrored = { ...weights, data: weights.data.map((value) => (value === NONE ? -(2 ** 31) : -value)) }
    const { data } = await distances(mirrored, fresh('.npy'), { block: 20, semiring: 'max-plus' })
    const shortest = floydWarshall(realOf(weights.data), n)
    expect(data).toEqual(
      Int32Array.from(shortest, (value) => (value === Number.POSITIVE_INFINITY ? -(2 ** 31) : -value)),
    )
    const widths = floydWarshall(mirrored.data, n, { better: Math.max, along: Math.min, empty: NONE })
    const { data: widest } = await distances(mirrored, fresh('.npy'), { block: 20, semiring: 'max-min' })
    expect(widest).toEqual(Int32Array.from(widths))
  })

  it('are rejected for an improving cycle, with its nodes', async () => {
    const weights = graph(50, 0.1, 5)
    weights.data[41 * 50 + 45] = -2000
    weights.data[45 * 50 + 41] = 3
    const out = fresh('.npy')
    const error = await distances(weights, out, { block: 20 }).catch((error) => error)
    expect(error).toEqual(coded('CYCLE', /gains in min-plus/))
    for (const node of error.cycle) expect(node).toBeGreaterThanOrEqual(0)
    expect(error.weight).toBeLessThan(0)
    expect(existsSync(out)).toBe(false)
  })

  it('are rejected for matrices that are not square, for plus-times and for wrap', async () => {
    const oblong = { shape: [3, 4] as [number, number], data: new Int32Array(12) }
    await expect(distances(oblong, fresh('.npy'), {})).rejects.toEqual(coded('SHAPE', /must be square/))
    const weights = graph(5, 0.5, 1)
    await expect(distances(weights, fresh('.npy'), { semiring: 'plus-times' })).rejects.toEqual(
      coded('OPTION', /plus-times/),
    )
    await expect(distances(weights, fresh('.npy'), { overflow: 'wrap' })).rejects.toEqual(
      coded('OPTION', /wrap/),
    )
  })
})
