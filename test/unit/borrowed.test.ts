/**
 * Arrays of users in all functions with array arguments: hostile buffers are rejected, and a transfer during
 * a call causes no wrong result.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import * as algebra from '../../lib/algebra.js'
import * as arraysOnDisk from '../../lib/arrays.js'
import * as files from '../../lib/files.js'
import * as graphs from '../../lib/graph.js'
import * as mpmml from '../../lib/index.js'
import * as semirings from '../../lib/semirings.js'
import { coded } from '../support/coded.js'
import { functionsOf } from '../support/exported.js'
import { useFolder } from '../support/folder.js'
import { Random } from '../support/generators.js'

type Arrays = Record<string, Int32Array | Float64Array | Uint8Array>

/** A call of a function with arrays of the user. The arrays are larger than the copied chunks, so that they are read in place. */
interface Call {
  readonly arrays: () => Arrays
  readonly run: (arrays: never) => unknown
}

const N = 160
const NODES = 1000
const EDGES = 20_000

const random = new Random(47)
const ints = (length: number, least: number, most: number) =>
  Int32Array.from({ length }, () => random.integer(least, most))
const square = (least = 0, most = 1000) => ints(N * N, least, most)
const shaped = <Data>(data: Data) => ({ data, shape: [N, N] as [number, number] })

// Inputs are generated once, because the result of each call is compared with that of an undisturbed call.
const drawn = {
  a: square(),
  b: square(),
  upper: square().map((value, at) => (at % N > Math.floor(at / N) ? value : mpmml.EPSILON)),
  gaining: square(-1000, 0),
  bytes: Uint8Array.from({ length: 512 * 512 }, (_, at) => (at % 7 === 0 ? 1 : 0)),
  from: ints(EDGES, 0, NODES - 1),
  to: ints(EDGES, 0, NODES - 1),
  weight: ints(EDGES, 1, 1000),
  tokens: ints(EDGES, 1, 3),
  row: ints(EDGES, 0, NODES - 1),
  col: ints(EDGES, 0, NODES - 1),
  value: ints(EDGES, -1000, 1000),
  nodes: Float64Array.from({ length: NODES }, (_, node) => node + 0.5),
  x0: ints(NODES, 0, 100),
  vector: ints(N, 0, 100),
  sources: Int32Array.of(3, 1),
  targets: Int32Array.of(5, 2, 900),
}
const forward = {
  from: drawn.from.map((node, e) => Math.min(node, drawn.to[e]!)),
  to: drawn.to.map((node, e) => Math.max(node, drawn.from[e]!) + 1),
}
/** Lengths of shortest paths, computed by Floyd–Warshall. */
const distances = drawn.a.map((weight, at) => (at % (N + 1) === 0 ? 0 : weight))
for (let k = 0; k < N; k++) {
  for (let i = 0; i < N; i++) {
    for (let j = 0; j < N; j++) {
      distances[i * N + j] = Math.min(distances[i * N + j]!, distances[i * N + k]! + distances[k * N + j]!)
    }
  }
}
const taking = (own: Partial<Arrays>): (() => Arrays) => {
  const copied = () => Object.entries(own).map(([name, data]) => [name, data!.slice()] as const)
  return () => Object.fromEntries(copied())
}
const pick = (...names: (keyof typeof drawn)[]) =>
  taking(Object.fromEntries(names.map((name) => [name, drawn[name]])))

type Edges = { from: Int32Array; to: Int32Array; weight: Int32Array }
type Two = { a: Int32Array; b: Int32Array }
type One = { a: Int32Array }
const list = pick('from', 'to', 'weight')
const graph = <Any extends Edges>(edges: Any) => ({ nodes: NODES, ...edges })
type Graph = Edges & { nodes: number }
const onList = (run: (given: Graph) => unknown): Call => ({
  arrays: list,
  run: (edges: Edges) => run(graph(edges)),
})
const onForward = (run: (given: Graph) => unknown): Call => ({
  arrays: taking({ ...forward, weight: drawn.weight }),
  run: (edges: Edges) => run({ ...graph(edges), nodes: NODES + 1 }),
})
const onMatrix = (
  run: (a: { data: Int32Array; shape: [number, number] }) => unknown,
  data = drawn.a,
): Call => ({
  arrays: taking({ a: data }),
  run: ({ a }: One) => run(shaped(a)),
})
const onTwo = (
  run: (a: ReturnType<typeof shaped<Int32Array>>, b: ReturnType<typeof shaped<Int32Array>>) => unknown,
): Call => ({
  arrays: pick('a', 'b'),
  run: ({ a, b }: Two) => run(shaped(a), shaped(b)),
})

