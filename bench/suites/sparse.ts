/** Compares searches of sparse networks by mpmml and other libraries. All results must be equal. */
import { setTimeout as sleep } from 'node:timers/promises'
import { reducePaths, shortestPaths } from '../../lib/graph.js'
import { type ElementArray, info, matrix } from '../../lib/index.js'
import { elapsed, median } from '../experiment.js'
import { delaysDuring } from './event-loop.js'
import { type Contest, compete, type Implementation, type Samples } from './peers/contest.js'
import { javascriptRivals } from './peers/javascript.js'
import { grid, hexagonal, type Network, networks, random, roads } from './sparse/networks.js'
import type { Bench, Suite, SuiteCase } from './suite.js'

const NONE = 2 ** 31 - 1
const HERE = 'mpmml'

export const described = (name: string, { nodes, from }: Network) =>
  `${name}, ${nodes} nodes, ${from.length} edges`

/** Returns `count` nodes at equal distances. */
export const spreadOver = (nodes: number, count: number) =>
  Array.from({ length: count }, (_, at) => Math.floor((at * nodes) / count))

/**
 * Describes the difference between another program's distances and those of mpmml; undefined if there is
 * none.
 */
export function differing(theirs: ArrayLike<number>, ours: ArrayLike<number>): string | undefined {
  if (theirs.length !== ours.length) return `it gives ${theirs.length} distances, not ${ours.length}`
  for (let at = 0; at < ours.length; at++) {
    const own = ours[at] === NONE ? Number.POSITIVE_INFINITY : ours[at]
    // Object.is, because eccentricities may be NaN.
    if (!Object.is(theirs[at], own)) return `distance ${at} is ${theirs[at]}, but ${own} here`
  }
  return undefined
}

const threads = () => `${info().cpu.threads} threads`

interface Search extends Pick<Contest, 'of' | 'rounds' | 'goal'> {
  network: Network
  sources: number[]
  targets: number[] | null
  programs?: Contest['programs']
  /** Returns competitors in addition to mpmml and Python programs, which are checked against `distances`. */
  others?(distances: ElementArray): Promise<Implementation[]>
  /** Whether figures are per source. */
  isPerSource?: boolean
}

/** Times searches of a network by mpmml and other programs. */
export async function searchByAll(bench: Bench, search: Search): Promise<Samples> {
  const { network, sources, targets, others, isPerSource = false, programs, ...shown } = search
  const { nodes, from, to, weight } = network
  const find = async () =>
    (await shortestPaths(network, { sources, ...(targets && { targets }) })).distances.data
  const distances = await find()
  const row = (data: Int32Array) => matrix(1, data.length, data)
  const note = threads() + (isPerSource ? `, per source of ${sources.length}` : '')
  const ours = { what: HERE, note, call: () => elapsed(find) }
  return compete(bench, {
    ...shown,
    implementations: [ours, ...((await others?.(distances)) ?? [])],
    programs: programs ?? ['scipy_dijkstra', 'igraph_distances'],
    operands: { from: row(from), to: row(to), weight: row(weight) },
    options: { nodes },
    request: { sources, targets },
    compare: ({ data }) => differing(data, distances),
    unit: 'ms',
    figureOf: (ms) => (isPerSource ? ms / sources.length : ms),
    remark: ', one thread',
  })
}

/** Returns searches by JavaScript libraries, which are checked against the expected distances. */
async function javascriptImplementations(
  bench: Bench,
  of: string,
  network: Network,
  search: (loaded: ReturnType<JavascriptRival['load']>) => (() => ArrayLike<number>) | undefined,
  distances: ElementArray,
  { note, calls = 1 }: { note: string; calls?: number },
): Promise<Implementation[]> {
  const { rivals, missing } = await javascriptRivals()
  const implementations: Implementation[] = []
  for (const { name, version, load } of rivals) {
    bench.onPart(`making the graph of ${name}`, 0)
    const call = search(load(network))
    if (!call) continue
    const wrong = differing(call(), distances)
    bench.wrong(wrong, `${of}: ${name}`)
    if (wrong === undefined)
      implementations.push({
        what: name,
        note: `${version}, ${note}`,
        call: async () => calls * (await elapsed(call)),
      })
  }
  for (const name of missing) bench.figure(of, name, 'ms', 0, { note: 'not measured: it is not installed' })
  return implementations
}

type JavascriptRival = Awaited<ReturnType<typeof javascriptRivals>>['rivals'][number]

/** Times searches of a network by all libraries, from some sources to all nodes. */
async function againstAll(bench: Bench, name: keyof typeof networks): Promise<void> {
  const network = networks[name](bench.quick ? 400 : 20_000)
  const of = described(name, network)
  const sources = spreadOver(network.nodes, bench.quick ? 3 : 20)
  await searchByAll(bench, {
    of,
    network,
    sources,
    targets: null,
    isPerSource: true,
    rounds: bench.times(1, 5),
    others: (distances) =>
      javascriptImplementations(
        bench,
        of,
        network,
        ({ distances: from }) => from && (() => from(sources[0]!)),
        distances.subarray(0, network.nodes),
        // Only one source is measured.
        { note: 'one thread, one source', calls: sources.length },
      ),
  })
}

