/** Best paths of edge lists and graph files, streamed to disk, compared with paths by the definition. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type PathsArraysOptions, planBlocks, shortestPathsArrays } from '../../lib/arrays.js'
import { readNpy, writeNpy } from '../../lib/files.js'
import { shortestPaths } from '../../lib/graph.js'
import { CycleError, matrix } from '../../lib/index.js'
import { readZarr } from '../support/arrays.js'
import { coded } from '../support/coded.js'
import { useFolder } from '../support/folder.js'
import { Random } from '../support/generators.js'
import { randomGraph } from '../support/graphs.js'
import { bestFrom, pathAlgebras, type WeightedEdges } from '../support/paths-oracle.js'

const inFolder = useFolder()
afterEach(() => {
  vi.restoreAllMocks()
})

let names = 0
const fresh = (ending: string) => inFolder(`${names++}${ending}`)
const read = async (path: string) => (path.endsWith('.npy') ? await readNpy(path) : await readZarr(path))

const NONE = 2 ** 31 - 1
const all = (nodes: number) => Array.from({ length: nodes }, (_, node) => node)

/** Returns rows of distances, computed by the definition. */
function expected(
  graph: WeightedEdges,
  sources = all(graph.nodes),
  targets = all(graph.nodes),
  none = NONE,
  name: keyof typeof pathAlgebras = 'min-plus',
) {
  return sources.flatMap((source) => {
    const { value } = bestFrom(graph, pathAlgebras[name], source)
    return targets.map((target) => value[target] ?? none)
  })
}

const random = new Random(71)
const graph = randomGraph(random, 90, 260, () => random.integer(0, 50))

describe.each(['auto', 'search', 'dissection'] as const)('distances by %s', (method) => {
  it.each([
    ['.npy', {}],
    ['.npy', { block: 7 }],
    ['.zarr', {}],
    ['.zarr', { block: 32, chunks: [16, 20] }],
    ['.zarr', { block: { rows: 32 }, chunks: [8, 90], shards: [16, 90], codec: 'zstd' }],
    ['.zarr', { chunks: [90, 90], codec: 'gzip' }],
  ] as [string, PathsArraysOptions][])(
    'are written for all pairs into %s with %j',
    async (ending, options) => {
      const out = fresh(ending)
      const result = await shortestPathsArrays(graph, out, { ...options, method })
      expect(result).toMatchObject({ path: out, shape: [90, 90], dtype: 'int32', backend: 'cpu', resumed: 0 })
      if (method !== 'auto') expect(result.method).toBe(method)
      if (typeof options.block === 'number') expect(result.blocks).toBe(Math.ceil(90 / options.block))
      const { data, shape } = await read(out)
      expect([...shape]).toEqual([90, 90])
      expect([...data]).toEqual(expected(graph))
      expect(existsSync(`${out}.partial`)).toBe(false)
    },
  )

  it('are written for some rows and columns, by names too', async () => {
    const sources = [5, 3, 3, 80, 0, 11, 42]
    const targets = [1, 89, 5, 1]
    const out = fresh('.npy')
    await shortestPathsArrays(graph, out, { sources, targets, block: 3, method })
    expect([...(await readNpy(out)).data]).toEqual(expected(graph, sources, targets))
    const name = (node: number) => `node ${node}`
    const named = { ...graph, nodes: all(90).map(name), from: graph.from.map(name), to: graph.to.map(name) }
    const again = fresh('.npy')
    const given = { sources: sources.map(name), targets: targets.map(name), block: 2, method }
    expect((await shortestPathsArrays(named, again, given)).blocks).toBe(4)
    expect((await readNpy(again)).data).toEqual((await readNpy(out)).data)
    const one = fresh('.zarr')
    await shortestPathsArrays(named, one, { sources: 'node 7', method })
    expect([...(await readZarr(one)).data]).toEqual(expected(graph, [7]))
  })
})