const inFolder = useFolder()
const at = (name: string) => inFolder(name)
let count = 0
/** Writes a file, and returns its bytes. */
const written = async (end: string, write: (path: string) => Promise<void>) => {
  const path = at(`${count++}.${end}`)
  await write(path)
  return readFileSync(path)
}
let device: mpmml.Device
beforeAll(async () => {
  device = await mpmml.openDevice({ backend: 'cpu' })
})
afterAll(async () => {
  await device.close()
})
// The simulated clock makes work in slices yield to the event loop after each step.
let clock = 0
beforeEach(() => {
  vi.spyOn(performance, 'now').mockImplementation(() => {
    clock += 10
    return clock
  })
})
afterEach(() => {
  vi.restoreAllMocks()
})

const own = semirings.semiring({
  name: 'shortest',
  dtype: 'int32',
  zero: 2 ** 29,
  one: 0,
  plus: (x, y) => x.min(y),
  times: (x, y) => x.add(y).min(2 ** 29),
  check: { min: 0, max: 2 ** 29 },
  idempotent: true,
})
const downloaded = async (matrix: Promise<mpmml.DeviceMatrix>) => (await matrix).download()
const cpu = { backend: 'cpu' } as const

const calls: Record<string, Call> = {
  mpmm: onTwo((a, b) => mpmml.mpmm(a, b, cpu)),
  'mpmm with out and accumulate': {
    arrays: pick('a', 'b', 'upper', 'gaining'),
    run: ({ a, b, upper, gaining }: Two & { upper: Int32Array; gaining: Int32Array }) =>
      mpmml.mpmm(shaped(a), shaped(b), { ...cpu, out: shaped(upper), accumulate: shaped(gaining) }),
  },
  'mpmm over a semiring of your own': onTwo((a, b) => mpmml.mpmm(a, b, { ...cpu, semiring: own })),
  mpmmSync: onTwo((a, b) => mpmml.mpmmSync(a, b, cpu)),
  mpmmGrouped: onTwo((a, b) =>
    mpmml.mpmmGrouped(
      [
        { a, b },
        { a: b, b: a },
      ],
      cpu,
    ),
  ),
  'mpmmGrouped over a semiring of your own': onTwo((a, b) =>
    mpmml.mpmmGrouped([{ a, b }], { ...cpu, semiring: own }),
  ),
  'mpmmGrouped on a device, in parts': onMatrix(async ({ data }) => {
    const b = await device.full([2, 2], 1)
    const results = await mpmml.mpmmGrouped(
      Array.from({ length: 2500 }, (_, at) => ({ a: { data, shape: [2, 2], offset: 4 * at }, b })),
    )
    return Promise.all([0, 1024, 2499].map((at) => results[at]!.c.download()))
  }),
  plan: onTwo((a, b) => mpmml.plan(a, b, cpu)),
  matrix: onMatrix(({ data }) => mpmml.matrix(N, N, data).data.slice()),
  'device.upload': onMatrix((a) => downloaded(device.upload(a))),
  'matrix.download': {
    arrays: pick('a'),
    run: async ({ a }: One) => {
      const out = shaped(a)
      const there = await device.full([N, N], 7)
      return there.download(out)
    },
  },
  formatNpy: onMatrix((a) => files.formatNpy(a)),
  parseNpy: {
    arrays: () => ({ bytes: files.formatNpy(shaped(drawn.a)) as Uint8Array }),
    run: ({ bytes }: { bytes: Uint8Array }) => files.parseNpy(bytes),
  },
  parseMatrix: {
    arrays: () => ({ bytes: new Uint8Array(Buffer.from('0,1\n')) }),
    run: ({ bytes }: { bytes: Uint8Array }) => files.parseMatrix(bytes, { format: 'csv' }),
  },
  writeNpy: onMatrix((a) => written('npy', (path) => files.writeNpy(path, a))),
  writeNpz: onMatrix((a) => written('npz', (path) => files.writeNpz(path, { a }))),
  writeMatrix: onMatrix((a) => written('mtx', (path) => files.writeMatrix(path, a))),
  ...Object.fromEntries(
    ['mtx', 'gr'].map((end): [string, Call] => [
      `writeEntries of .${end}`,
      {
        arrays: pick('row', 'col', 'value'),
        run: (entries: { row: Int32Array; col: Int32Array; value: Int32Array }) =>
          written(end, (path) => files.writeEntries(path, { shape: [NODES, NODES], ...entries })),
      },
    ]),
  ),
  combineDuplicates: {
    arrays: pick('row', 'col', 'value'),
    run: (entries: { row: Int32Array; col: Int32Array; value: Int32Array }) =>
      files.combineDuplicates({ shape: [NODES, NODES], ...entries }, 'max-plus'),
  },
  ...Object.fromEntries(
    (
      [
        ['dimacs', 'p sp 3 1\na 1 2 5\n'],
        ['csv', '0,1,5\n'],
        ['matrix-market', '%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 3\n'],
        ['graphml', '<graphml><graph edgedefault="directed"><node id="A"/></graph></graphml>'],
      ] as const
    ).map(([format, text]): [string, Call] => [
      `parseGraph of ${format}`,
      {
        arrays: () => ({ bytes: new Uint8Array(Buffer.from(text)) }),
        run: ({ bytes }: { bytes: Uint8Array }) => graphs.parseGraph(bytes, { format }),
      },
    ]),
  ),
  'shortestPaths from one node': onList((edges) => graphs.shortestPaths(edges, { sources: 0 })),
  'shortestPaths of nodes with names': {
    arrays: () => {
      const [from, to] = [drawn.from, drawn.to].map((ends) => Float64Array.from(ends, (node) => node + 0.5))
      return { from: from!, to: to!, weight: drawn.weight.slice(), nodes: drawn.nodes.slice() }
    },
    run: (edges: never) => graphs.shortestPaths(edges as never, { sources: 0.5 } as never),
  },
  'shortestPaths with sources and targets': {
    arrays: pick('from', 'to', 'weight', 'sources', 'targets'),
    run: ({ sources, targets, ...edges }: Edges & { sources: Int32Array; targets: Int32Array }) =>
      graphs.shortestPaths(graph(edges), { sources, targets, paths: true }),
  },
  'shortestPaths of a closure': onList((edges) => graphs.shortestPaths(edges, { method: 'closure', ...cpu })),
  'shortestPaths of a matrix': onMatrix((a) => graphs.shortestPaths(a, { method: 'search' })),
  'shortestPaths of a matrix by a closure': onMatrix((a) =>
    graphs.shortestPaths(a, { ...cpu, method: 'closure', sources: 0 }),
  ),
  longestPaths: onForward((edges) => graphs.longestPaths(edges, { sources: 0 })),
  widestPaths: onList((edges) => graphs.widestPaths(edges, { sources: 0 })),
  mostReliablePaths: {
    arrays: taking({
      from: drawn.from,
      to: drawn.to,
      weight: Float64Array.from(drawn.weight, (w) => w / 1000),
    }),
    run: (edges: never) => graphs.mostReliablePaths(graph(edges) as never, { sources: 0 }),
  },
  transitiveClosure: onList((edges) => graphs.transitiveClosure(edges, { sources: 0 })),
  'transitiveClosure of a matrix': {
    arrays: pick('bytes'),
    run: ({ bytes }: { bytes: Uint8Array }) =>
      graphs.transitiveClosure({ data: bytes, shape: [512, 512] }, { sources: 0, method: 'search' }),
  },
  reducePaths: onList((edges) => graphs.reducePaths(edges, { reduce: 'eccentricity', sources: [0, 1] })),
  'reducePaths of a matrix': onMatrix((a) => graphs.reducePaths(a, { reduce: 'eccentricity' })),
  components: onList((edges) => graphs.components(edges)),
  topologicalOrder: onForward((edges) => graphs.topologicalOrder(edges)),
  spanningTree: onList((edges) => graphs.spanningTree(edges)),
  prepareGraph: onList(async (edges) => (await graphs.prepareGraph(edges)).table([0, 1], [2, 3])),
  nearestSources: {
    arrays: pick('from', 'to', 'weight', 'sources'),
    run: ({ sources, ...edges }: Edges & { sources: Int32Array }) =>
      graphs.nearestSources(graph(edges), sources),
  },
  pathEdges: {
    arrays: () => ({ ...list(), path: Int32Array.of(drawn.from[7]!, drawn.to[7]!) }),
    run: ({ path, ...edges }: Edges & { path: Int32Array }) => graphs.pathEdges(graph(edges), path),
  },
  'power of an edge list': onList((edges) => algebra.power(edges, 3, cpu)),
  kShortestPaths: onList((edges) => graphs.kShortestPaths(edges, 0, 1, 4)),
  verifyPaths: {
    arrays: taking({ a: drawn.a, distances }),
    run: ({ a, distances }: { a: Int32Array; distances: Int32Array }) =>
      graphs.verifyPaths(shaped(a), { distances: shaped(distances), semiring: 'min-plus' }),
  },
  star: onMatrix((a) => algebra.star(a, { ...cpu, semiring: 'min-plus' })),
  'star of an edge list': onList((edges) => algebra.star(edges, { ...cpu, semiring: 'min-plus' })),
  'star over a semiring of your own': onMatrix((a) => algebra.star(a, { ...cpu, semiring: own })),
  plus: onMatrix((a) => algebra.plus(a, { ...cpu, semiring: 'min-plus' })),
  'plus of a cycle that gains': onMatrix((a) => algebra.plus(a, { ...cpu, semiring: 'max-plus' })),
  power: onMatrix((a) => algebra.power(a, 3, cpu)),
  'power 1': onMatrix((a) => algebra.power(a, 1, cpu)),
  'power over a semiring of your own': onMatrix((a) => algebra.power(a, 3, { ...cpu, semiring: own })),
  'power 1 over a semiring of your own': onMatrix((a) => algebra.power(a, 1, { ...cpu, semiring: own })),
  weightMatrix: onList((edges) => algebra.weightMatrix(edges)),
  ...Object.fromEntries(
    Object.entries({
      maximumCycleMean: algebra.maximumCycleMean,
      minimumCycleMean: algebra.minimumCycleMean,
      componentCycleMeans: algebra.componentCycleMeans,
      cycleTimes: algebra.cycleTimes,
      criticalGraph: algebra.criticalGraph,
      eigenvectors: algebra.eigenvectors,
    }).flatMap(([name, find]): [string, Call][] => [
      [name, onMatrix((a) => find(a))],
      [`${name} of an edge list`, onList((edges) => find(edges))],
    ]),
  ),
  'maximumCycleMean with tokens': {
    arrays: pick('from', 'to', 'weight', 'tokens'),
    run: (edges: Edges & { tokens: Int32Array }) => algebra.maximumCycleMean(graph(edges)),
  },
  leftResidual: onTwo((a, b) => algebra.leftResidual(a, b, cpu)),
  rightResidual: onTwo((a, b) => algebra.rightResidual(a, b, cpu)),
  greatestSubsolution: onTwo((a, b) => algebra.greatestSubsolution(a, b, cpu)),
  trajectory: {
    arrays: pick('a', 'vector'),
    run: ({ a, vector }: One & { vector: Int32Array }) =>
      algebra.trajectory(shaped(a), vector, { steps: 20, ...cpu }),
  },
  'trajectory with an input': {
    arrays: pick('a', 'b', 'upper'),
    run: ({ a, b, upper }: Two & { upper: Int32Array }) =>
      algebra.trajectory(shaped(a), new Array(N).fill(0), {
        steps: N,
        input: { b: shaped(b), u: shaped(upper) },
        ...cpu,
      }),
  },
  'trajectory of an edge list': {
    arrays: pick('from', 'to', 'weight', 'x0'),
    run: ({ x0, ...edges }: Edges & { x0: Int32Array }) => algebra.trajectory(graph(edges), x0, { steps: 3 }),
  },
  periodicRegime: {
    arrays: pick('a', 'vector'),
    run: ({ a, vector }: One & { vector: Int32Array }) => algebra.periodicRegime(shaped(a), vector),
  },
  earliestStarts: {
    arrays: taking({
      ...forward,
      weight: drawn.weight,
      release: ints(NODES + 1, 0, 9),
      durations: ints(NODES + 1, 0, 9),
    }),
    run: ({ release, durations, ...edges }: Edges & { release: Int32Array; durations: Int32Array }) =>
      algebra.earliestStarts({ ...graph(edges), nodes: NODES + 1 }, { release, durations }),
  },
  latestStarts: {
    arrays: taking({ ...forward, weight: drawn.weight, deadline: ints(NODES + 1, 1e6, 2e6) }),
    run: ({ deadline, ...edges }: Edges & { deadline: Int32Array }) =>
      algebra.latestStarts({ ...graph(edges), nodes: NODES + 1 }, { deadline }),
  },
  shortestPathsArrays: onList((edges) =>
    written('npy', async (path) => {
      await arraysOnDisk.shortestPathsArrays(edges, path, { sources: [0, 1] } as never)
    }),
  ),
}

