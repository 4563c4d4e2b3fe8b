/**
 * Limits of loops whose termination follows from a property of graphs, so that an error can't cause an
 * endless loop.
 */
import { LimitError } from '../errors.js'

/** @throws LimitError (ERR_MPMML_LIMIT) if a loop has taken more than its `most` rounds. */
export function assertTerminates(rounds: number, most: number, loop: string): void {
  if (rounds <= most) return
  throw new LimitError(
    `${loop} must end after ${most} rounds, but it has begun round ${rounds}: this is an error of the library, so report the graph`,
  )
}
