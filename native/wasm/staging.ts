/**
 * Calls of an addon that is a WebAssembly module. The module accesses only its own memory. So the arrays of a
 * call are copied into it first, and the written elements are copied back after success.
 */

import { type GraphSearchRequest, nativeCalls } from '../../lib/native-interface.js'

export type TypedArray = Int32Array | Uint32Array | Float32Array | Float64Array | Uint8Array | Int16Array
type Call = (...values: unknown[]) => unknown
export type Exports = Record<string, unknown>

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

export const isTypedArray = (value: unknown): value is TypedArray =>
  ArrayBuffer.isView(value) && !(value instanceof DataView)

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

/**
 * Returns whether a value is a plain object or an array, whose properties are searched for typed arrays.
 * Devices and memories are opaque.
 */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' &&
  value !== null &&
  [Object.prototype, Array.prototype].includes(Object.getPrototypeOf(value))

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

/** Elements of an array that a call writes. Other calls may write other elements of the array meanwhile. */
export interface Written {
  readonly array: TypedArray
  readonly offset: number
  /** Sizes and strides, outermost first. */
  readonly sizes: readonly number[]
  readonly strides: readonly number[]
  /** Whether a successful call writes all of the elements without reading them before. */
  readonly replaces?: boolean
}

/** Returns whether a call overwrites a whole array without reading it. */
const replacesAll = ({ array, sizes, replaces }: Written) =>
  replaces === true && sizes.reduce((product, size) => product * size, 1) === array.length

function resultsOfSearch(search: GraphSearchRequest): Written[] {
  const { nodes, distances, next, trees, place, treePlace, rootStride, endStride } = search
  const { reduced, reached, nearest, divides } = search
  if (divides) return []
  if (reduced) return [reduced, reached, nearest].flatMap((array) => (array ? [whole(array)] : []))
  const roots = search.roots?.length ?? nodes
  const ends = search.ends?.length ?? nodes
  const perPair = [distances, ...(next ? [next] : [])].map((array) => ({
    array,
    offset: place,
    sizes: [roots, ends],
    strides: [rootStride, endStride],
  }))
  const perRoot = trees ? [{ array: trees, offset: treePlace, sizes: [roots * nodes], strides: [1] }] : []
  return [...perPair, ...perRoot]
}

const whole = (array: TypedArray): Written => ({ array, offset: 0, sizes: [array.length], strides: [1] })

/**
 * Copies the elements from one array to another, unless the destination was transferred while the call ran:
 * lib then throws an error.
 */
export function copyElements(to: TypedArray, from: TypedArray, { offset, sizes, strides }: Written): void {
  if (to.length !== from.length || sizes.some((size) => size === 0)) return
  // Adjacent elements are copied in one call: the innermost dimension with stride 1, and all next dimensions
  // without gaps.
  const dimensions = sizes
    .map((size, index) => ({ size, stride: strides[index]! }))
    .filter(({ size }) => size > 1)
    .sort((x, y) => Math.abs(y.stride) - Math.abs(x.stride))
  let run = 1
  while (dimensions.at(-1)?.stride === run) run *= dimensions.pop()!.size
  const copy = (depth: number, at: number): void => {
    const dimension = dimensions[depth]
    if (dimension === undefined) {
      if (run === 1) to[at] = from[at]!
      else to.set(from.subarray(at, at + run), at)
      return
    }
    for (let index = 0; index < dimension.size; ++index) copy(depth + 1, at + index * dimension.stride)
  }
  copy(0, offset)
}

interface Running {
  readonly staged: Staged
  readonly report: Written | undefined
  readonly cancel: unknown
}

/**
 * Returns the elements that a call of the addon writes, from the function's name and its arguments by name.
 */
export type WrittenBy = (name: string, named: Record<string, unknown>) => Written[]