it.each(['min-plus', 'max-plus', 'max-min', 'max-times'] as const)(
  'are right over %s in every type',
  async (semiring) => {
    const types =
      semiring === 'max-times' ? [Float32Array, Float64Array] : [Int32Array, Float32Array, Float64Array]
    const weight = () => {
      const value = random.integer(1, 6)
      if (semiring === 'max-times') return 2 ** -value
      return semiring === 'max-plus' ? -value : value
    }
    const plain = randomGraph(random, 40, 100, weight)
    for (const Type of types) {
      const out = fresh('.npy')
      const { dtype } = await shortestPathsArrays({ ...plain, weight: Type.from(plain.weight) }, out, {
        semiring,
        block: 13,
      })
      const { data } = await readNpy(out)
      expect(data).toBeInstanceOf(Type)
      expect(dtype).toBe(Type.name.replace('Array', '').toLowerCase())
      const isInt = Type === Int32Array
      const none =
        { 'min-plus': isInt ? NONE : Infinity, 'max-times': 0 }[semiring as string] ??
        (isInt ? -NONE - 1 : -Infinity)
      const one = (value: number) => (isInt && value === Infinity ? NONE : value)
      expect([...data]).toEqual(expected(plain, undefined, undefined, none, semiring).map(one))
    }
  },
)

it('reads files of graphs', async () => {
  const csv = fresh('.csv')
  writeFileSync(csv, graph.from.map((from, e) => `${from},${graph.to[e]},${graph.weight[e]}\n`).join(''))
  const gr = fresh('.gr')
  const arcs = graph.from.map((from, e) => `a ${from + 1} ${graph.to[e]! + 1} ${graph.weight[e]}\n`)
  writeFileSync(gr, `p sp 90 260\n${arcs.join('')}`)
  for (const path of [csv, new URL(`file://${gr}`)]) {
    const out = fresh('.zarr')
    const { bytesRead } = await shortestPathsArrays(path, out, { sources: [4, 2] })
    expect(bytesRead).toBe(readFileSync(path).length)
    const nodes = Math.max(...graph.from, ...graph.to) + 1
    const columns = path === csv ? all(nodes) : all(90)
    expect([...(await readZarr(out)).data]).toEqual(expected(graph, [4, 2], columns))
    const created = JSON.parse(readFileSync(join(out, 'zarr.json'), 'utf8')).attributes.mpmml
    expect(created).toMatchObject({ kind: 'graph-paths', semiring: 'min-plus' })
  }
})

it('applies a limit', async () => {
  const out = fresh('.npy')
  await shortestPathsArrays(graph, out, { limit: 40, block: 20 })
  expect([...(await readNpy(out)).data]).toEqual(expected(graph).map((d) => (d > 40 ? NONE : d)))
})

it('accepts weights that make paths better, and distances that overflow', async () => {
  const potential = all(90).map(() => random.integer(0, 30))
  const weight = graph.weight.map((w, e) => w + potential[graph.from[e]!]! - potential[graph.to[e]!]!)
  const shifted = { ...graph, weight }
  const out = fresh('.npy')
  await shortestPathsArrays(shifted, out, { block: 25 })
  expect([...(await readNpy(out)).data]).toEqual(expected(shifted))
  const line = { nodes: 4, from: [0, 1, 2], to: [1, 2, 3], weight: [2 ** 30, 2 ** 30, 1] }
  const long = fresh('.npy')
  await expect(shortestPathsArrays(line, long)).rejects.toThrow(coded('OVERFLOW', 'from 0 to 2'))
  await shortestPathsArrays(line, long, { overflow: 'saturate', overwrite: true, sources: 0 })
  expect([...(await readNpy(long)).data]).toEqual([0, 2 ** 30, NONE - 1, NONE - 1])
  const ring = { nodes: 3, from: [0, 1, 2], to: [1, 2, 1], weight: [1, 2, -3] }
  await expect(shortestPathsArrays(ring, fresh('.npy'))).rejects.toThrow(CycleError)
})

