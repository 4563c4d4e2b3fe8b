/** Runs long work in slices, between which the browser renders and handles events. */

/** Work that yields after {@link PER_STEP} elements at most. */
export type Steps<Result> = Generator<void, Result, void>

/** Elements between two yields: about 100 µs. */
export const PER_STEP = 1 << 13
/** Duration of a slice in ms, after which other tasks can run. */
const SLICE_MS = 5

/** Waits for a turn of the event loop by a message, because browsers delay nested timers by 4 ms. */
const turn = () =>
  new Promise<void>((resolve) => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(null)
  })

/** Runs the work in slices. Throws the signal's reason if the signal is aborted. */
export async function inSlices<Result>(steps: Steps<Result>, signal: AbortSignal): Promise<Result> {
  for (;;) {
    signal.throwIfAborted()
    const end = performance.now() + SLICE_MS
    do {
      const { done, value } = steps.next()
      if (done) return value
    } while (performance.now() < end)
    await turn()
  }
}

/**
 * Calls `act` for each index below `count`, and stops if it returns false. Returns whether all indices were
 * processed.
 */
export function* forEachIndex(count: number, act: (index: number) => unknown): Steps<boolean> {
  for (let index = 0; index < count; index++) {
    if (act(index) === false) return false
    if (index % PER_STEP === PER_STEP - 1) yield
  }
  return true
}
