/**
 * Checks in advance whether the memory suffices for work on a graph. Systems overcommit memory, and kill the
 * process that later writes to it.
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

/**
 * Size of work below which memory isn't checked: the query of the system takes 0.1 ms, as long as such work.
 */
const SMALL_WORK = 2 ** 17
/** Upper bound of the bytes of small work. */
const SMALL_MEMORY = 2 ** 24

/** Returns the available bytes for work of a size. */
export const availableFor = (bytes: number): number =>
  bytes <= SMALL_WORK ? SMALL_MEMORY : availableMemory()

/**
 * Throws OutOfMemoryError if the available memory is less than the requirement.
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