const buffers = {
  'a shared buffer': (bytes: number) => new SharedArrayBuffer(bytes),
  'a resizable buffer': (bytes: number) =>
    new (ArrayBuffer as unknown as new (n: number, o: object) => ArrayBuffer)(bytes, {
      maxByteLength: 2 * bytes,
    }),
}

/** Copy of the elements in another buffer. */
function moved(data: Arrays[string], buffer: ArrayBufferLike): Arrays[string] {
  const copy = new (data.constructor as Int32ArrayConstructor)(buffer as ArrayBuffer, 0, data.length)
  copy.set(data as Int32Array)
  return copy
}

const transfer = (data: Arrays[string]) =>
  structuredClone(data.buffer, { transfer: [data.buffer as ArrayBuffer] })

/** Result without parts that differ between calls; arrays are replaced by an identification of their elements. */
function plain(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) {
    return [
      value.constructor.name,
      value.byteLength,
      createHash('sha256')
        .update(value as Uint8Array)
        .digest('hex'),
    ]
  }
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return typeof value === 'function' ? undefined : value
  const entries = Object.entries(value).filter(([name]) => !['timing', 'gops'].includes(name))
  return Object.fromEntries(entries.map(([name, each]) => [name, plain(each)]))
}

/** Outcome of a call: its result or its error. */
const outcomeOf = async ({ run }: Call, given: Arrays) => {
  try {
    return { value: plain(await run(given as never)) }
  } catch (error) {
    return { error }
  }
}

