/** Runs experiments, each in a separate subprocess. */
import { fork } from 'node:child_process'
import { startProgress } from '../progress.js'

/** Error of a measuring subprocess that ended too early. */
export class ChildError extends Error {}

/** Time in ms in which a process that is stopped may remove its temporary files. */
const EXIT_MS = 2000

/** Message to a subprocess: the name of an experiment in experiments.ts, and its request. */
export interface TrialRequest {
  experiment: string
  request: unknown
}

export type Message<Found> =
  /** Current step, and completed fraction of the subprocess' work, from 0 to 1. */
  | { type: 'progress'; what: string; done: number }
  /** Result of the next case. */
  | { type: 'found'; found: Found }
  | { type: 'failed'; code: string | null; message: string }

/** An experiment and its request. */
export interface Subprocess<Found> {
  /** Name in experiments.ts. */
  experiment: string
  request: object
  /** Description for the progress line. */
  what: string
  /** Verb phrase in the past tense that describes the work, for the error if the process ends too early. */
  does: string
  /** Number of threads of the CPU backend; null: the setting of the environment. */
  threads: number | null
  /** Estimated cost, in any unit that is roughly proportional to the time. */
  cost: number
  /** Receives the result of each case as soon as it is measured. */
  found(result: Found): void
  /** Receives the reason of a failed case; without this method the subprocess fails. */
  failed?(reason: string): void
}

/** @throws ChildError if a process ends before it is done, or a case fails without a handler `failed`. */
export async function runInSubprocesses<Found>(
  trials: readonly Subprocess<Found>[],
  signal: AbortSignal,
): Promise<void> {
  const progress = startProgress(trials.reduce((sum, { cost }) => sum + cost, 0))
  let done = 0
  try {
    for (const trial of trials) {
      progress.show(trial.what, done)
      await runInSubprocess(trial, signal, (what, share) =>
        progress.show(`${trial.what}: ${what}`, done + share * trial.cost),
      )
      done += trial.cost
    }
  } finally {
    progress.end()
  }
}

export function runInSubprocess<Found>(
  { experiment, request, what, does, threads, found: onResult, failed }: Omit<Subprocess<Found>, 'cost'>,
  signal: AbortSignal,
  onPart: (what: string, done: number) => void,
): Promise<void> {
  const receive = (message: Message<Found>) => {
    if (message.type === 'progress') onPart(message.what, message.done)
    else if (message.type === 'found') onResult(message.found)
    else {
      const reason = message.message + (message.code ? ` [${message.code}]` : '')
      if (!failed) throw new ChildError(`${what}: ${reason}`)
      failed(reason)
    }
  }
  return new Promise((resolve, reject) => {
    const child = fork(new URL('./process.js', import.meta.url), {
      env: threads === null ? process.env : { ...process.env, MPMML_NUM_THREADS: String(threads) },
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    let timer: NodeJS.Timeout | undefined
    const stop = () => {
      child.kill('SIGTERM')
      timer = setTimeout(() => child.kill('SIGKILL'), EXIT_MS)
    }
    signal.addEventListener('abort', stop, { once: true })
    child.on('message', (received: Message<Found>) => {
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
        reject(new ChildError(`the process that ${does} ended ${how}`))
      }
    })
    child.send({ experiment, request } satisfies TrialRequest)
  })
}
