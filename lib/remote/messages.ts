/** Messages between a page and the worker that computes for it. */
import { type HandleKind, nativeCalls } from '../native-interface.js'
import { type Exports, isRecord, isTypedArray, type TypedArray } from './written.js'

/**
 * Properties of the functions that messages can call: the functions of the native addon, and the description
 * of the WebGPU adapter.
 */
export const calls: typeof nativeCalls = {
  ...nativeCalls,
  describeGpu: { takes: ['allowsFallback'], hasArrays: false, givesPromise: true },
}

/** Kind of the WebAssembly module: with threads, which require shared memory, or without. */
export type Kind = 'threads' | 'single'

/** Returns whether an array is copied in slices. */
export const isLarge = ({ byteLength }: TypedArray): boolean => byteLength >= 2 ** 20

/** Endpoint of the messages: the worker for the page, or the page for the worker. */
export interface Port<Sent, Received> {
  postMessage(message: Sent, transfer: Transferable[]): void
  onmessage: ((event: MessageEvent<Received>) => unknown) | null
  onmessageerror?: ((event: MessageEvent) => unknown) | null
}

/** Message to the worker. */
export type Request =
  /** First message. Without a module, the worker loads the addon itself. */
  | { start: WebAssembly.Module | null; kind: Kind; threads: number }
  /** Call of a function of the addon. The worker returns the arrays at the indices `resultIndices` after success. */
  | { call: number; name: string; values: unknown; arrays: TypedArray[]; resultIndices: number[] }
  /** Definition of a semiring, with the handle that the page chose for it. */
  | { semiring: number; definition: unknown }
  /** Cancellation of a call. */
  | { cancelWork: number }
  | { release: number }
  /** The process ends: the worker ends its work, and then sets the element to 1. */
  | { end: Int32Array }

/** Message from the worker. */
export type Reply =
  /** Result of the start: '' after success, otherwise the error. */
  | { started: string }
  /** Result of a call. `spent`: memory of large copies that the call has only read. */
  | { call: number; given: unknown; arrays: TypedArray[]; spent: ArrayBuffer[] }
  /** A failed call, which wrote only the report, if the call has one. */
  | { call: number; error: { message: string; code: unknown }; report: Float64Array | undefined }
  /** Progress of a call. */
  | { call: number; report: Float64Array }
  /** Memory use of a device, sent after possible changes. */
  | { device: number; use: unknown }

/** Number of an object in the worker. */
export interface Handle {
  readonly $handle: number
}

/** An object that a call created in the worker. */
export interface RemoteHandle extends Handle {
  /** Kind of the object according to the addon. */
  readonly kind: HandleKind
  /** The number by which requests name a memory. */
  readonly number?: number
  /** The properties of a device. */
  readonly description?: unknown
  readonly use?: unknown
}

/** Reference to an array of a message by its index. */
interface ArrayReference {
  readonly $array: number
}

/** Returns a copy of a value in which `replace` has mapped each object that isn't plain. */
function mapped(value: unknown, replace: (inside: object) => unknown): unknown {
  if (Array.isArray(value)) return value.map((inside) => mapped(inside, replace))
  if (isRecord(value) && !('$handle' in value || '$array' in value)) {
    return Object.fromEntries(Object.entries(value).map(([key, inside]) => [key, mapped(inside, replace)]))
  }
  return typeof value === 'object' && value !== null ? replace(value) : value
}

/** Index of an array in a message, and the number of its occurrences in the arguments. */
export interface SentArray {
  readonly index: number
  uses: number
}

/** Converts arguments to the form of a message. Each array is sent once. */
export function packed(
  values: readonly unknown[],
  handleOf: (value: object) => number,
): { values: unknown; arrays: ReadonlyMap<TypedArray, SentArray> } {
  const arrays = new Map<TypedArray, SentArray>()
  const replaced = mapped(values, (value) => {
    if (!isTypedArray(value)) return { $handle: handleOf(value) } satisfies Handle
    const sent = arrays.get(value) ?? { index: arrays.size, uses: 0 }
    sent.uses++
    arrays.set(value, sent)
    return { $array: sent.index } satisfies ArrayReference
  })
  return { values: replaced, arrays }
}

/** Converts arguments of a message to the form of the addon. */
export const unpacked = (values: unknown, arrays: readonly TypedArray[], of: (handle: number) => unknown) =>
  mapped(values, (value) =>
    '$array' in value ? arrays[(value as ArrayReference).$array] : of((value as Handle).$handle),
  ) as unknown[]

/**
 * Converts a function's result to the form of a message: objects of the addon become handles. Arrays are added to `arrays`, to be
 * transferred; those in memory of WebAssembly are copied.
 */
export const givenOf = (given: unknown, handleOf: (value: object) => unknown, arrays: TypedArray[]) =>
  mapped(given, (value) => {
    if (!isTypedArray(value)) return handleOf(value)
    const own = value.byteLength === value.buffer.byteLength ? value : value.slice()
    arrays.push(own)
    return own
  })

/** Converts a function's result in a message to the form for the page. */
export const takenFrom = (given: unknown, of: (handle: RemoteHandle) => unknown) =>
  mapped(given, (value) => ('$handle' in value ? of(value as RemoteHandle) : value))

/** Returns arguments by their names. */
export const named = (names: readonly string[], values: readonly unknown[]): Exports =>
  Object.fromEntries(names.map((name, index) => [name, values[index]]))