export function writtenBy(addon: Exports): WrittenBy {
  const request = addon.requestFields as readonly string[]
  const member = addon.memberFields as readonly string[]
  const userRequest = addon.userRequestFields as readonly string[]
  const copied = addon.copyFields as readonly string[]
  const ofMembers = member
    .filter((field) => field.endsWith('Memory'))
    .map((field) => field.slice(0, -'Memory'.length))
  const further = ofMembers.slice(ofMembers.indexOf('c0') + 1)

  /** Returns the elements of a matrix whose layout is in a flat request from `base` on. */
  const placed = (
    array: TypedArray,
    fields: readonly string[],
    numbers: Float64Array,
    base: number,
    matrix: string,
    [rows, cols]: readonly [string, string],
  ): Written => {
    const field = (name: string) => numbers[base + fields.indexOf(name)]!
    return {
      array,
      offset: field(`${matrix}Offset`),
      sizes: [field('batch'), field(rows), field(cols)],
      strides: ['BatchStride', 'RowStride', 'ColStride'].map((end) => field(`${matrix}${end}`)),
      // Only the elements inside of a matrix's structure are written.
      replaces: !fields.includes('structured') || field('structured') === 0,
    }
  }
  const ofProduct = (array: TypedArray, numbers: Float64Array, base: number, matrix: string) =>
    placed(array, request, numbers, base, matrix, ['m', 'n'])

  /** Returns the auxiliary outputs of a product, each with its name. */
  const furtherOf = (given: unknown) =>
    further.map(
      (matrix, index) => [(given as readonly unknown[] | null | undefined)?.[index], matrix] as const,
    )

  /** Returns the lanes of C and the auxiliary outputs of a product over a custom semiring. */
  const ofUserProduct = (c: unknown, given: unknown, numbers: Float64Array, base: number): Written[] => {
    const lanes = Array.isArray(c) ? c : []
    const results = [...lanes.map((array, lane) => [array, `cLane${lane}`] as const), ...furtherOf(given)]
    return results
      .filter(([array]) => isTypedArray(array))
      .map(([array, matrix]) => placed(array, userRequest, numbers, base, matrix, ['m', 'n']))
  }

  return (name, named) => {
    const numbers = named.request as Float64Array
    const results: Written[] = []
    if (isTypedArray(named.report)) results.push(whole(named.report))
    if (name === 'multiply' || name === 'multiplySync') {
      if (numbers[request.indexOf('planOnly')] !== 0) return results
      for (const [array, matrix] of [[named.c, 'c'] as const, ...furtherOf(named.further)]) {
        if (isTypedArray(array)) results.push(ofProduct(array, numbers, 0, matrix))
      }
    } else if (name === 'multiplyGroup') {
      results.push(whole(named.reports as TypedArray))
      const arrays = named.arrays as readonly TypedArray[]
      const members = named.members as Float64Array
      for (let base = 0; base < members.length; base += member.length) {
        for (const matrix of ['c', ...further]) {
          const place = members[base + member.indexOf(`${matrix}Memory`)]!
          // Another product of the group may read the array.
          if (place < 0)
            results.push({ ...ofProduct(arrays[-1 - place]!, members, base, matrix), replaces: false })
        }
      }
    } else if (name === 'download') {
      results.push(placed(named.array as TypedArray, copied, numbers, 0, 'array', ['rows', 'cols']))
    } else if (name === 'graphSearch') {
      results.push(...resultsOfSearch(named.request as GraphSearchRequest))
    } else if (name === 'multiplyUser' || name === 'multiplyUserSync') {
      results.push(...ofUserProduct(named.c, named.further, numbers, 0))
    } else if (name === 'multiplyUserGroup') {
      results.push(whole(named.reports as TypedArray))
      const products = named.products as readonly (readonly unknown[])[]
      products.forEach(([, , c, , given], index) => {
        const base = index * userRequest.length
        results.push(...ofUserProduct(c, given, named.requests as Float64Array, base))
      })
    } else if (name === 'evaluateUserSemiring') {
      results.push(...(named.out as readonly TypedArray[]).map(whole))
    }
    return results
  }
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
    giveUp(cancel: Int32Array) {
      cancel[0] = 1
      for (const call of running) {
        if (call.cancel === cancel) (addon.giveUp as Call)(call.staged.view(cancel))
      }
    },
    // The system manages the pages of WebAssembly memory.
    preferHugePages() {},
  }
}
