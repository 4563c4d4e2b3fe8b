/** Runs trials, each in a process of its own. */

import { startProgress } from '../progress.js'
import { ChildError, runChild } from '../subprocess.js'
import type { Message } from './protocol.js'

/** An experiment with what is asked of it. */
export interface Subprocess<Found> {
  /** By its name in experiments.ts. */
  experiment: string
  request: object
  /** What is measured, for those who wait. */
  what: string
  /** What the process does, in the past tense, for the error if it ends too early. */
  does: string
  /** How many threads the CPU backend may use; null: as the environment says. */
  threads: number | null
  /** Compared with other trials: in any unit that is roughly proportional to time. */
  cost: number
  /** Takes what was found of each case as it comes. */
  found(found: Found): void
  /** Takes what was wrong with a case; without it the trial fails. */
  failed?(reason: string): void
}

/** @throws ChildError if a process ends before it is done, or a case fails that mustn't. */
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
