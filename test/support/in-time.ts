/** Attempts that must act while work is running, such as aborting its signal. Tests don't decide which of the two is faster. */
import { expect } from 'vitest'

/**
 * Repeats an attempt as long as it returns `false`, which means that the work ended too early. On a busy machine a thread may be
 * suspended for longer than any work takes. Results of an attempt must be right in any case.
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
