/** Runs trials, each in a process of its own. */
import { fork } from 'node:child_process'
import type { Message, TrialRequest } from './protocol.js'

/** The process that measures ended too early. */
export class TrialError extends Error {}

/**
 * @param threads - how many the CPU backend may use; null: as the environment says.
 * @param receive - is called with each message as it comes.
 * @throws TrialError if the process ends before it is done.
 */
export function runTrial(
  request: TrialRequest,
  threads: number | null,
  receive: (message: Message) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const env = threads === null ? process.env : { ...process.env, MPMML_NUM_THREADS: String(threads) }
    const child = fork(new URL('./trial.js', import.meta.url), {
      env,
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const stop = () => child.kill('SIGKILL')
    signal.addEventListener('abort', stop, { once: true })
    child.on('message', receive)
    child.once('error', reject)
    child.once('close', (status, killedBy) => {
      signal.removeEventListener('abort', stop)
      if (signal.aborted) reject(signal.reason)
      else if (status === 0) resolve()
      else {
        const how = killedBy ? `by ${killedBy}` : `with exit status ${status}`
        reject(new TrialError(`the process that measured the ${request.backend} backend ended ${how}`))
      }
    })
    child.send(request)
  })
}
