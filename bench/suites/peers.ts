/** Compares mpmml with programs that users could write with other installed libraries, on one machine. */
import { shortestPaths } from '../../lib/graph.js'
import { type DenseMatrix, type ElementArray, info, matrix, mpmm } from '../../lib/index.js'
import { elapsed } from '../experiment.js'
import { randomMatrix, type ValueKind, valueKinds } from '../timing/values.js'
import { naiveVariant } from '../verify.js'
import { differenceOf, randomGraph } from './graph.js'
import { compete, python } from './peers/contest.js'
import { type ProgramName, programs } from './peers/programs.js'
import { random } from './sparse/networks.js'
import { searchByAll, spreadOver } from './sparse.js'
import { type Bench, type Suite, type SuiteCase, topsOf } from './suite.js'

/** Number of rows of a product that are compared. */
const SAMPLED = 16

const onGpu: ProgramName[] = ['cupy_tiles', 'triton_tiles', 'torch_compiled', 'jax_compiled', 'torch_eager']
const onCpu: ProgramName[] = ['numpy_rows', 'torch_compiled', 'jax_compiled', 'torch_eager']

/** Returns the programs whose libraries are installed. A line of the table names the missing libraries. */
function installed(names: readonly ProgramName[]): ProgramName[] {
  const there = python()
  return names.filter((name) => 'packages' in there && there.packages.has(programs[name].needs))
}

const rowOf = (a: DenseMatrix<ElementArray>, row: number) => {
  const cols = a.shape[1]!
  return a.data.subarray(row * cols, (row + 1) * cols)
}

/**
 * Times resident products of random values by all programs, and compares some rows with the naive variant.
 */
async function products(bench: Bench, size: number, values: ValueKind): Promise<void> {
  const { dtype } = valueKinds[values]
  const operand = (seed: number) => randomMatrix([size, size], valueKinds[values], seed)
  const [a, b] = [operand(1), operand(2)]
  const [left, right] = await bench.upload(a, b)
  const out = await bench.full([size, size], dtype)
  const rows = spreadOver(size, Math.min(SAMPLED, size))
  const sample = matrix(rows.length, size, a.data.slice(0, rows.length * size))
  for (const [at, row] of rows.entries()) sample.data.set(rowOf(a, row), at * size)
  const { c: expected } = await mpmm(sample, b, { variant: naiveVariant('max-plus', dtype) })
  const { variant } = await mpmm(left, right, { out })
  const found = (await out.download()) as DenseMatrix<ElementArray>
  for (const [at, row] of rows.entries()) {
    const isSame = rowOf(found, row).every((value, col) => value === expected.data[at * size + col])
    if (!isSame) bench.wrong(`${size}³ ${dtype}: row ${row} differs from the naive product`)
  }
  await compete(bench, {
    of: `${size}³, max-plus of ${dtype}`,
    implementations: [
      {
        what: 'mpmml',
        note: `${info().version}, ${variant}`,
        call: () => elapsed(() => mpmm(left, right, { out })),
      },
    ],
    programs: installed(bench.gpu ? onGpu : onCpu),
    operands: { a, b },
    options: { cuda: bench.gpu },
    request: { rows },
    compare: (theirs) => differenceOf(expected, theirs),
    rounds: bench.times(2, 11),
    unit: 'TOPS',
    figureOf: (ms) => topsOf(size ** 3, ms),
  })
}

/** Times the distances of all pairs of a dense graph by all programs. */
async function allPairs(bench: Bench, nodes: number): Promise<void> {
  const weights = randomGraph([nodes, nodes])
  const [there] = await bench.upload(weights)
  const { distances } = await shortestPaths(weights, bench.place)
  const call = () =>
    elapsed(async () => {
      const found = await shortestPaths(there)
      found.distances.dispose()
    })
  // SciPy is skipped at the GPU's sizes, because it would take minutes on one core.
  const onOneCore: ProgramName[] = bench.gpu && !bench.quick ? [] : ['scipy_floyd_warshall']
  await compete(bench, {
    of: `all pairs of ${nodes} nodes, dense`,
    implementations: [{ what: 'mpmml', note: `${info().version}, resident`, call }],
    programs: installed(['torch_floyd_warshall', ...onOneCore]),
    operands: { weights },
    options: { cuda: bench.gpu },
    request: {},
    compare: (theirs) => differenceOf(distances, theirs),
    rounds: bench.times(2, 5),
    unit: 'ms',
    figureOf: (ms) => ms,
  })
}

/** Times distances from some nodes of a sparse network on the CPU. */
async function searches(bench: Bench): Promise<void> {
  const network = random(bench.quick ? 500 : 20_000)
  const sources = spreadOver(network.nodes, bench.quick ? 4 : 20)
  await searchByAll(bench, {
    of: `${sources.length} of ${network.nodes} nodes to all, 4 edges per node, CPU`,
    network,
    sources,
    targets: null,
    programs: installed(['scipy_dijkstra', 'igraph_distances', 'networkx_dijkstra']),
    rounds: bench.times(1, 5),
  })
}

export const peers: Suite = {
  shows:
    'programs that people write with NumPy, PyTorch, Triton, CuPy, JAX, SciPy, igraph and NetworkX, as far as python3 has them, on the same operands; whole calls until the result is there; results are compared',
  grid(bench) {
    const there = python()
    if ('reason' in there) {
      const note = `nothing was measured: ${there.reason} (Debian: python3-numpy, python3-scipy, python3-igraph, python3-networkx)`
      return [['python3', () => bench.figure('python3 with NumPy', 'installed', '', 0, { note })]]
    }
    const missing = Object.values(programs).filter(({ needs }) => !there.packages.has(needs))
    const size = bench.pick(128, 4096, 512)
    const kinds: ValueKind[] = ['int32', 'float32']
    const names = [...new Set(missing.map(({ library }) => library))]
    return [
      ...(names.length > 0
        ? [
            [
              'libraries',
              () => bench.figure('libraries', 'not installed', '', names.length, { note: names.join(', ') }),
            ] satisfies SuiteCase,
          ]
        : []),
      ...kinds.map((kind): SuiteCase => [`${size}³ ${kind}`, () => products(bench, size, kind)]),
      ['all pairs', () => allPairs(bench, bench.pick(100, 4096, 1024))],
      ['searches', () => searches(bench)],
    ]
  },
}
