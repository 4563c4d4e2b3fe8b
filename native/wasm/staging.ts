/**
 * Calls of an addon that is a WebAssembly module. The module accesses only its own memory. So the arrays of a
 * call are copied into it first, and the written elements are copied back after success.
 */

import { nativeCalls } from '../../lib/native-interface.js'
import {
  copyElements,
  type Exports,
  isRecord,
  isTypedArray,
  replacesAll,
  type TypedArray,
  type Written,
  whole,
  writtenBy,
} from '../../lib/remote/written.js'

type Call = (...values: unknown[]) => unknown
/** The module's memory. */
export interface Memory {
  /** Returns the address, or 0 if the allocation fails. */
  allocate(bytes: number): number
  free(address: number): void
  /**
   * Returns the buffer of the memory, with at least `end` bytes. Growth of the memory replaces the buffer.
   */
  buffer(end: number): ArrayBufferLike
  /**
   * Registers a view of `length` elements of this memory, whose address remains valid when the memory grows.
   */
  place(view: TypedArray, length: number): void
}

/** Alignment of all allocations in bytes. */
const ALIGNMENT = 16
/** Milliseconds between two copies of a running call's report, which counts the steps. */
const REPORT_MS = 20
const MAX_BYTES = 2 ** 32

const bytesOf = ({ buffer, byteOffset, byteLength }: TypedArray) =>
  new Uint8Array(buffer, byteOffset, byteLength)

/** Range of bytes of a buffer that contains arrays of a call. Arrays that share elements are in one range. */
interface Range {
  readonly first: number
  end: number
  /** Address in the module's memory. */
  address: number
  isShared: boolean
}

/** Elements of an array in the module's memory. */
interface Place {
  readonly range: Range
  /** Offset in the range in bytes. */
  readonly offset: number
  readonly length: number
}

/**
 * Arrays of one call, in the module's memory. Their places are recorded when the call starts, because arrays
 * can be transferred meanwhile.
 */
class Staged {
  readonly #memory: Memory
  readonly #placeOf = new Map<TypedArray, Place>()
  readonly #block: number

  constructor(memory: Memory, arrays: ReadonlySet<TypedArray>) {
    this.#memory = memory
    const ranges: Range[] = []
    const lastOf = new Map<ArrayBufferLike, Range>()
    for (const array of [...arrays].sort((x, y) => x.byteOffset - y.byteOffset)) {
      const { buffer, byteOffset: first, byteLength, length } = array
      const end = first + byteLength
      let range = lastOf.get(buffer)
      if (range && first < range.end) {
        range.end = Math.max(range.end, end)
        range.isShared = true
      } else {
        range = { first, end, address: 0, isShared: false }
        ranges.push(range)
        lastOf.set(buffer, range)
      }
      this.#placeOf.set(array, { range, offset: first - range.first, length })
    }
    let bytes = 0
    for (const range of ranges) {
      // Preserves the alignment of elements of 8 bytes.
      range.address = bytes + (range.first % ALIGNMENT)
      bytes = Math.ceil((range.address + range.end - range.first) / ALIGNMENT) * ALIGNMENT
    }
    this.#block = bytes < MAX_BYTES ? memory.allocate(Math.max(bytes, ALIGNMENT)) : 0
    if (this.#block === 0) throw outOfMemory(bytes)
    for (const range of ranges) range.address += this.#block
  }

  /** Returns the array in the current buffer of the module's memory. */
  view<Of extends TypedArray>(array: Of): Of {
    const { range, offset, length } = this.#placeOf.get(array)!
    const Type = array.constructor as new (buffer: ArrayBufferLike, at: number, length: number) => Of
    const address = range.address + offset
    const buffer = this.#memory.buffer(address + length * array.BYTES_PER_ELEMENT)
    const view = new Type(buffer, address, length)
    this.#memory.place(view, length)
    return view
  }

  /** Returns whether another array of the call shares elements with `array`. */
  isShared(array: TypedArray): boolean {
    return this.#placeOf.get(array)!.range.isShared
  }

  copyIn(array: TypedArray): void {
    bytesOf(this.view(array)).set(bytesOf(array))
  }

  copyBack(written: Written): void {
    copyElements(written.array, this.view(written.array), written)
  }

  free(): void {
    this.#memory.free(this.#block)
  }
}

function outOfMemory(bytes: number): Error {
  const mebibytes = Math.ceil(bytes / 2 ** 20)
  return Object.assign(
    new Error(
      `the matrices of this call take ${mebibytes} MiB in the memory of the WebAssembly addon, which holds 4096 MiB at most: ` +
        'compute with smaller blocks, or with an addon for this platform (npx mpmml info)',
    ),
    { code: 'ERR_MPMML_OUT_OF_MEMORY' },
  )
}

/** Calls `found` for each typed array in a value. */
export function forEachArray(value: unknown, found: (array: TypedArray) => void): void {
  if (isTypedArray(value)) found(value)
  else if (isRecord(value)) for (const inside of Object.values(value)) forEachArray(inside, found)
}

/** Returns a copy of the value with views instead of its arrays. */
function withViews(value: unknown, staged: Staged): unknown {
  if (isTypedArray(value)) return staged.view(value)
  if (Array.isArray(value)) return value.map((inside) => withViews(inside, staged))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inside]) => [key, withViews(inside, staged)]))
}

