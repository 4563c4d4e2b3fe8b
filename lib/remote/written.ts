/** Arrays in the arguments of the addon's functions, and the elements of them that a call writes. */
import { isTypedArray as isArrayOfAnyType } from '../array-types.js'
import type { GraphSearchRequest } from '../native-interface.js'

export type TypedArray = Int32Array | Uint32Array | Float32Array | Float64Array | Uint8Array | Int16Array
export type Exports = Record<string, unknown>

/** No call of the addon has arrays of bigints. */
export const isTypedArray = isArrayOfAnyType as (value: unknown) => value is TypedArray

/** Returns whether a value is a plain object or an array, whose members may be arrays of elements. Devices and memories are opaque. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' &&
  value !== null &&
  [Object.prototype, Array.prototype].includes(Object.getPrototypeOf(value))

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

function resultsOfSearch(search: GraphSearchRequest): Written[] {
  const { nodes, distances, next, trees, place: position, treePlace, rootStride, endStride } = search
  const { reduced, reached, nearest, divides } = search
  if (divides) return []
  if (reduced) return [reduced, reached, nearest].flatMap((array) => (array ? [whole(array)] : []))
  const roots = search.roots?.length ?? nodes
  const ends = search.ends?.length ?? nodes
  const perPair = [distances, ...(next ? [next] : [])].map((array) => ({
    array,
    offset: position,
    sizes: [roots, ends],
    strides: [rootStride, endStride],
  }))
  const perRoot = trees ? [{ array: trees, offset: treePlace, sizes: [roots * nodes], strides: [1] }] : []
  return [...perPair, ...perRoot]
}

/** All elements of an array. */
export const whole = (array: TypedArray): Written => ({
  array,
  offset: 0,
  sizes: [array.length],
  strides: [1],
})

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

const countOf = ({ sizes }: Written) => sizes.reduce((product, size) => product * size, 1)

/** Returns whether a call that succeeds writes all of an array and doesn't read it. */
export const replacesAll = (written: Written): boolean =>
  written.replaces === true && countOf(written) === written.array.length

/** Divides elements into parts of at most `most` elements each. */
export function* partsOf(written: Written, most: number): Generator<Written> {
  const { offset, sizes, strides } = written
  const axis = sizes.findIndex((size) => size > 1)
  if (countOf(written) <= most || axis < 0) {
    yield written
    return
  }
  const half = Math.ceil(sizes[axis]! / 2)
  const resized = (size: number) => sizes.map((other, index) => (index === axis ? size : other))
  yield* partsOf({ ...written, sizes: resized(half) }, most)
  const rest = { offset: offset + half * strides[axis]!, sizes: resized(sizes[axis]! - half) }
  yield* partsOf({ ...written, ...rest }, most)
}

/** Elements that a call of the addon writes, by its name and its arguments by their names. */
type WrittenBy = (name: string, named: Record<string, unknown>) => Written[]

export function writtenBy(addon: Exports): WrittenBy {
  const request = addon.requestFields as readonly string[]
  const member = addon.memberFields as readonly string[]
  const userRequest = addon.userRequestFields as readonly string[]
  const copied = addon.copyFields as readonly string[]
  const ofMembers = member
    .filter((field) => field.endsWith('Memory'))
    .map((field) => field.slice(0, -'Memory'.length))
  const auxiliaries = ofMembers.slice(ofMembers.indexOf('c0') + 1)

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

  /** Returns the auxiliary outputs of a product by name. */
  const auxiliaryOf = (given: unknown) =>
    auxiliaries.map(
      (matrix, index) => [(given as readonly unknown[] | null | undefined)?.[index], matrix] as const,
    )

  /** Returns the written elements of a product over a custom semiring: lanes of C and auxiliary outputs. */
  const ofUserProduct = (c: unknown, given: unknown, numbers: Float64Array, base: number): Written[] => {
    const lanes = Array.isArray(c) ? c : []
    const results = [...lanes.map((array, lane) => [array, `cLane${lane}`] as const), ...auxiliaryOf(given)]
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
      for (const [array, matrix] of [[named.c, 'c'] as const, ...auxiliaryOf(named.auxiliary)]) {
        if (isTypedArray(array)) results.push(ofProduct(array, numbers, 0, matrix))
      }
    } else if (name === 'multiplyGroup') {
      results.push(whole(named.reports as TypedArray))
      const arrays = named.arrays as readonly TypedArray[]
      const members = named.members as Float64Array
      for (let base = 0; base < members.length; base += member.length) {
        for (const matrix of ['c', ...auxiliaries]) {
          const position = members[base + member.indexOf(`${matrix}Memory`)]!
          // Another product of the group may read the array.
          if (position < 0)
            results.push({ ...ofProduct(arrays[-1 - position]!, members, base, matrix), replaces: false })
        }
      }
    } else if (name === 'download') {
      results.push(placed(named.array as TypedArray, copied, numbers, 0, 'array', ['rows', 'cols']))
    } else if (name === 'graphSearch') {
      results.push(...resultsOfSearch(named.request as GraphSearchRequest))
    } else if (name === 'multiplyUser' || name === 'multiplyUserSync') {
      results.push(...ofUserProduct(named.c, named.auxiliary, numbers, 0))
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
