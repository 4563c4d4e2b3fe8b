/** Sparse networks: searches here and by other libraries, on the same networks and with the same results. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { reducePaths, shortestPaths } from '../../lib/graph.js'
import { info } from '../../lib/index.js'
import { elapsed, median } from '../experiment.js'
import { javascriptRivals } from './sparse/javascript.js'
import { grid, hexagonal, type Network, networks, random, roads } from './sparse/networks.js'
import { Python } from './sparse/python.js'
import type { Asked, Bench, Suite } from './suite.js'

const NONE = 2 ** 31 - 1

const described = (name: string, { nodes, from }: Network) => `${name}, ${nodes} nodes, ${from.length} edges`

/** Some nodes, spread over all. */
const spreadOver = (nodes: number, count: number) =>
  Array.from({ length: count }, (_, at) => Math.floor((at * nodes) / count))

/** How distances differ from those found here; undefined if they don't. */
export function differing(theirs: ArrayLike<number>, ours: ArrayLike<number>): string | undefined {
  if (theirs.length !== ours.length) return `it gives ${theirs.length} distances, not ${ours.length}`
  for (let at = 0; at < ours.length; at++) {
    const own = ours[at] === NONE ? Number.POSITIVE_INFINITY : ours[at]
    // An eccentricity may be NaN.
    if (!Object.is(theirs[at], own)) return `distance ${at} is ${theirs[at]}, but ${own} here`
  }
  return undefined
}

const threads = () => `${info().cpu.threads} threads`

/** A way to compute the same thing. */
interface Way {
  of: string
  what: string
  note: string
  /** The milliseconds of a call, and what it found if that is wanted. */
  call(): Promise<number>
}

/** Calls each way in its turn, again and again: what else the machine does is the same for all. */
async function inTurns(bench: Bench, rounds: number, ways: Way[]): Promise<number[][]> {
  const samples: number[][] = ways.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (const [at, way] of ways.entries()) {
      bench.onPart(way.what, (round * ways.length + at) / (rounds * ways.length))
      samples[at]!.push(await way.call())
    }
  }
  return samples
}

function show(bench: Bench, ways: Way[], samples: number[][], asked: Asked = {}): void {
  for (const [at, { of, what, note }] of ways.entries())
    bench.figure(of, what, 'ms', samples[at]!, { ...(at === 0 ? asked : {}), note })
}

const HERE = 'mpmml'

/** The distances from some nodes, here and by SciPy and igraph; in milliseconds for each source. */
async function pythonWays(
  bench: Bench,
  of: string,
  python: Python | null,
  sources: number[],
  targets: number[] | null,
  ours: ArrayLike<number>,
  per: number,
): Promise<Way[]> {
  if (!python)
    bench.figure(of, 'SciPy, igraph', 'ms', 0, { note: 'not measured: there is no python3 with NumPy' })
  const ways: Way[] = []
  for (const [name, { version, ms }] of Object.entries(python?.libraries ?? {})) {
    await python!.call(name, sources, targets, true)
    const wrong = differing(await python!.distances(), ours)
    if (wrong) {
      bench.wrong(`${of}: ${name}: ${wrong}`)
      continue
    }
    const note = `${version}, one thread; making its graph took ${ms.toFixed(0)} ms`
    ways.push({
      of,
      what: name,
      note,
      call: async () => (await python!.call(name, sources, targets, false)) / per,
    })
  }
  return ways
}

/** All libraries on a network of each kind, from some sources to all nodes. */
async function againstAll(bench: Bench, name: keyof typeof networks): Promise<void> {
  const network = networks[name](bench.quick ? 400 : 20_000)
  const of = described(name, network)
  const sources = spreadOver(network.nodes, bench.quick ? 3 : 20)
  const { distances } = await shortestPaths(network, { sources })
  const python = await Python.start(network)
  try {
    const ways: Way[] = [
      {
        of,
        what: HERE,
        note: `${threads()}, per source of ${sources.length}`,
        call: async () =>
          (await elapsed(async () => {
            await shortestPaths(network, { sources })
          })) / sources.length,
      },
      ...(await pythonWays(bench, of, python, sources, null, distances.data, sources.length)),
    ]
    const { rivals, missing } = await javascriptRivals()
    for (const { name, version, load } of rivals) {
      bench.onPart(`making the graph of ${name}`, 0)
      const { distances: from } = load(network)
      if (!from) continue
      const wrong = differing(from(sources[0]!), distances.data.subarray(0, network.nodes))
      if (wrong) {
        bench.wrong(`${of}: ${name}: ${wrong}`)
        continue
      }
      const call = async () => elapsed(async () => void from(sources[0]!))
      ways.push({ of, what: name, note: `${version}, one thread, one source`, call })
    }
    show(bench, ways, await inTurns(bench, bench.times(1, 5), ways))
    for (const name of missing) bench.figure(of, name, 'ms', 0, { note: 'not measured: it is not installed' })
  } finally {
    await python?.close()
  }
}

/** Many sources of a random network, against SciPy and igraph. */
async function manySources(bench: Bench): Promise<void> {
  const network = random(bench.quick ? 500 : 50_000)
  const sources = spreadOver(network.nodes, bench.quick ? 4 : 200)
  const of = `${described('random', network)}, ${sources.length} sources`
  const { distances } = await shortestPaths(network, { sources })
  const python = await Python.start(network)
  try {
    const call = () =>
      elapsed(async () => {
        await shortestPaths(network, { sources })
      })
    const ways = [
      { of, what: HERE, note: threads(), call },
      ...(await pythonWays(bench, of, python, sources, null, distances.data, 1)),
    ]
    const samples = await inTurns(bench, bench.times(1, 7), ways)
    show(bench, ways, samples)
    const own = median(samples[0]!)
    for (const [at, { what }] of ways.entries()) {
      if (at === 0) continue
      const goal = what === 'SciPy' ? { must: 4, aim: 8 } : { must: 2, aim: 4 }
      const asked = { ...(bench.quick ? {} : goal), moreIsBetter: true }
      bench.figure(of, `${what}'s time / the time here`, 'x', median(samples[at]!) / own, asked)
    }
  } finally {
    await python?.close()
  }
}

