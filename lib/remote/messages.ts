/** Messages between a page and the worker that computes for it. */
import type { HandleKind } from '../native-interface.js'
import { type Exports, isRecord, isTypedArray, type TypedArray } from './written.js'

/** Kind of a module: with threads, which need shared memory, or without. */
export type Kind = 'threads' | 'single'

/** The connection to the other side: the worker for the page, and the page for the worker. */
export interface Port<Sent, Received> {
  postMessage(message: Sent, transfer: Transferable[]): void
  onmessage: ((event: MessageEvent<Received>) => unknown) | null
  onmessageerror?: ((event: MessageEvent) => unknown) | null
}

/** Messages to the worker. */
export type Request =
  /** Starts the addon. Always the first message. Without a module, the worker loads the addon itself. */
  | { start: WebAssembly.Module | null; kind: Kind; threads: number }
  /** Calls a function of the addon. After success the reply has the arrays at the indices `wanted`. */
  | { call: number; name: string; values: unknown; arrays: TypedArray[]; wanted: number[] }
  /** Registers a semiring that the page has created, with the page's handle for it. */
  | { semiring: number; definition: unknown }
  /** Cancels a call. */
  | { giveUp: number }
  | { release: number }

/** Messages from the worker. */
export type Reply =
  /** The module was started, or couldn't be started. */
  | { started: string }
  | { call: number; given: unknown; arrays: TypedArray[] }
  /** Failure of a call. Only the report was written, if the call has one. */
  | { call: number; error: { message: string; code: unknown }; report: Float64Array | undefined }
  /** Progress of a call. */
  | { call: number; report: Float64Array }
  /** Memory use of a device, sent whenever it may have changed. */
  | { device: number; use: unknown }

/** Number of an object that exists only in the worker. */
export interface Handle {
  readonly $handle: number
}

/** An object that a call in the worker has created. */
export interface MadeHandle extends Handle {
  /** Kind of the object, from the addon. */
  readonly kind: HandleKind
  /** Number by which requests name a memory. */
  readonly number?: number
  /** Properties of a device. */
  readonly description?: unknown
  readonly use?: unknown
}

/** Index of an array in the arrays of a message. */
interface Place {
  readonly $array: number
}

/** Returns a copy of the value in which `replace` has replaced every object that isn't plain. */
function mapped(value: unknown, replace: (inside: object) => unknown): unknown {
  if (Array.isArray(value)) return value.map((inside) => mapped(inside, replace))
  if (isRecord(value) && !('$handle' in value || '$array' in value)) {
    return Object.fromEntries(Object.entries(value).map(([key, inside]) => [key, mapped(inside, replace)]))
  }
  return typeof value === 'object' && value !== null ? replace(value) : value
}

/** Converts arguments to their message form. Each array is sent once. */
export function packed(
  values: readonly unknown[],
  handleOf: (value: object) => number,
): { values: unknown; arrays: TypedArray[] } {
  const places = new Map<TypedArray, number>()
  const replaced = mapped(values, (value) => {
    if (!isTypedArray(value)) return { $handle: handleOf(value) } satisfies Handle
    if (!places.has(value)) places.set(value, places.size)
    return { $array: places.get(value)! } satisfies Place
  })
  return { values: replaced, arrays: [...places.keys()] }
}

/** Converts arguments from their message form to the addon's. */
export const unpacked = (values: unknown, arrays: readonly TypedArray[], of: (handle: number) => unknown) =>
  mapped(values, (value) =>
    '$array' in value ? arrays[(value as Place).$array] : of((value as Handle).$handle),
  ) as unknown[]

/** Converts a function's result to its message form: objects of the addon become handles. */
export const givenOf = (given: unknown, handleOf: (value: object) => unknown) =>
  mapped(given, (value) => (isTypedArray(value) ? value.slice() : handleOf(value)))

/** Converts a function's result from its message form to the page's. */
export const takenFrom = (given: unknown, of: (handle: MadeHandle) => unknown) =>
  mapped(given, (value) => ('$handle' in value ? of(value as MadeHandle) : value))

/** Returns arguments as an object with their names. */
export const named = (names: readonly string[], values: readonly unknown[]): Exports =>
  Object.fromEntries(names.map((name, index) => [name, values[index]]))
