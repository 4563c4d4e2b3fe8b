/** Abort signals of products. */

/** The products that a signal can give up, and the one listener that does it. */
interface Watch {
  readonly cancels: Set<Int32Array>
  readonly listener: () => void
}

// One listener for each signal: Node warns of a leak from the eleventh on.
const watches = new WeakMap<AbortSignal, Watch>()

/**
 * From now on `cancel[0]` becomes 1 when `signal` is aborted. Returns what ends that; it must be called once.
 *
 * The signal may be another realm's or a polyfill, whose methods may run anything.
 */
export function cancelOnAbort(signal: AbortSignal, cancel: Int32Array): () => void {
  const watch = watches.get(signal) ?? startWatch(signal)
  watch.cancels.add(cancel)
  return () => {
    watch.cancels.delete(cancel)
    if (watch.cancels.size > 0) return
    if (watches.get(signal) === watch) watches.delete(signal)
    signal.removeEventListener('abort', watch.listener)
  }
}

function startWatch(signal: AbortSignal): Watch {
  const cancels = new Set<Int32Array>()
  const listener = () => {
    for (const cancel of cancels) cancel[0] = 1
  }
  signal.addEventListener('abort', listener)
  const watch = { cancels, listener }
  watches.set(signal, watch)
  return watch
}
