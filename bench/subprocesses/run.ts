/** Runs experiments, each in a separate subprocess. */

import { startProgress } from '../progress.js'
import { ChildError, runChild } from '../subprocess.js'
import type { Message } from './protocol.js'

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
  found(found: Found): void
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
  { experiment, request, what, does, threads, found, failed }: Omit<Subprocess<Found>, 'cost'>,
  signal: AbortSignal,
  onPart: (what: string, done: number) => void,
): Promise<void> {
  return runChild<Message<Found>>(
    new URL('./process.js', import.meta.url),
    { experiment, request },
    (message) => {
      if (message.type === 'progress') onPart(message.what, message.done)
      else if (message.type === 'found') found(message.found)
      else {
        const reason = message.message + (message.code ? ` [${message.code}]` : '')
        if (!failed) throw new ChildError(`${what}: ${reason}`)
        failed(reason)
      }
    },
    {
      env: threads === null ? process.env : { ...process.env, MPMML_NUM_THREADS: String(threads) },
      what: does,
      signal,
    },
  )
}
