/**
 * Detects overlaps of matrices in memory.
 *
 * Matrices whose strides nest, such as blocks of one matrix and their transposes, are compared byte by byte.
 * All other matrices are compared by the ranges of their bytes: matrices that interleave otherwise count as
 * overlapping, although they may share no byte.
 */
import type { Name } from './describe.js'
import { ShapeError } from './errors.js'
import { bufferOf, firstByteOf } from './storage.js'
import type { View } from './view.js'

/** Returns the memory of a view's elements. Two views can overlap only if their memory is the same object. */
function homeOf(view: View): object {
  return view.memory ?? bufferOf(view.data)
}

/** Byte offset of a view's first element in its memory. */
function start(view: View): number {
  return (view.memory ? 0 : firstByteOf(view.data)) + view.offset * view.bytes
}

/** Byte offset after a view's last element in its memory. */
const end = (view: View) => start(view) + (view.reach - view.offset) * view.bytes

/** A dimension of one or two views, with its stride in bytes. */
interface Dimension {
  readonly stride: number
  /** Greatest index of each view. */
  readonly x: number
  readonly y: number
}

/** Adds the dimensions of a view along which it moves, as x or as y. The last one is the bytes of an element. */
function addDimensions(dimensions: Dimension[], view: View, side: 'x' | 'y'): void {
  const add = (stride: number, count: number) => {
    if (count > 1) dimensions.push({ stride, x: 0, y: 0, [side]: count - 1 })
  }
  add(view.batchStride * view.bytes, view.batch)
  add(view.rowStride * view.bytes, view.rows)
  add(view.colStride * view.bytes, view.cols)
  add(1, view.bytes)
}

/**
 * Returns the dimensions in the order of descending strides; null if they don't nest, so that a stride is
 * smaller than the extent of the smaller dimensions.
 */
function nested(dimensions: Dimension[]): Dimension[] | null {
  let span = 0
  for (const { stride, x, y } of dimensions.sort((one, other) => one.stride - other.stride)) {
    if (stride <= span) return null
    span += stride * Math.max(x, y)
  }
  return dimensions.reverse()
}

/**
 * Dimensions of two views, in which dimensions of equal strides are merged; null if the strides don't nest.
 */
function commonDimensions(x: View, y: View): Dimension[] | null {
  const [dimensions, others]: [Dimension[], Dimension[]] = [[], []]
  addDimensions(dimensions, x, 'x')
  addDimensions(others, y, 'y')
  for (const other of others) {
    const at = dimensions.findIndex(({ stride, y }) => stride === other.stride && y === 0)
    if (at < 0) dimensions.push(other)
    else dimensions[at] = { ...dimensions[at]!, y: other.y }
  }
  return nested(dimensions)
}

/** Returns whether a byte of y can be one of x, with nested dimensions, if y begins `distance` bytes after x. */
function coincide(dimensions: readonly Dimension[], distance: number, at = 0): boolean {
  if (at === dimensions.length) return distance === 0
  const { stride, x, y } = dimensions[at]!
  const below = Math.floor(distance / stride)
  const fits = (steps: number) =>
    -y <= steps && steps <= x && coincide(dimensions, distance - steps * stride, at + 1)
  return fits(below) || fits(below + 1)
}

/** Returns whether two views share memory. */
export function overlap(x: View, y: View): boolean {
  if (x.reach === 0 || y.reach === 0 || homeOf(x) !== homeOf(y)) return false
  const [first, other] = [start(x), start(y)]
  if (first >= end(y) || other >= end(x)) return false
  const dimensions = commonDimensions(x, y)
  return dimensions === null || coincide(dimensions, other - first)
}

/** Returns whether elements of a view may be the same memory: its strides don't nest. */
export function overlapsItself(view: View): boolean {
  const { batch, rows, cols, batchStride, rowStride, colStride } = view
  // Most matrices are of rows one after the other. Groups check thousands of them, and lists would cost more memory
  // than their products.
  if (colStride === 1 && rowStride >= cols && (batch === 1 || batchStride >= rows * rowStride)) return false
  const dimensions: Dimension[] = []
  addDimensions(dimensions, view, 'x')
  return view.reach > 0 && nested(dimensions) === null
}

/** Throws ShapeError if elements of `out`, into which `what` is written, overlap each other. */
export function assertCapacity(out: View, name: Name, what: string): void {
  if (!overlapsItself(out)) return
  throw new ShapeError(
    `elements of ${name} overlap each other, so ${what} has no room in it: give ${name} strides that put each element in a ` +
      'place of its own',
  )
}

