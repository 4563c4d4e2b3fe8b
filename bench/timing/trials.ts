/** Runs trials, each in a process of its own. */
import { runChild } from '../child.js'
import type { Message, TrialRequest } from './protocol.js'

/**
 * @param threads - how many the CPU backend may use; null: as the environment says.
 * @param receive - is called with each message as it comes.
 * @throws ChildError if the process ends before it is done.
 */
export function runTrial(
  request: TrialRequest,
  threads: number | null,
  receive: (message: Message) => void,
  signal: AbortSignal,
): Promise<void> {
  return runChild(new URL('./trial.js', import.meta.url), request, receive, {
    env: threads === null ? process.env : { ...process.env, MPMML_NUM_THREADS: String(threads) },
    what: `measured the ${request.backend} backend`,
    signal,
  })
}
