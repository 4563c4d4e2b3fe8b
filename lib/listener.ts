/** Errors that listeners of the user throw: a call rejects with exactly what its listener threw. */

/** Objects thrown by listeners. Primitive values can't be mistaken for an error of the library. */
const thrown = new WeakSet<object>()

/** Calls a listener of the user, and marks what it throws. */
export function notify<Report>(listener: (report: Report) => void, report: Report): void {
  try {
    listener(report)
  } catch (error) {
    if (typeof error === 'object' && error !== null) thrown.add(error)
    throw error
  }
}

/** Returns whether a listener threw this error, so that no retry or other wording applies to it. */
export const isFromListener = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && thrown.has(error)
