/** Reads the option `signal` and connects AbortSignals with the cancellation of native work. */
import { typeName } from './describe.js'
import { AbortedError, OptionError } from './errors.js'
import { addon } from './native.js'
import { option } from './options.js'

/** Cancellation flag of work without a signal. It is never set. */
export const NEVER_CANCELLED = new Int32Array(1)

/** Actions to run when a signal is aborted, and the listener that runs them. */
interface AbortSubscription {
  readonly actions: Set<() => void>
  readonly listener: () => void
}

/** The option `signal`. */
export const signal = option(undefined, readSignal)

function readSignal(value: unknown): AbortSignal {
  // Checks members instead of the class, so that signals of other realms and of polyfills are accepted.
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
const subscriptions = new WeakMap<AbortSignal, AbortSubscription>()

/**
 * Calls `action` when `signal` is aborted. Returns a function that removes the action; callers must call it
 * once.
 *
 * The signal may come from another realm or a polyfill, whose methods may run any code.
 *
 * @param action - a new function for each call; it must not throw.
 */
export function onAbort(signal: AbortSignal, action: () => void): () => void {
  const subscription = subscriptions.get(signal) ?? subscribe(signal)
  subscription.actions.add(action)
  return () => {
    subscription.actions.delete(action)
    if (subscription.actions.size > 0) return
    if (subscriptions.get(signal) === subscription) subscriptions.delete(signal)
    signal.removeEventListener('abort', subscription.listener)
  }
}

/**
 * Cancels the native work that was started with the flag `cancel` when `signal` is aborted. Returns a
 * function that removes the action.
 */
export const cancelOnAbort = (signal: AbortSignal, cancel: Int32Array): (() => void) =>
  onAbort(signal, () => addon.cancelWork(cancel))

function subscribe(signal: AbortSignal): AbortSubscription {
  const actions = new Set<() => void>()
  const listener = () => {
    for (const action of actions) action()
  }
  signal.addEventListener('abort', listener)
  const subscription = { actions, listener }
  subscriptions.set(signal, subscription)
  return subscription
}

/** Returns the error of work whose signal was aborted; messages call the work `what`. */
export const aborted = (signal: AbortSignal, what: string): AbortedError =>
  new AbortedError(`${what} was aborted by its AbortSignal: see \`cause\` for the reason`, {
    cause: signal.reason,
  })

/** Throws AbortedError if the signal is aborted; messages call the work `what`. */
export function throwIfAborted(signal: AbortSignal | undefined, what: string): void {
  if (signal?.aborted) throw aborted(signal, what)
}

/**
 * Waits for a promise, or rejects as soon as the signal is aborted. The work behind the promise continues,
 * because other callers may wait for it. Afterwards the signal references neither promise nor listener,
 * unlike with Promise.race().
 *
 * @param errorOf - the error to reject with: AbortedError by default.
 */
export function raceWithAbort<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  errorOf: (signal: AbortSignal) => unknown = (signal) => aborted(signal, 'the work'),
): Promise<T> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    // The methods of a polyfill's signal may throw. Then the promise must not become an unhandled rejection.
    promise.catch(() => {})
    const abort = () => reject(errorOf(signal))
    const forget = onAbort(signal, abort)
    promise.finally(forget).then(resolve, reject)
    if (signal.aborted) abort()
  })
}
