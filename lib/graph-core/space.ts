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

/** Work that needs no more bytes doesn't ask: that takes a tenth of a millisecond, as long as such work. */
export const SMALL_WORK = 2 ** 17

/** Throws OutOfMemoryError if work can't have the memory that it may need: arrays that were written can't be given back. */
export function requireSpace({ what, perNode, perEdge }: Need, nodes: number, edges: number): void {
  const bytes = nodes * perNode + edges * perEdge
  if (bytes <= SMALL_WORK) return
  const available = availableMemory()
  if (bytes <= available) return
  throw new OutOfMemoryError(
    `${what} of ${nodes} nodes and ${edges} edges may need ${bytes} bytes, but ${available} are available: leave out nodes ` +
      'that have no edges',
  )
}
