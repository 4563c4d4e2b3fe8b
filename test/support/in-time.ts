/** For what has to come while a work runs, such as the abort of its signal: which of the two is quicker is not for tests to say. */
import { expect } from 'vitest'

/**
 * Tries again as long as an attempt says, by `false`, that the work was over too early to show anything: on a busy machine a thread
 * may stand still for longer than any work takes. What an attempt finds must be right in any case.
 */
export async function inTime(attempt: (nth: number) => Promise<boolean>): Promise<void> {
  for (let nth = 0; nth < 20; nth++) if (await attempt(nth)) return
  expect.fail('in 20 attempts the work was over each time before anything could come while it ran')
}

/**
 * The errors of works whose signal is aborted while they run.
 *
 * @param start - starts them anew.
 * @param abort - is called when they have begun, and aborts the signal.
 */
export async function givenUp(
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
