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
  /** Whether they are in an edge list. */
  readonly listed: boolean
  /** Graphs. */
  readonly batch: number
  /** Searches of each graph. */
  readonly roots: number
  /** The backend of the device that the weights are on; null if they are in arrays. */
  readonly resident: 'cuda' | 'cpu' | null
}

// Milliseconds, on an EPYC (Zen 4) and an H200. Only their ratios matter, and only roughly.
const PER_EDGE = 6e-6
/** n · log2(n) of these for the heap. */
const PER_COMPARISON = 20e-6
/** An element of a matrix, or an edge of a list, that is read and sorted. */
const PER_ELEMENT = 4e-6
const PER_LISTED = 50e-6
const PER_COPIED = 1e-6
const PER_STEP = { cuda: 1e-10, cpu: 6e-8 }
const PER_CALL = 0.1

/** Below this a GPU isn't asked for: even the question takes time. */
const SOON = 2

/** Whether searching takes less time than all pairs. */
export function searchIsCheaper(options: ReadOptions, work: Work): boolean {
  const { nodes, edges, listed, batch, roots, resident } = work
  const choice = options.backend === AUTO ? automaticBackend() : options.backend
  if (choice !== AUTO && choice !== CPU) return false
  const elements = nodes * nodes
  const heap = nodes * Math.log2(nodes + 2) * PER_COMPARISON
  const reading = listed ? edges * PER_LISTED : elements * (PER_ELEMENT + (resident ? PER_COPIED : 0))
  const searching = batch * (reading + roots * (edges * PER_EDGE + heap))
  const backend = resident ?? (searching < SOON ? 'cpu' : backendOf(options, choice))
  const threads = backend === 'cpu' ? availableParallelism() : 1
  const moving = backend === 'cuda' && !resident ? 2 * elements * PER_COPIED : 0
  const closing = PER_CALL + batch * ((elements * nodes * PER_STEP[backend]) / threads + moving)
  return searching < closing
}

function backendOf({ device }: ReadOptions, choice: number): 'cuda' | 'cpu' {
  if (choice === CPU || !builtWithCuda) return 'cpu'
  return addon.explain(device === LEFT_OUT ? 0 : device).backend
}
