/**
 * Whether there is memory for work on a graph. It is asked before: a system promises more memory than it has, and kills the process that
 * then writes to it.
 */
import { OutOfMemoryError } from '../errors.js'
import { availableMemory } from '../free-memory.js'

/** Upper bound of the bytes that a computation needs. */
export interface MemoryRequirement {
  /** Name of the computation in messages. */
  readonly what: string
  readonly perNode: number
  readonly perEdge: number
}

/** Smaller work doesn't look for memory: to ask the system takes a tenth of a millisecond, as long as such work. */
const SMALL_WORK = 2 ** 17
/** Bytes that small work may take in all. */
const SMALL_MEMORY = 2 ** 24

/** The bytes that are available for work of this size. */
export const availableFor = (bytes: number): number =>
  bytes <= SMALL_WORK ? SMALL_MEMORY : availableMemory()

/**
 * Throws OutOfMemoryError if work can't have the memory that it may need: arrays that were written can't be given back.
 *
 * @returns the bytes that are available.
 */
export function assertMemoryFits(
  { what, perNode, perEdge }: MemoryRequirement,
  nodes: number,
  edges: number,
): number {
  const bytes = nodes * perNode + edges * perEdge
  const available = availableFor(bytes)
  if (bytes <= available) return available
  throw new OutOfMemoryError(
    `${what} of ${nodes} nodes and ${edges} edges may need ${bytes} bytes, but ${available} are available: leave out nodes ` +
      'that have no edges',
  )
}
