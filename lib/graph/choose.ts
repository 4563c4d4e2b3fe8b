/** Whether a query is answered from all pairs or by searches: the one place that estimates. */
import { availableParallelism } from 'node:os'
import { AUTO, automaticBackend, builtWithCuda, CPU } from '../backend.js'
import { addon } from '../native.js'
import { LEFT_OUT, type ReadOptions } from '../product/options.js'

/** How much work a query is. */
export interface Work {
  readonly nodes: number
  /** At most. */
  readonly edges: number
  /** Graphs. */
  readonly batch: number
  /** Searches of each graph. */
  readonly roots: number
  /** The backend of the device that the weights are on; null if they are in arrays. */
  readonly resident: 'cuda' | 'cpu' | null
}

// Milliseconds, measured on an EPYC (Zen 4) and an H200. Only their ratio matters, and only roughly.
const PER_EDGE = 10e-6
const PER_NODE = 25e-6
const PER_ELEMENT = 5e-6
const PER_STEP = { cuda: 6e-11, cpu: 4e-8 }
const PER_CALL = 0.1
const PER_TRANSFER = 2e-6

/** Below this a GPU isn't asked for: even the question takes time. */
const SOON = 2

/** Whether searching takes less time than all pairs. */
export function searchIsCheaper(options: ReadOptions, work: Work): boolean {
  const { nodes, edges, batch, roots, resident } = work
  const choice = options.backend === AUTO ? automaticBackend() : options.backend
  if (choice !== AUTO && choice !== CPU) return false
  const heap = nodes * Math.log2(nodes + 2) * PER_NODE
  const reading = resident ? edges * PER_TRANSFER : 0
  const searching = batch * (edges * PER_ELEMENT + reading + roots * (edges * PER_EDGE + heap))
  const backend = searching < SOON ? 'cpu' : (resident ?? backendOf(options, choice))
  const threads = backend === 'cpu' ? availableParallelism() : 1
  const moving = backend === 'cuda' && !resident ? 2 * nodes * nodes * PER_TRANSFER : 0
  const closing = PER_CALL + batch * ((nodes ** 3 * PER_STEP[backend]) / threads + moving)
  return searching < closing
}

function backendOf({ device }: ReadOptions, choice: number): 'cuda' | 'cpu' {
  if (choice === CPU || !builtWithCuda) return 'cpu'
  return addon.explain(device === LEFT_OUT ? 0 : device).backend
}
