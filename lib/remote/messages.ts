/** Messages between a page and the worker that computes for it. */
import type { HandleKind } from '../native-interface.js'
import { type Exports, isRecord, isTypedArray, type TypedArray } from './written.js'

/** Kind of the WebAssembly module: with threads, which need shared memory, or without. */
export type Kind = 'threads' | 'single'

/** The worker as the page sees it, or the page as the worker does. */
export interface Port<Sent, Received> {
  postMessage(message: Sent, transfer: Transferable[]): void
  onmessage: ((event: MessageEvent<Received>) => unknown) | null
  onmessageerror?: ((event: MessageEvent) => unknown) | null
}

/** Message to the worker. */
export type Request =
  /** First. Without a module, the worker loads the addon itself. */
  | { start: WebAssembly.Module | null; kind: Kind; threads: number }
  /** A function of the addon. The arrays at `wanted` come back when it has succeeded. */
  | { call: number; name: string; values: unknown; arrays: TypedArray[]; wanted: number[] }
  /** A semiring that the page has made, with the handle that it gives it. */
  | { semiring: number; definition: unknown }
  /** The call isn't needed any more. */
  | { giveUp: number }
  | { release: number }

/** Message from the worker. */
export type Reply =
  /** Result of the start: '' after success, otherwise the error. */
  | { started: string }
  | { call: number; given: unknown; arrays: TypedArray[] }
  /** A failed call, which wrote only the report, if the call has one. */
  | { call: number; error: { message: string; code: unknown }; report: Float64Array | undefined }
  /** Progress of a call. */
  | { call: number; report: Float64Array }
  /** The memory of a device, whenever that may have changed. */
  | { device: number; use: unknown }

/** The number of an object that only the worker has. */
export interface Handle {
  readonly $handle: number
}

/** An object that a call of the worker has made. */
export interface MadeHandle extends Handle {
  /** As the addon says it. */
  readonly kind: HandleKind
  /** The number by which requests name a memory. */
  readonly number?: number
  /** The properties of a device. */
  readonly description?: unknown
  readonly use?: unknown
}

/** The place of an array among those of a message. */
interface Place {
  readonly $array: number
}

/** The value with what `replace` gives for everything inside that isn't plain. */
function mapped(value: unknown, replace: (inside: object) => unknown): unknown {
  if (Array.isArray(value)) return value.map((inside) => mapped(inside, replace))
  if (isRecord(value) && !('$handle' in value || '$array' in value)) {
    return Object.fromEntries(Object.entries(value).map(([key, inside]) => [key, mapped(inside, replace)]))
  }
  return typeof value === 'object' && value !== null ? replace(value) : value
}

/** Arguments as they are sent. Each array is sent once. */
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

/** Arguments as the addon takes them. */
export const unpacked = (values: unknown, arrays: readonly TypedArray[], of: (handle: number) => unknown) =>
  mapped(values, (value) =>
    '$array' in value ? arrays[(value as Place).$array] : of((value as Handle).$handle),
  ) as unknown[]

/** A function's result as the worker sends it: objects of the addon become handles. */
export const givenOf = (given: unknown, handleOf: (value: object) => unknown) =>
  mapped(given, (value) => (isTypedArray(value) ? value.slice() : handleOf(value)))

/** A function's result as the page takes it. */
export const takenFrom = (given: unknown, of: (handle: MadeHandle) => unknown) =>
  mapped(given, (value) => ('$handle' in value ? of(value as MadeHandle) : value))

/** Arguments by their names. */
export const named = (names: readonly string[], values: readonly unknown[]): Exports =>
  Object.fromEntries(names.map((name, index) => [name, values[index]]))
