/** Whether a query is answered from all pairs or by searches: the one place that estimates. */
import { availableParallelism } from 'node:os'
import { AUTO, builtWithCuda, CPU } from '../backend.js'
import { onImplicitDevice } from '../device/implicit.js'
import type { ReadOptions } from '../product/options.js'

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
  /** The backend that is asked for, as an index into the addon's list; AUTO if none is. */
  readonly backend: number
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

/** Whether searching takes less time than all pairs. */
export async function searchIsCheaper(options: ReadOptions, work: Work): Promise<boolean> {
  const { nodes, edges, listed, batch, roots, resident, backend } = work
  if (backend !== AUTO && backend !== CPU) return false
  const elements = nodes * nodes
  const heap = nodes * Math.log2(nodes + 2) * PER_COMPARISON
  const reading = listed ? edges * PER_LISTED : elements * (PER_ELEMENT + (resident ? PER_COPIED : 0))
  const searching = batch * (reading + roots * (edges * PER_EDGE + heap))
  const closing = (backend: 'cuda' | 'cpu') => {
    const threads = backend === 'cpu' ? availableParallelism() : 1
    const moving = backend === 'cuda' && !resident ? 2 * elements * PER_COPIED : 0
    return PER_CALL + batch * ((elements * nodes * PER_STEP[backend]) / threads + moving)
  }
  if (resident) return searching < closing(resident)
  if (backend === CPU || !builtWithCuda) return searching < closing('cpu')
  // Only if it matters whether there is a GPU is one looked for.
  const [least, most] = [closing('cuda'), closing('cpu')].sort((a, b) => a - b) as [number, number]
  if (searching < least) return true
  if (searching >= most) return false
  const steps = batch * elements * nodes
  return searching < closing(await onImplicitDevice(options, steps, async (session) => session.backend))
}
