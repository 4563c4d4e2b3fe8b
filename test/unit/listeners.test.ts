/**
 * Signals and listeners of all functions. An aborted signal rejects even calls without work. Functions
 * rethrow the value that a listener throws.
 */
import { writeFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import * as algebra from '../../lib/algebra.js'
import * as arrays from '../../lib/arrays.js'
import * as files from '../../lib/files.js'
import * as graphs from '../../lib/graph.js'
import * as mpmml from '../../lib/index.js'
import * as rna from '../../lib/rna.js'
import { lexicographic } from '../../lib/semirings.js'
import { functionsOf } from '../support/exported.js'
import { useFolder } from '../support/folder.js'

const N = 300
const cpu = { backend: 'cpu' } as const
const square = (n: number) =>
  mpmml.matrix(
    n,
    n,
    Int32Array.from({ length: n * n }, (_, at) => 1 + ((at * 37) % 91)),
  )
const a = square(N)
const [small, one] = [square(2), mpmml.matrix(1, 1, [0])]
const upper = mpmml.matrix(
  N,
  N,
  a.data.map((value, at) => (at % N > Math.floor(at / N) ? value : mpmml.EPSILON)),
)
const edges = {
  nodes: 2000,
  from: Int32Array.from({ length: 8000 }, (_, e) => e % 1999),
  to: Int32Array.from({ length: 8000 }, (_, e) => (e % 1999) + 1),
  weight: Int32Array.from({ length: 8000 }, (_, e) => 1 + (e % 91)),
}
const tiny = { nodes: 2, from: [0], to: [1], weight: [3] }
const entries = {
  shape: [9000, 9000] as [number, number],
  row: Int32Array.from({ length: 9000 }, (_, e) => e),
  col: Int32Array.from({ length: 9000 }, (_, e) => e),
  value: new Int32Array(9000).fill(1),
}
const own = lexicographic('min-plus', 'max-min')
const lanes = (matrix: mpmml.DenseMatrix) => [matrix, matrix] as const

const inFolder = useFolder()
let device: mpmml.Device
const at = (name: string) => inFolder(name)
beforeAll(async () => {
  for (const name of ['a.npy', 'a.csv', 'a.tsv', 'a.mtx', 'a.gr']) await files.writeMatrix(at(name), a)
  await files.writeNpz(at('a.npz'), { a })
  await files.writeEntries(at('sparse.mtx'), entries)
  writeFileSync(at('graph.csv'), '0,1,5\n1,2,7\n')
  writeFileSync(at('a.fasta'), '>a\nGC\n')
  device = await mpmml.openDevice({ backend: 'cpu' })
})
afterAll(async () => {
  await device.close()
})

/** Calls with minimal work, which an aborted signal rejects. */
const aborted: Record<string, (options: { signal: AbortSignal }) => unknown> = {
  mpmm: (o) => mpmml.mpmm(one, one, o),
  'mpmm of nothing': (o) => mpmml.mpmm(mpmml.matrix(0, 0), mpmml.matrix(0, 0), o),
  mpmmSync: (o) => mpmml.mpmmSync(one, one, o),
  mpmmGrouped: (o) => mpmml.mpmmGrouped([{ a: one, b: one }], o),
  'mpmmGrouped of nothing': (o) => mpmml.mpmmGrouped([], o),
  plan: (o) => mpmml.plan(one, one, o),
  openDevice: (o) => mpmml.openDevice({ backend: 'cpu', ...o }),
  'device.upload': (o) => device.upload(one, o),
  'matrix.download': async (o) => (await device.full([1, 1], 1)).download(undefined, o),
  'matrix.combine': async (o) => {
    const matrix = await device.full([1, 1], 1)
    return matrix.combine(matrix, o)
  },
  'mpmm over a semiring of your own': (o) => mpmml.mpmm(lanes(one), lanes(one), { semiring: own, ...o }),
  'mpmmSync over a semiring of your own': (o) =>
    mpmml.mpmmSync(lanes(one), lanes(one), { semiring: own, ...o }),
  'mpmmGrouped over a semiring of your own': (o) => mpmml.mpmmGrouped([], { semiring: own, ...o }),
  'plan over a semiring of your own': (o) => mpmml.plan(lanes(one), lanes(one), { semiring: own, ...o }),
  'star over a semiring of your own': (o) => algebra.star(lanes(one), { semiring: own, ...o }),
  ...Object.fromEntries(
    [0, 1, 2].flatMap((n) => [
      [`power ${n}`, (o: object) => algebra.power(one, n, o)],
      [
        `power ${n} over a semiring of your own`,
        (o: object) => algebra.power(lanes(one), n, { semiring: own, ...o }),
      ],
    ]),
  ),
  star: (o) => algebra.star(one, o),
  'star of an edge list': (o) => algebra.star(tiny, o),
  plus: (o) => algebra.plus(one, o),
  maximumCycleMean: (o) => algebra.maximumCycleMean(one, o),
  minimumCycleMean: (o) => algebra.minimumCycleMean(tiny, o),
  componentCycleMeans: (o) => algebra.componentCycleMeans(one, o),
  criticalGraph: (o) => algebra.criticalGraph(one, o),
  cycleTimes: (o) => algebra.cycleTimes(one, o),
  eigenvectors: (o) => algebra.eigenvectors(one, o),
  earliestStarts: (o) => algebra.earliestStarts(tiny, o),
  latestStarts: (o) => algebra.latestStarts(tiny, o),
  leftResidual: (o) => algebra.leftResidual(one, one, o),
  rightResidual: (o) => algebra.rightResidual(one, one, o),
  greatestSubsolution: (o) => algebra.greatestSubsolution(one, one, o),
  'leftResidual of floats': (o) =>
    algebra.leftResidual(mpmml.matrix(0, 0, new Float64Array(0)), mpmml.matrix(0, 0, new Float64Array(0)), o),
  periodicRegime: (o) => algebra.periodicRegime(one, [0], o),
  trajectory: (o) => algebra.trajectory(small, [0, 0], { steps: 0, ...o }),
  'trajectory of an edge list': (o) => algebra.trajectory(tiny, [0, 0], { steps: 0, ...o }),
  'trajectory on a device': async (o) =>
    algebra.trajectory(await device.full([1, 1], 1), [0], { steps: 0, ...o }),
  shortestPaths: (o) => graphs.shortestPaths(tiny, o),
  'shortestPaths of no sources': (o) => graphs.shortestPaths(tiny, { sources: [], ...o }),
  longestPaths: (o) => graphs.longestPaths(tiny, o),
  widestPaths: (o) => graphs.widestPaths(one, o),
  mostReliablePaths: (o) => graphs.mostReliablePaths({ ...tiny, weight: Float64Array.of(0.5) }, o),
  transitiveClosure: (o) => graphs.transitiveClosure(tiny, o),
  reducePaths: (o) => graphs.reducePaths(tiny, { reduce: 'eccentricity', ...o }),
  verifyPaths: (o) => graphs.verifyPaths(one, { distances: one, semiring: 'min-plus' }, o),
  components: (o) => graphs.components(tiny, o),
  topologicalOrder: (o) => graphs.topologicalOrder(tiny, o),
  spanningTree: (o) => graphs.spanningTree(tiny, o),
  kShortestPaths: (o) => graphs.kShortestPaths(tiny, 0, 1, 1, o),
  prepareGraph: (o) => graphs.prepareGraph(tiny, o),
  'table of a prepared graph': async (o) => (await graphs.prepareGraph(tiny)).table([0], [1], o),
  nearestSources: (o) => graphs.nearestSources(tiny, [0], o),
  pathEdges: (o) => graphs.pathEdges(tiny, [0], o),
  readGraph: (o) => graphs.readGraph(at('graph.csv'), o),
  readFasta: (o) => rna.readFasta(at('a.fasta'), o),
  nussinov: (o) => rna.nussinov('G', o),
  'nussinov of nothing': (o) => rna.nussinov([], o),
  bpmax: (o) => rna.bpmax('G', 'C', o),
  readNpy: (o) => files.readNpy(at('a.npy'), o),
  writeNpy: (o) => files.writeNpy(at('none.npy'), one, o),
  readMatrix: (o) => files.readMatrix(at('a.csv'), o),
  writeMatrix: (o) => files.writeMatrix(at('none.csv'), one, o),
  readNpz: (o) => files.readNpz(at('a.npz'), o),
  writeNpz: (o) => files.writeNpz(at('none.npz'), {}, o),
  npzNames: (o) => files.npzNames(at('a.npz'), o),
  readEntries: (o) => files.readEntries(at('sparse.mtx'), o),
  writeEntries: (o) => files.writeEntries(at('none.mtx'), entries, o),
  isSparseFile: (o) => files.isSparseFile(at('sparse.mtx'), o),
  'isSparseFile of .npz': (o) => files.isSparseFile(at('a.npz'), o),
  writeText: (o) => files.writeText(at('none.txt'), '', o),
  multiplyArrays: (o) => arrays.multiplyArrays(at('a.npy'), at('a.npy'), at('none.npy'), o),
  shortestPathsArrays: (o) => arrays.shortestPathsArrays(at('a.npy'), at('none.npy'), o),
  'shortestPathsArrays of an edge list': (o) => arrays.shortestPathsArrays(edges, at('none.npy'), o),
}

it.each(Object.keys(aborted))('rejects %s if its signal is aborted, even without work', async (name) => {
  const signal = AbortSignal.abort(new Error('enough'))
  const call = async () => aborted[name]!({ signal })
  await expect(call()).rejects.toMatchObject({ code: 'ERR_MPMML_ABORTED', cause: signal.reason })
})

/** Work with progress. */
type Listener = { onProgress: (progress: unknown) => void }
const reporting: Record<string, (options: Listener) => unknown> = {
  mpmm: (o) => mpmml.mpmm(a, a, { ...cpu, ...o }),
  'mpmm over a semiring of your own': (o) => mpmml.mpmm(lanes(a), lanes(a), { ...cpu, semiring: own, ...o }),
  'star over a semiring of your own': (o) => algebra.star(lanes(a), { ...cpu, semiring: own, ...o }),
  'power over a semiring of your own': (o) => algebra.power(lanes(a), 3, { ...cpu, semiring: own, ...o }),
  star: (o) => algebra.star(a, { ...cpu, semiring: 'min-plus', ...o }),
  plus: (o) => algebra.plus(a, { ...cpu, semiring: 'min-plus', ...o }),
  power: (o) => algebra.power(a, 3, { ...cpu, ...o }),
  leftResidual: (o) => algebra.leftResidual(a, a, { ...cpu, ...o }),
  rightResidual: (o) => algebra.rightResidual(a, a, { ...cpu, ...o }),
  greatestSubsolution: (o) => algebra.greatestSubsolution(a, a, { ...cpu, ...o }),
  trajectory: (o) => algebra.trajectory(a, new Array(N).fill(0), { steps: 5, ...cpu, ...o }),
  'trajectory of an edge list': (o) =>
    algebra.trajectory(edges, new Array(2000).fill(0), { steps: 50, ...o }),
  'trajectory on a device': async (o) =>
    algebra.trajectory(await device.upload(a), new Array(N).fill(0), { steps: 5, ...o }),
  'shortestPaths by searches': (o) => graphs.shortestPaths(edges, { method: 'search', ...o }),
  'shortestPaths by dissection': (o) => graphs.shortestPaths(edges, { method: 'dissection', ...o }),
  'shortestPaths by a closure': (o) => graphs.shortestPaths(a, { ...cpu, method: 'closure', ...o }),
  'shortestPaths, as is cheapest': (o) => graphs.shortestPaths(a, { ...cpu, sources: 0, ...o }),
  longestPaths: (o) => graphs.longestPaths(upper, { ...cpu, ...o }),
  widestPaths: (o) => graphs.widestPaths(a, { ...cpu, ...o }),
  mostReliablePaths: (o) =>
    graphs.mostReliablePaths(
      { ...a, data: Float64Array.from(a.data, (value) => value / 100) },
      { ...cpu, ...o },
    ),
  transitiveClosure: (o) => graphs.transitiveClosure(edges, { method: 'search', ...o }),
  reducePaths: (o) => graphs.reducePaths(edges, { reduce: 'eccentricity', ...o }),
  'reducePaths by a closure': (o) =>
    graphs.reducePaths(a, { reduce: 'eccentricity', method: 'closure', ...cpu, ...o }),
  kShortestPaths: (o) => graphs.kShortestPaths(edges, 0, 1998, 50, o),
  nussinov: (o) => rna.nussinov('GAUC'.repeat(100), { ...cpu, ...o }),
  bpmax: (o) => rna.bpmax('GAUC'.repeat(5), 'GAUC'.repeat(5), { ...cpu, ...o }),
  readNpy: (o) => files.readNpy(at('a.npy'), o),
  writeNpy: (o) => files.writeNpy(at('told.npy'), a, o),
  'readMatrix of .npy': (o) => files.readMatrix(at('a.npy'), o),
  readNpz: (o) => files.readNpz(at('a.npz'), o),
  'readMatrix of .npz': (o) => files.readMatrix(at('a.npz'), o),
  writeNpz: (o) => files.writeNpz(at('told.npz'), { a }, o),
  writeMatrix: (o) => files.writeMatrix(at('told.csv.gz'), a, o),
  readEntries: (o) => files.readEntries(at('sparse.mtx'), o),
  writeEntries: (o) => files.writeEntries(at('told.mtx'), entries, o),
  readGraph: (o) => graphs.readGraph(at('graph.csv'), o),
  readFasta: (o) => rna.readFasta(at('a.fasta'), o),
  multiplyArrays: (o) =>
    arrays.multiplyArrays(at('a.npy'), at('a.npy'), at('c.npy'), { overwrite: true, ...o }),
  shortestPathsArrays: (o) => arrays.shortestPathsArrays(at('a.npy'), at('d.npy'), { overwrite: true, ...o }),
  'shortestPathsArrays of an edge list': (o) =>
    arrays.shortestPathsArrays(edges, at('e.npy'), { overwrite: true, ...o }),
}

// The values include errors of the library, which lib converts if native code throws them.
const thrown: [string, unknown][] = [
  ['an error', new Error('boom')],
  ['a text', 'boom'],
  ['undefined', undefined],
  ['null', null],
  [
    'an error of the system',
    Object.assign(new Error('boom'), { code: 'ENOENT', syscall: 'open', errno: -2 }),
  ],
  ['AbortedError', new mpmml.AbortedError('boom')],
  ['ResourceError', new mpmml.ResourceError('boom')],
  ['OverflowError', new mpmml.OverflowError('boom')],
  ['CycleError', new mpmml.CycleError('boom', { cycle: [0], weight: 1 } as never)],
  ['ArgumentError', new mpmml.ArgumentError('the matrix[0, 0] is boom')],
  ['a code of the library', Object.assign(new Error('boom'), { code: 'ERR_MPMML_CYCLE' })],
]

describe.each(Object.keys(reporting))('%s', (name) => {
  // A simulated clock makes functions call their listener even during short work.
  const { setInterval } = globalThis
  let clock = 0
  beforeEach(() => {
    vi.spyOn(globalThis, 'setInterval').mockImplementation(((tick: () => void, ms: number) => {
      queueMicrotask(tick)
      return setInterval(tick, ms)
    }) as never)
    vi.spyOn(performance, 'now').mockImplementation(() => {
      clock += 1000
      return clock
    })
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it.each(thrown)('rejects with %s that its listener throws', async (_, error) => {
    const none = Symbol('nothing')
    let calls = 0
    const onProgress = () => {
      calls++
      throw error
    }
    const came = await (async () => reporting[name]!({ onProgress }))().then(
      () => none,
      (rejected: unknown) => rejected,
    )
    expect(calls).toBe(1)
    expect(came).toBe(error)
  })
})

it('yields to the event loop during scans of a matrix in JavaScript', async () => {
  vi.spyOn(performance, 'now').mockImplementation(
    (
      (clock) => () =>
        (clock += 10)
    )(0),
  )
  let turns = 0
  let running = true
  const count = () => {
    turns++
    if (running) setImmediate(count)
  }
  setImmediate(count)
  // The first power only copies 90 000 elements in each of two lanes.
  await algebra.power(lanes(a), 1, { semiring: own })
  expect(turns).toBeGreaterThan(5)
  turns = 0
  // The star creates zeros and ones, adds the matrix, and compares.
  await algebra.star(lanes(a), { ...cpu, semiring: own })
  running = false
  vi.restoreAllMocks()
  expect(turns).toBeGreaterThan(40)
})

/** Functions without a signal: their work is synchronous, or very short. */
const without = `
  explainBackend info matrix pinned variants zeroOf formatNpy parseNpy weightMatrix reverseEdges
  fileFormatOf combineDuplicates parseFasta
  toEdgeList parseGraph parseMatrix
`
  .trim()
  .split(/\s+/)

it('covers all functions with signals and listeners', () => {
  const first = (names: object) => new Set(Object.keys(names).map((name) => name.split(/[ ,]/)[0]!))
  const [withSignal, withListener] = [first(aborted), first(reporting)]
  // Every function with a listener also has a signal.
  expect([...withListener].filter((name) => !withSignal.has(name))).toEqual([])
  expect(
    functionsOf(mpmml, algebra, graphs, files, rna)
      .filter((name) => !withSignal.has(name))
      .sort(),
  ).toEqual(without.sort())
})
