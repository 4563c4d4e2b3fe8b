/** Shortest paths by SciPy and igraph, in a process of Python, on one core. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { readNpy, writeNpy } from '../../../lib/files.js'
import { type ElementArray, matrix } from '../../../lib/index.js'
import type { Network } from './networks.js'

/** Reads the edges, says what is there, and then answers a line for each question. */
const program = `
import json, sys, time
import numpy
folder, nodes = sys.argv[1], int(sys.argv[2])
begin, end, weight = (numpy.load(folder + "/" + name + ".npy").ravel() for name in ("from", "to", "weight"))
calls = {}
said = {}
def add(name, version, make):
    started = time.perf_counter()
    calls[name] = make()
    said[name] = {"version": version, "ms": 1000 * (time.perf_counter() - started)}
try:
    import scipy
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra
    def make():
        graph = csr_matrix((weight.astype(numpy.float64), (begin, end)), shape=(nodes, nodes))
        def call(sources, targets):
            distances = dijkstra(graph, indices=sources)
            return distances if targets is None else distances[:, targets]
        return call
    add("SciPy", scipy.__version__, make)
except ModuleNotFoundError:
    pass
try:
    import igraph
    def make():
        graph = igraph.Graph(n=nodes, edges=numpy.stack((begin, end), axis=1), directed=True)
        graph.es["weight"] = weight.tolist()
        return lambda sources, targets: graph.distances(source=sources, target=targets, weights="weight", mode="out")
    add("igraph", igraph.__version__, make)
except ModuleNotFoundError:
    pass
print(json.dumps(said), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    call = calls[asked["name"]]
    started = time.perf_counter()
    distances = call(asked["sources"], asked["targets"])
    ms = 1000 * (time.perf_counter() - started)
    if asked["save"]:
        numpy.save(folder + "/distances.npy", numpy.array(distances, dtype=numpy.float64))
    print(json.dumps(ms), flush=True)
`

/** What a library needed to make its graph. */
interface Known {
  version: string
  ms: number
}

export class Python {
  #lines: AsyncIterator<string>

  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    readonly libraries: Record<string, Known>,
    lines: AsyncIterator<string>,
  ) {
    this.#lines = lines
  }

  /** Null if there is no Python with NumPy. */
  static async start({ nodes, from, to, weight }: Network): Promise<Python | null> {
    const folder = await mkdtemp(join(tmpdir(), 'mpmml-sparse-'))
    for (const [name, data] of Object.entries({ from, to, weight }))
      await writeNpy(join(folder, `${name}.npy`), matrix(1, data.length, data))
    const child = spawn('python3', ['-c', program, folder, String(nodes)], {
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    child.once('error', () => {})
    const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
    const first = await lines.next()
    if (!first.done) return new Python(child, folder, JSON.parse(first.value), lines)
    await rm(folder, { recursive: true, force: true })
    return null
  }

  /** The milliseconds of a call; with `save`, {@link distances} gives what it found. */
  async call(name: string, sources: number[], targets: number[] | null, save: boolean): Promise<number> {
    this.child.stdin!.write(`${JSON.stringify({ name, sources, targets, save })}\n`)
    const { done, value } = await this.#lines.next()
    if (done) throw new Error(`${name} failed: python3 has ended`)
    return JSON.parse(value)
  }

  async distances(): Promise<ElementArray> {
    return (await readNpy(join(this.folder, 'distances.npy'))).data as ElementArray
  }

  async close(): Promise<void> {
    this.child.kill()
    await rm(this.folder, { recursive: true, force: true })
  }
}