/** The longest delay of the event loop while `work` runs, in milliseconds. */
async function longestDelay(work: () => Promise<unknown>): Promise<number> {
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  // The first look comes before the work does.
  await sleep(20)
  delays.reset()
  await work()
  await sleep(5)
  delays.disable()
  return delays.max / 1e6
}

/** One source and one target of a large grid: what a call costs that is given edge lists, and how long the event loop waits. */
async function oneToOne(bench: Bench): Promise<void> {
  const network = grid(bench.quick ? 900 : 1_000_000)
  const of = `${described('grid', network)}, one source to one target`
  const [sources, targets] = [[0], [network.nodes - 1]]
  const search = async () => (await shortestPaths(network, { sources, targets })).distances.data
  const length = await search()
  const python = await Python.start(network)
  try {
    const ways = [
      { of, what: HERE, note: threads(), call: () => elapsed(async () => void (await search())) },
      ...(await pythonWays(bench, of, python, sources, targets, length, 1)),
    ]
    const samples = await inTurns(bench, bench.times(1, 7), ways)
    show(bench, ways, samples, bench.quick ? {} : { must: 600, aim: 300 })
  } finally {
    await python?.close()
  }
  const idle: number[] = []
  const busy: number[] = []
  for (let round = 0; round < bench.times(1, 7); round++) {
    idle.push(await longestDelay(() => sleep(bench.quick ? 50 : 500)))
    busy.push(await longestDelay(search))
  }
  bench.figure(of, 'longest delay of an idle event loop', 'ms', idle)
  bench.figure(of, 'longest delay of the event loop', 'ms', busy, bench.quick ? {} : { must: 10, aim: 3 })
}

/** One source and one target by libraries for JavaScript, which make graphs of a million nodes too slowly. */
async function oneToOneOfAll(bench: Bench): Promise<void> {
  const network = grid(bench.quick ? 400 : 40_000)
  const of = `${described('grid', network)}, one source to one target`
  const [source, target] = [0, network.nodes - 1]
  const search = async () =>
    (await shortestPaths(network, { sources: source, targets: target })).distances.data
  const length = await search()
  const ways: Way[] = [
    { of, what: HERE, note: 'the whole call', call: () => elapsed(async () => void (await search())) },
  ]
  const { rivals } = await javascriptRivals()
  for (const { name, version, load } of rivals) {
    const { between } = load(network)
    if (!between) continue
    const wrong = differing([between(source, target)], length)
    if (wrong) bench.wrong(`${of}: ${name}: ${wrong}`)
    else
      ways.push({
        of,
        what: name,
        note: `${version}, without making its graph`,
        call: () => elapsed(async () => void between(source, target)),
      })
  }
  show(bench, ways, await inTurns(bench, bench.times(1, 7), ways))
}

/** All pairs of a planar network by dissection, against a search from each node. */
async function allPairs(bench: Bench): Promise<void> {
  const network = roads(bench.quick ? 400 : 20_000)
  const of = `${described('roads', network)}, eccentricities of all`
  const methods = ['dissection', 'search'] as const
  const found = await Promise.all(
    methods.map(async (method) => (await reducePaths(network, { method })).values),
  )
  const wrong = differing(found[0]!, found[1]!)
  if (wrong) bench.wrong(`${of}: by dissection ${wrong}`)
  const ways = methods.map((method) => ({
    of,
    what: `${HERE}, ${method}`,
    note: threads(),
    call: () => elapsed(async () => void (await reducePaths(network, { method }))),
  }))
  const samples = await inTurns(bench, bench.times(1, 3), ways)
  show(bench, ways, samples)
  const asked = { ...(bench.quick ? {} : { must: 2, aim: 5 }), moreIsBetter: true }
  bench.figure(of, 'search / dissection', 'x', median(samples[1]!) / median(samples[0]!), asked)
}

/** What a search takes besides what Node.js and the library had before: the edge lists and the result are in it. */
async function memory(bench: Bench): Promise<void> {
  const before = process.memoryUsage.rss()
  const network = hexagonal(bench.quick ? 900 : 1_000_000)
  const of = `${described('hexagonal', network)}, one source`
  await shortestPaths(network, { sources: 0 })
  const most = 1024 * process.resourceUsage().maxRSS
  const asked = bench.quick ? {} : { must: 150e6, aim: 80e6 }
  bench.figure(of, 'most memory, more than before', 'bytes', most - before, { ...asked, moreIsBetter: false })
}

export const sparse: Suite = {
  shows:
    'searches in sparse networks, and the same by graphology, cytoscape, ngraph, @dagrejs/graphlib, SciPy and igraph, as far as they are installed; all distances are the same',
  grid: (bench) => [
    // It is first, so that nothing else has taken memory.
    ['memory', () => memory(bench)],
    ...(Object.keys(networks) as (keyof typeof networks)[]).map(
      (name) => [name, () => againstAll(bench, name)] as [string, () => Promise<void>],
    ),
    ['many sources', () => manySources(bench)],
    ['one source to one target', () => oneToOne(bench)],
    ['one to one, all libraries', () => oneToOneOfAll(bench)],
    ['all pairs', () => allPairs(bench)],
  ],
}
