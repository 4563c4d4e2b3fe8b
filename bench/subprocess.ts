/** Runs measurements in a separate process. */
import { fork } from 'node:child_process'

/** Error of a measuring subprocess that ended too early. */
export class ChildError extends Error {}

/** Time in ms in which a process that is stopped may remove its temporary files. */
const EXIT_MS = 2000

/**
 * Runs a script, sends it one message, and passes its messages to `receive` until the script ends.
 *
 * @param what - work of the process, for the error.
 * @throws ChildError if the process ends before it is done.
 */
export function runChild<Message>(
  script: URL,
  message: object,
  receive: (message: Message) => void,
  { env = process.env, what, signal }: { env?: NodeJS.ProcessEnv; what: string; signal: AbortSignal },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = fork(script, { env, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    let timer: NodeJS.Timeout | undefined
    const stop = () => {
      child.kill('SIGTERM')
      timer = setTimeout(() => child.kill('SIGKILL'), EXIT_MS)
    }
    signal.addEventListener('abort', stop, { once: true })
    child.on('message', (received: Message) => {
      try {
        receive(received)
      } catch (error) {
        reject(error)
        stop()
      }
    })
    child.once('error', reject)
    child.once('close', (status, killedBy) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      if (signal.aborted) reject(signal.reason)
      else if (status === 0) resolve()
      else {
        const how = killedBy ? `by ${killedBy}` : `with exit status ${status}`
        reject(new ChildError(`the process that ${what} ended ${how}`))
      }
    })
    child.send(message)
  })
}