interface Running {
  readonly staged: Staged
  readonly report: Written | undefined
  readonly cancel: unknown
}

/** Wraps an addon so that its functions accept arrays of any memory. */
export function staged(addon: Exports, memory: Memory): Exports {
  const resultsOf = writtenBy(addon)
  const running = new Set<Running>()
  let timer: ReturnType<typeof setInterval> | undefined

  const copyReports = () => {
    for (const { staged, report } of running) if (report) staged.copyBack(report)
  }
  const started = (call: Running) => {
    running.add(call)
    if (timer !== undefined) return
    timer = setInterval(copyReports, REPORT_MS)
    // In Node.js a timer keeps the process from ending.
    if (typeof timer === 'object') timer.unref()
  }
  const ended = (call: Running) => {
    running.delete(call)
    call.staged.free()
    if (running.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  const wrapped = (name: string): Call => {
    const { takes, givesPromise } = nativeCalls[name]!
    const call = addon[name] as Call
    const start = (values: unknown[]): unknown => {
      const arrays = new Set<TypedArray>()
      const repeated = new Set<TypedArray>()
      for (const value of values) {
        forEachArray(value, (array) => (arrays.has(array) ? repeated : arrays).add(array))
      }
      const named = Object.fromEntries(takes.map((argument, index) => [argument, values[index]]))
      const results = resultsOf(name, named)
      const staged = new Staged(memory, arrays)
      const report = isTypedArray(named.report) ? whole(named.report) : undefined
      const finish = (result: unknown) => {
        for (const written of results) staged.copyBack(written)
        return result
      }
      const fail = (error: unknown): never => {
        // The report has the position of a failure. Other results stay unchanged.
        if (report) staged.copyBack(report)
        throw error
      }
      let result: unknown
      try {
        const replaced = new Set(results.filter(replacesAll).map(({ array }) => array))
        for (const array of arrays) {
          if (!replaced.has(array) || repeated.has(array) || staged.isShared(array)) staged.copyIn(array)
        }
        result = call(...values.map((value) => withViews(value, staged)))
        if (!(result instanceof Promise)) finish(result)
      } catch (error) {
        try {
          return fail(error)
        } finally {
          staged.free()
        }
      }
      if (!(result instanceof Promise)) {
        staged.free()
        return result
      }
      const current = { staged, report, cancel: named.cancel }
      started(current)
      return result.then(finish, fail).finally(() => ended(current))
    }
    if (!givesPromise) return (...values) => start(values)
    return (...values) => {
      try {
        return start(values)
      } catch (error) {
        if ((error as { code?: string }).code === 'ERR_MPMML_OUT_OF_MEMORY') return Promise.reject(error)
        throw error
      }
    }
  }

  const withArrays = Object.keys(nativeCalls).filter((name) => nativeCalls[name]!.hasArrays)
  return {
    ...addon,
    ...Object.fromEntries(withArrays.map((name) => [name, wrapped(name)])),
    cancelWork(cancel: Int32Array) {
      cancel[0] = 1
      for (const call of running) {
        if (call.cancel === cancel) (addon.cancelWork as Call)(call.staged.view(cancel))
      }
    },
    // The system manages the pages of WebAssembly memory.
    preferHugePages() {},
  }
}