/** Compares searches from many sources of a random network with SciPy and igraph. */
async function manySources(bench: Bench): Promise<void> {
  const network = random(bench.quick ? 500 : 50_000)
  const sources = spreadOver(network.nodes, bench.quick ? 4 : 200)
  const of = `${described('random', network)}, ${sources.length} sources`
  const samples = await searchByAll(bench, { of, network, sources, targets: null, rounds: bench.times(1, 7) })
  const own = median(samples.get(HERE)!)
  for (const [what, times] of samples) {
    if (what === HERE) continue
    const goal = bench.usually(what === 'SciPy' ? { must: 4, aim: 8 } : { must: 2, aim: 4 })
    const name = `${what}'s time / the time here`
    bench.figure(of, name, 'x', median(times) / own, { ...goal, moreIsBetter: true })
  }
}

/**
 * Measures searches between two nodes of a large grid: calls with edge lists, and delays of the event loop.
 */
async function oneToOne(bench: Bench): Promise<void> {
  const network = grid(bench.quick ? 900 : 1_000_000)
  const of = `${described('grid', network)}, one source to one target`
  const [sources, targets] = [[0], [network.nodes - 1]]
  const rounds = bench.times(1, 7)
  const goal = bench.usually({ must: 600, aim: 300 })
  await searchByAll(bench, { of, network, sources, targets, rounds, goal })
  const search = () => shortestPaths(network, { sources, targets })
  const idle: number[] = []
  const busy: number[] = []
  for (let round = 0; round < rounds; round++) {
    idle.push((await delaysDuring(() => sleep(bench.quick ? 50 : 500))).longest)
    busy.push((await delaysDuring(search)).longest)
  }
  bench.figure(of, 'longest delay of an idle event loop', 'ms', idle)
  bench.figure(of, 'longest delay of the event loop', 'ms', busy, bench.usually({ must: 10, aim: 3 }))
}

/**
 * Times searches between two nodes by all libraries. The network is smaller, because JavaScript libraries
 * build graphs of a million nodes too slowly.
 */
async function oneToOneOfAll(bench: Bench): Promise<void> {
  const network = grid(bench.quick ? 400 : 40_000)
  const of = `${described('grid', network)}, one source to one target`
  const [source, target] = [0, network.nodes - 1]
  await searchByAll(bench, {
    of,
    network,
    sources: [source],
    targets: [target],
    programs: [],
    rounds: bench.times(1, 7),
    others: (distances) =>
      javascriptImplementations(
        bench,
        of,
        network,
        ({ between }) => between && (() => [between(source, target)]),
        distances,
        { note: 'without making its graph' },
      ),
  })
}

/** Compares all pairs of a planar network by nested dissection with a search from each node. */
async function allPairs(bench: Bench): Promise<void> {
  const network = roads(bench.quick ? 400 : 20_000)
  const of = `${described('roads', network)}, eccentricities of all`
  const byMethod = (method: 'dissection' | 'search') => reducePaths(network, { method })
  const [dissected, searched] = [await byMethod('dissection'), await byMethod('search')]
  bench.wrong(differing(dissected.values, searched.values), `${of}: by dissection`)
  const both = async () => ({
    dissection: await elapsed(() => byMethod('dissection')),
    search: await elapsed(() => byMethod('search')),
  })
  const note = threads()
  await bench.measure(of, [1, 3, 0], both, [
    [`${HERE}, dissection`, 'ms', ({ dissection }) => dissection, { note }],
    [`${HERE}, search`, 'ms', ({ search }) => search, { note }],
    [
      'search / dissection',
      'x',
      ({ dissection, search }) => search / dissection,
      { ...bench.usually({ must: 2, aim: 5 }), moreIsBetter: true },
    ],
  ])
}

/**
 * Measures the memory of a search with edge lists and result, without the memory that Node.js and the library
 * used before.
 */
async function memory(bench: Bench): Promise<void> {
  const before = process.memoryUsage.rss()
  const network = hexagonal(bench.quick ? 900 : 1_000_000)
  const of = `${described('hexagonal', network)}, one source`
  await shortestPaths(network, { sources: 0 })
  const most = 1024 * process.resourceUsage().maxRSS
  const goal = bench.usually({ must: 150e6, aim: 80e6 })
  bench.figure(of, 'most memory, more than before', 'bytes', most - before, goal)
}

export const sparse: Suite = {
  shows:
    'searches in sparse networks, and the same by graphology, cytoscape, ngraph, @dagrejs/graphlib, SciPy and igraph, as far as they are installed; all distances are the same',
  grid: (bench) => [
    // The memory case is first, because other cases would use memory before.
    ['memory', () => memory(bench)],
    ...(Object.keys(networks) as (keyof typeof networks)[]).map(
      (name): SuiteCase => [name, () => againstAll(bench, name)],
    ),
    ['many sources', () => manySources(bench)],
    ['one source to one target', () => oneToOne(bench)],
    ['one to one, all libraries', () => oneToOneOfAll(bench)],
    ['all pairs', () => allPairs(bench)],
  ],
}
