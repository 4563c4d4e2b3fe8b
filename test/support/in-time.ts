/**
 * Attempts that must act while work is running, such as aborting its signal. Tests don't assert that the
 * action is faster than the work.
 */
import { expect } from 'vitest'

/**
 * Repeats an attempt while it returns `false`, which means that the work ended before the action. On a busy
 * machine a thread may be suspended for longer than any work takes. The results of each attempt must be
 * right.
 */
export async function inTime(attempt: (nth: number) => Promise<boolean>): Promise<void> {
  for (let nth = 0; nth < 20; nth++) if (await attempt(nth)) return
  expect.fail('in 20 attempts the work was over each time before anything could come while it ran')
}

/**
 * Returns the errors of tasks whose signal is aborted while they run.
 *
 * @param start - starts the tasks anew.
 * @param abort - is called when the tasks have begun, and aborts the signal.
 */
export async function errorsAfterAbort(
  start: (signal: AbortSignal) => Promise<unknown>[],
  abort: (controller: AbortController) => void = (controller) => controller.abort(new Error('enough')),
): Promise<unknown[]> {
  const errors: unknown[] = []
  await inTime(async () => {
    const controller = new AbortController()
    const running = start(controller.signal)
    abort(controller)
    const settled = await Promise.allSettled(running)
    errors.splice(0)
    for (const each of settled) if (each.status === 'rejected') errors.push(each.reason)
    return errors.length === settled.length
  })
  return errors
}