/** Returns whether two views of equal shape have equal addresses for all elements. */
export function sameLayout(x: View, y: View): boolean {
  return (
    homeOf(x) === homeOf(y) &&
    start(x) === start(y) &&
    (x.batch <= 1 || x.batchStride === y.batchStride) &&
    (x.rows <= 1 || x.rowStride === y.rowStride) &&
    (x.cols <= 1 || x.colStride === y.colStride) &&
    x.batch === y.batch
  )
}

/** Matrices of one of several concurrent products. */
export interface Matrices {
  readonly a: View
  readonly b: View
  readonly c0: View | null
  readonly out: View | null
}

/** A view in two intervals, of bytes and of columns: views that overlap do in both. */
interface PlacedView {
  readonly view: View
  /** Index of its product. */
  readonly product: number
  readonly isOut: boolean
  readonly low: number
  readonly high: number
  readonly left: number
  readonly right: number
}

/**
 * Throws ShapeError if the `out` of a product overlaps a matrix of another one. `nameOf` names matrices in the message, and `why` gives
 * the reason.
 */
export function assertSeparate(
  products: readonly Matrices[],
  nameOf: (product: number, view: View) => string,
  why = 'the products of a group run in any order: write into another matrix, or compute one of them in another call',
): void {
  // Groups check thousands of products, most of which write into memory that no other matrix uses. Views are only
  // collected in the other memories.
  const uses = new Map<object, number>()
  for (const { out } of products) if (out && out.reach > 0) uses.set(homeOf(out), 0)
  eachView(products, (view) => {
    const home = homeOf(view)
    const count = uses.get(home)
    if (count !== undefined) uses.set(home, count + 1)
  })
  const shared = new Map<object, PlacedView[]>()
  for (const [home, count] of uses) if (count > 1) shared.set(home, [])
  if (shared.size === 0) return
  eachView(products, (view, product, isOut) => {
    const views = shared.get(homeOf(view))
    views?.push({ view, product, isOut, ...anywhere, low: start(view), high: end(view) })
  })
  for (const views of shared.values()) {
    const found = overlapping(asBlocks(views) ?? views)
    if (!found) continue
    const [output, other] = found.map(({ product, view }) => nameOf(product, view))
    throw new ShapeError(`${output} overlaps ${other} in memory, and ${why}`)
  }
}

/** Calls `look` with each view that has elements; with an `out` that is also accumulated to only once. */
function eachView(
  products: readonly Matrices[],
  look: (view: View, product: number, isOut: boolean) => void,
): void {
  for (let product = 0; product < products.length; product++) {
    const { a, b, c0, out } = products[product]!
    if (a.reach > 0) look(a, product, false)
    if (b.reach > 0) look(b, product, false)
    if (c0 && c0 !== out && c0.reach > 0) look(c0, product, false)
    if (out && out.reach > 0) look(out, product, true)
  }
}

const anywhere = { left: Number.NEGATIVE_INFINITY, right: Number.POSITIVE_INFINITY }

/**
 * Returns views as blocks of one row-major matrix, sorted by their intervals of bytes or of columns,
 * whichever fewer views share. Null if they aren't blocks of one matrix.
 */
function asBlocks(views: readonly PlacedView[]): PlacedView[] | null {
  const { bytes, cols: width } = views[0]!.view
  const pitch = views.find(({ view }) => view.rows > 1)?.view.rowStride ?? width
  const blocks: PlacedView[] = []
  for (const placed of views) {
    const { batch, rows, cols, rowStride, colStride } = placed.view
    const left = (placed.low / placed.view.bytes) % pitch
    const isBlock = batch === 1 && (rows === 1 || rowStride === pitch) && (cols === 1 || colStride === 1)
    if (!isBlock || placed.view.bytes !== bytes || !(left + cols <= pitch)) return null
    blocks.push({ ...placed, left, right: left + cols })
  }
  const swapped = blocks.map((block) => ({
    ...block,
    ...{ low: block.left, high: block.right, left: block.low, right: block.high },
  }))
  return density(swapped) < density(blocks) ? swapped : blocks
}

/** Average number of intervals around a place. */
function density(views: readonly PlacedView[]): number {
  let [total, least, most] = [0, Number.POSITIVE_INFINITY, 0]
  for (const { low, high } of views) {
    total += high - low
    least = Math.min(least, low)
    most = Math.max(most, high)
  }
  return total / (most - least)
}

/** Finds an output and a view of another product that overlaps it. */
function overlapping(views: PlacedView[]): [output: PlacedView, other: PlacedView] | null {
  let open: PlacedView[] = []
  for (const next of views.sort((x, y) => x.low - y.low)) {
    open = open.filter(({ high }) => high > next.low)
    for (const other of open) {
      if (other.left >= next.right || next.left >= other.right) continue
      if (other.product === next.product || !(other.isOut || next.isOut)) continue
      if (overlap(other.view, next.view)) return next.isOut ? [next, other] : [other, next]
    }
    open.push(next)
  }
  return null
}