const isMissing = (error: unknown) =>
  (error as { code?: string } | undefined)?.code === 'ERR_MPMML_DTYPE' &&
  /transferred|detached/.test((error as Error).message)

describe.each(Object.keys(calls))('%s', (name) => {
  const call = calls[name]!
  const names = Object.keys(call.arrays())

  it.each(names)('rejects hostile buffers of %s', async (array) => {
    for (const [kind, make] of Object.entries(buffers)) {
      const given = call.arrays()
      const data = given[array]!
      const hostile = moved(data, make(data.byteLength))
      const outcome = outcomeOf(call, { ...given, [array]: hostile })
      // The buffer shrinks as soon as the call has returned.
      if (!(hostile.buffer instanceof SharedArrayBuffer))
        (hostile.buffer as { resize?: (n: number) => void }).resize!(0)
      expect((await outcome).error, kind).toEqual(coded('DTYPE', /must be in an ArrayBuffer/))
    }
    const given = call.arrays()
    transfer(given[array]!)
    expect((await outcomeOf(call, given)).error).toEqual(coded('DTYPE', /detached/))
  })

  it.each(names)('returns no wrong result if %s is transferred away', async (array) => {
    const right = await outcomeOf(call, call.arrays())
    for (const turns of [0, 1, 2, 5]) {
      const given = call.arrays()
      const outcome = outcomeOf(call, given)
      for (let waited = 0; waited < turns; waited++) await turn()
      transfer(given[array]!)
      const { error, value } = await outcome
      // A call whose arguments are invalid, such as an unsupported plus, may report either those or the
      // transferred array.
      if (isMissing(error)) continue
      expect({ error, value }).toEqual(right)
    }
  })
})

/** Functions that take no arrays of the user, or that copy the arrays before they return. */
const without = `
  explainBackend info openDevice pinned readMatrix readNpy variants zeroOf
  fileFormatOf isSparseFile npzNames readEntries readNpz writeText
  toEdgeList readGraph reverseEdges
`
  .trim()
  .split(/\s+/)

it('covers all functions that take arrays', () => {
  const covered = new Set(Object.keys(calls).map((name) => name.split(' ')[0]!))
  expect(
    functionsOf(mpmml, algebra, graphs, files)
      .filter((name) => !covered.has(name))
      .sort(),
  ).toEqual(without.sort())
})

it('keeps the names of nodes after changes of a Buffer', async () => {
  const nodes = Buffer.from([10, 20, 30])
  const edges = { nodes, from: [10, 20], to: [20, 30], weight: [4, 5] }
  const { keys, distances } = await graphs.shortestPaths(edges, { sources: 10 })
  nodes.fill(99)
  expect(Array.from(keys)).toEqual([10, 20, 30])
  expect(distances.at(10, 30)).toBe(9)
})
