/**
 * Whether there is memory for work on a graph. It is asked before: a system promises more memory than it has, and kills the process that
 * then writes to it.
 */
import { OutOfMemoryError } from '../errors.js'
import { availableMemory } from '../free-memory.js'

/** How many bytes work needs at most. */
export interface Need {
  /** What messages call the work. */
  readonly what: string
  readonly perNode: number
  readonly perEdge: number
}

/** What takes no more bytes doesn't ask whether they are there: that takes a tenth of a millisecond, as long as such work. */
const SMALL_WORK = 2 ** 17

/** How many bytes are available, if those are fewer than `bytes`. */
export function shortOf(bytes: number): number | undefined {
  if (bytes <= SMALL_WORK) return undefined
  const available = availableMemory()
  return bytes <= available ? undefined : available
}

/** Throws OutOfMemoryError if work can't have the memory that it may need: arrays that were written can't be given back. */
export function requireSpace({ what, perNode, perEdge }: Need, nodes: number, edges: number): void {
  const bytes = nodes * perNode + edges * perEdge
  const available = shortOf(bytes)
  if (available === undefined) return
  throw new OutOfMemoryError(
    `${what} of ${nodes} nodes and ${edges} edges may need ${bytes} bytes, but ${available} are available: leave out nodes ` +
      'that have no edges',
  )
}
