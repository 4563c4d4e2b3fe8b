/** Abort signals of products. */
import { typeName } from './describe.js'
import { AbortedError, OptionError } from './errors.js'
import { addon } from './native.js'

/** The flag of work that nobody can give up. */
export const notCancelled = new Int32Array(1)

/** The products that a signal can give up, and the one listener that does it. */
interface Watch {
  readonly cancels: Set<Int32Array>
  readonly listener: () => void
}

/** Checks the option `signal`. */
export function readSignal(value: unknown): AbortSignal | undefined {
  if (value === undefined) return undefined
  // By its methods, so that signals of other realms and polyfills are taken too.
  const signal = value as Partial<AbortSignal> | null
  if (
    typeof signal === 'object' &&
    typeof signal?.aborted === 'boolean' &&
    typeof signal.addEventListener === 'function' &&
    typeof signal.removeEventListener === 'function'
  ) {
    return signal as AbortSignal
  }
  throw new OptionError(
    `option signal must be an AbortSignal, but it is ${typeName(value)}: pass controller.signal`,
  )
}

// One listener for each signal: Node warns of a leak from the eleventh on.
const watches = new WeakMap<AbortSignal, Watch>()

/**
 * From now on the work that was started with `cancel` is given up when `signal` is aborted. Returns what ends that; it
 * must be called once.
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
    for (const cancel of cancels) addon.giveUp(cancel)
  }
  signal.addEventListener('abort', listener)
  const watch = { cancels, listener }
  watches.set(signal, watch)
  return watch
}

/** What work is rejected with that its signal has given up. */
export function aborted(signal: AbortSignal, what = 'the product'): AbortedError {
  return new AbortedError(
    `${what} was given up because its signal was aborted: \`cause\` is the signal's reason`,
    {
      cause: signal.reason,
    },
  )
}