it('accepts empty graphs, and empty lists', async () => {
  for (const ending of ['.npy', '.zarr']) {
    const none = fresh(ending)
    const nothing = { nodes: 0, from: [], to: [], weight: [] }
    expect(await shortestPathsArrays(nothing, none)).toMatchObject({ shape: [0, 0], blocks: 0 })
    const rows = fresh(ending)
    expect(await shortestPathsArrays(graph, rows, { targets: [] })).toMatchObject({ shape: [90, 0] })
    const shapes =
      ending === '.npy'
        ? [
            [0, 0],
            [90, 0],
          ]
        : []
    for (const [at, shape] of shapes.entries())
      expect((await readNpy([none, rows][at]!)).shape).toEqual(shape)
  }
})

describe.each(['.npy', '.zarr'])('aborted work on %s', (ending) => {
  const options: PathsArraysOptions = { block: 10, ...(ending === '.zarr' && { chunks: [10, 30] }) }

  /** Starts the work and aborts it after `after` blocks. */
  async function cutOff(out: string, after: number, more: PathsArraysOptions = {}) {
    const controller = new AbortController()
    const done: number[] = []
    const onProgress = ({ blocks, total, done: share }: { blocks: number; total: number; done: number }) => {
      expect(total).toBe(9)
      expect(share).toBeLessThanOrEqual(1)
      done.push(blocks)
      if (blocks >= after) controller.abort('enough')
    }
    const { signal } = controller
    await expect(
      shortestPathsArrays(graph, out, { ...options, ...more, signal, onProgress }),
    ).rejects.toThrow(coded('ABORTED'))
    expect(existsSync(out)).toBe(false)
    return done.at(-1)!
  }

  it('continues with the same result', async () => {
    const out = fresh(ending)
    const before = await cutOff(out, 3)
    await expect(shortestPathsArrays(graph, out, options)).rejects.toThrow(coded('EXISTS', 'resume'))
    // The aborted work may have written more blocks than onProgress has reported.
    const more = await cutOff(out, before + 2, { resume: true })
    const { resumed, blocks, method } = await shortestPathsArrays(graph, out, {
      resume: true,
      method: 'search',
    })
    expect(blocks).toBe(9)
    expect(resumed).toBeGreaterThanOrEqual(more)
    expect(resumed).toBeLessThan(9)
    expect(method).toBe('search')
    expect([...(await read(out)).data]).toEqual(expected(graph))
    expect(existsSync(`${out}.partial`)).toBe(false)
  })

  it('is not resumed with other options', async () => {
    const out = fresh(ending)
    await cutOff(out, 2)
    const resume = true
    const other = { ...graph, weight: graph.weight.map((w, e) => w + Number(e === 0)) }
    await expect(shortestPathsArrays(other, out, { resume })).rejects.toThrow(coded('CHANGED'))
    for (const requested of [{ sources: [1] }, { targets: [1] }, { limit: 3 }]) {
      await expect(shortestPathsArrays(graph, out, { ...requested, resume })).rejects.toThrow(
        coded('RESUME', 'sources, targets or another limit'),
      )
    }
    await expect(shortestPathsArrays(graph, out, { semiring: 'max-min', resume })).rejects.toThrow(
      coded('RESUME'),
    )
    await expect(shortestPathsArrays(graph, out, { overflow: 'wrap', resume })).rejects.toThrow(
      coded('RESUME'),
    )
    await expect(shortestPathsArrays(graph, out, { block: 20, resume })).rejects.toThrow(
      coded('RESUME', 'rows'),
    )
    const dense = fresh('.npy')
    await writeNpy(dense, matrix(2, 2, [0, 1, 1, 0]))
    await expect(shortestPathsArrays(dense, out, { resume })).rejects.toThrow(coded('RESUME', 'the work'))
    await expect(planBlocks({ kind: 'shortest-paths', a: dense, c: out, resume })).rejects.toThrow(
      coded('RESUME'),
    )
    const { resumed } = await shortestPathsArrays(other, out, { overwrite: true })
    expect(resumed).toBe(0)
    expect([...(await read(out)).data]).toEqual(expected(other))
  })
})

it('keeps a complete Zarr array without computing it again', async () => {
  const out = fresh('.zarr')
  const { blocks } = await shortestPathsArrays(graph, out, { block: 30, chunks: [30, 30] })
  const again = await shortestPathsArrays(graph, out, { block: 30, chunks: [30, 30], resume: true })
  expect([blocks, again.resumed, again.bytesWritten, again.method]).toEqual([3, 3, 0, undefined])
  await expect(shortestPathsArrays(graph, out, { sources: [1], resume: true })).rejects.toThrow(
    coded('EXISTS'),
  )
})

