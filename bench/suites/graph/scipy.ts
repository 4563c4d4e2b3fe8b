/** The same distances by SciPy, which computes them in float64 on one core. */
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readNpy, writeNpy } from '../../../lib/files.js'
import { shortestPaths } from '../../../lib/graph.js'
import { info, matrix } from '../../../lib/index.js'
import { median } from '../../experiment.js'
import { firstDifference } from '../../verify.js'
import type { Bench } from '../suite.js'
import { randomGraph, timed } from './all-pairs.js'

/** Reads weights, writes distances, and prints its version and the seconds of each call. */
const program = `
import json, sys, time
import numpy, scipy
from scipy.sparse.csgraph import floyd_warshall
weights = numpy.load(sys.argv[1])
none = 2**31 - 1
graph = weights.astype(numpy.float64)
graph[weights == none] = numpy.inf
seconds = []
for repetition in range(int(sys.argv[3])):
    begin = time.perf_counter()
    distances = floyd_warshall(graph)
    seconds.append(time.perf_counter() - begin)
distances[numpy.isinf(distances)] = none
numpy.save(sys.argv[2], distances.astype(numpy.int32))
print(json.dumps({"version": scipy.__version__, "seconds": seconds}))
`

interface SciPyTimes {
  version: string
  seconds: number[]
}

/** Null if there is no python3 with SciPy. */
function runSciPy(input: string, output: string, repetitions: number): Promise<SciPyTimes | null> {
  return new Promise((resolve, reject) => {
    const child = spawn('python3', ['-c', program, input, output, String(repetitions)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk) => {
      stdout += chunk
    })
    child.stderr.on('data', (chunk) => {
      stderr += chunk
    })
    child.once('error', () => resolve(null))
    child.once('close', (status) => {
      if (status === 0) resolve(JSON.parse(stdout))
      else if (stderr.includes('ModuleNotFoundError')) resolve(null)
      else reject(new Error(`SciPy failed: ${stderr.trim().split('\n').at(-1)}`))
    })
  })
}

/** The time of all distances on the CPU, and how many times longer SciPy takes, if it is there. */
export async function againstSciPy(bench: Bench, nodes: number): Promise<void> {
  const of = `${nodes} nodes, arrays, CPU`
  const graph = randomGraph([nodes, nodes], 1)
  let distances = graph
  const ours = await timed(bench.times(2, 5), async () => {
    distances = (await shortestPaths(graph, { backend: 'cpu' })).distances
  })
  bench.figure(of, 'all distances', 'ms', ours, { note: `${info().cpu.threads} threads` })
  const folder = await mkdtemp(join(tmpdir(), 'mpmml-scipy-'))
  try {
    const [input, output] = [join(folder, 'weights.npy'), join(folder, 'distances.npy')]
    await writeNpy(input, graph)
    bench.onPart('the same by SciPy', 0.5)
    const theirs = await runSciPy(input, output, bench.quick ? 1 : 3)
    if (!theirs) {
      bench.figure(of, "SciPy's floyd_warshall", 'ms', 0, {
        note: 'not measured: there is no python3 with SciPy (Debian: python3-scipy)',
      })
      return
    }
    const difference = firstDifference(distances, matrix(nodes, nodes, (await readNpy(output)).data))
    if (difference) {
      const { index, value, expected, count } = difference
      bench.wrong(
        `${of}: the distance ${index.join(' to ')} is ${value}, by SciPy ${expected}; ${count} differ`,
      )
    }
    const times = theirs.seconds.map((seconds) => 1000 * seconds)
    bench.figure(of, "SciPy's floyd_warshall", 'ms', times, {
      note: `SciPy ${theirs.version}, one thread`,
    })
    const theirMs = median(times)
    const asked = bench.quick ? {} : { must: 20, aim: 40 }
    bench.figures(of, ours, [
      ['its time / the time here', 'x', (ms) => theirMs / ms, { ...asked, moreIsBetter: true }],
    ])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