it('stays within the memory limit, which is less than all distances need', async () => {
  const nodes = 3000
  const ring = {
    nodes,
    from: Int32Array.from({ length: nodes }, (_, i) => i),
    to: Int32Array.from({ length: nodes }, (_, i) => (i + 1) % nodes),
    weight: new Int32Array(nodes).fill(1),
  }
  const whole = nodes * nodes * 4
  const memory = 6_000_000
  vi.spyOn(process, 'availableMemory').mockReturnValue(whole)
  await expect(shortestPaths(ring, { method: 'search' })).rejects.toThrow(coded('OUT_OF_MEMORY'))
  for (const ending of ['.npy', '.zarr']) {
    vi.spyOn(process, 'availableMemory').mockReturnValue(whole)
    const out = fresh(ending)
    const before = process.memoryUsage().arrayBuffers
    let most = 0
    const { peakBytes, block, blocks } = await shortestPathsArrays(ring, out, {
      memory,
      onProgress: () => {
        most = Math.max(most, process.memoryUsage().arrayBuffers)
      },
    })
    expect(peakBytes).toBeLessThanOrEqual(memory)
    expect(2 * block.rows * nodes * 4).toBeLessThan(memory)
    expect(blocks).toBe(Math.ceil(nodes / block.rows))
    expect(most).toBeGreaterThan(0)
    expect(most).toBeLessThan(before + whole / 2)
    vi.restoreAllMocks()
    const { data } = await read(out)
    for (const [i, j] of [
      [0, 2999],
      [2999, 0],
      [1700, 20],
    ] as const) {
      expect(data[i * nodes + j]).toBe((j - i + nodes) % nodes)
    }
  }
  await expect(shortestPathsArrays(ring, fresh('.npy'), { memory: 100_000 })).rejects.toThrow(
    coded('OPTION', /memory must be at least \d+ KiB/),
  )
})

it('accepts blocks of any size if no chunks are requested', async () => {
  const nodes = 2500
  const line = {
    nodes,
    from: all(nodes - 1),
    to: all(nodes).slice(1),
    weight: new Int32Array(nodes - 1).fill(1),
  }
  const out = fresh('.zarr')
  const { blocks, block } = await shortestPathsArrays(line, out, { block: 1100, targets: [2000, 0] })
  expect([blocks, block.rows]).toEqual([3, 1100])
  expect([...(await readZarr(out)).data]).toEqual(
    all(nodes).flatMap((node) => [node > 2000 ? NONE : 2000 - node, node > 0 ? NONE : 0]),
  )
})

it('rejects unsupported options', async () => {
  const out = fresh('.npy')
  const dense = fresh('.npy')
  await writeNpy(dense, matrix(2, 2, [0, 1, 1, 0]))
  const cases: [unknown, object, string, string | RegExp][] = [
    [graph, { semiring: 'or-and' }, 'OPTION', 'or-and'],
    [graph, { backend: 'cuda' }, 'OPTION', "backend 'cuda'"],
    [graph, { method: 'closure' }, 'OPTION', 'method'],
    [graph, { sources: 90 }, 'VALUE', 'nodes'],
    [graph, { paths: true }, 'OPTION', 'paths'],
    [dense, { sources: 0 }, 'OPTION', 'sources'],
    [dense, { limit: 4 }, 'OPTION', 'limit'],
    [inFolder('nothing.csv'), {}, 'FILE', 'nothing.csv'],
    [{ data: new Int32Array(4), shape: [2, 2] }, {}, 'DTYPE', 'edge list'],
    [graph, { resume: true, overwrite: true }, 'OPTION', 'contradict'],
  ]
  for (const [weights, options, code, text] of cases) {
    await expect(shortestPathsArrays(weights as string, out, options)).rejects.toThrow(coded(code, text))
  }
  expect(existsSync(out) || existsSync(`${out}.partial`)).toBe(false)
})
