/**
 * Whether strided views share memory. Comparing only the first and the last place would refuse two halves of one buffer
 * that interleave. So the question is answered exactly if that is cheap: whether a linear equation has a solution in
 * bounded integers.
 *
 * The method is that of NumPy's `shares_memory` (numpy/_core/src/common/mem_overlap.c): enumeration by descending
 * stride, pruned by what the smaller strides can still reach and by their greatest common divisor, with a limit on
 * the work. At the limit the answer is "yes".
 */
import type { Name } from './describe.js'
import { ShapeError } from './errors.js'
import { greatestDivisor } from './integers.js'
import { bufferOf, firstByteOf } from './storage.js'
import type { View } from './view.js'

/** One unknown x of the equation: low ≤ x ≤ high, taken `stride` times. */
interface Term {
  stride: number
  low: number
  high: number
}

/** Steps of the enumeration after which it is given up. Views in practice need fewer than ten. */
const MAX_STEPS = 20_000

/** Whether Σ stride·x = target for some x within their bounds; true if that is too hard to tell. */
function solvable(terms: Term[], target: number): boolean {
  const sorted = [...terms].sort((x, y) => y.stride - x.stride)
  // What the terms from i on can add up to, at least and at most, and what they can only add multiples of.
  const least = [0]
  const most = [0]
  const divisor = [0]
  for (let i = sorted.length - 1; i >= 0; i--) {
    const { stride, low, high } = sorted[i]!
    least.unshift(least[0]! + stride * low)
    most.unshift(most[0]! + stride * high)
    divisor.unshift(greatestDivisor(stride, divisor[0]!))
  }
  let steps = 0
  const search = (i: number, rest: number): boolean => {
    if (i === sorted.length) return rest === 0
    if (rest % divisor[i]! !== 0) return false
    const { stride, low, high } = sorted[i]!
    const first = Math.max(low, Math.ceil((rest - most[i + 1]!) / stride))
    const last = Math.min(high, Math.floor((rest - least[i + 1]!) / stride))
    for (let x = first; x <= last; x++) {
      if (++steps > MAX_STEPS || search(i + 1, rest - x * stride)) return true
    }
    return false
  }
  return search(0, target)
}

/** The dimensions along which a view moves. */
function dimensions(view: View): { stride: number; count: number }[] {
  return [
    { stride: view.batchStride, count: view.batch },
    { stride: view.rowStride, count: view.rows },
    { stride: view.colStride, count: view.cols },
  ].filter(({ count }) => count > 1)
}

/** What a view's elements are in: two views can only overlap if they have the same. */
function homeOf(view: View): object {
  return view.memory ?? bufferOf(view.data)
}

/** The place of a view's first element in its home, in bytes. */
function start(view: View): number {
  return (view.memory ? 0 : firstByteOf(view.data)) + view.offset * view.bytes
}

/** Whether rows follow each other, without overlaps, and the matrices of a batch too: so it is with most views. */
function isOrdinary({ batch, rows, cols, batchStride, rowStride, colStride }: View): boolean {
  const row = (cols - 1) * colStride + 1
  if ((cols > 1 && colStride === 0) || (rows > 1 && rowStride < row)) return false
  return batch === 1 || batchStride >= (rows - 1) * rowStride + row
}

/** Throws ShapeError unless each element of `out`, into which `what` is written, has a place of its own. */
export function requireRoom(out: View, name: Name, what: string): void {
  if (!overlapsItself(out)) return
  throw new ShapeError(
    `elements of ${name} overlap each other, so ${what} has no room in it: give ${name} strides that put each element in a ` +
      'place of its own',
  )
}

/** Whether two elements of `view` are the same memory. */
export function overlapsItself(view: View): boolean {
  if (view.reach === 0 || isOrdinary(view)) return false
  const all = dimensions(view).sort((x, y) => x.stride - y.stride)
  let span = 0
  let nested = true
  for (const { stride, count } of all) {
    if (stride === 0) return true
    nested &&= stride > span
    span += stride * (count - 1)
  }
  if (nested) return false
  // Two elements coincide if the difference of their indices solves the equation with target 0. Of the two
  // differences (one is the other negated) one has its first entry that isn't 0 positive.
  return all.some(({ stride, count }, first) =>
    solvable(
      [
        { stride, low: 1, high: count - 1 },
        ...all
          .slice(first + 1)
          .map((other) => ({ stride: other.stride, low: 1 - other.count, high: other.count - 1 })),
      ],
      0,
    ),
  )
}

/** A view as a block of a row-major matrix, from its first row and column on. */
interface Block {
  row: number
  col: number
}

/** The block that `view` is of the home as one matrix with rows of `pitch` elements; null if it is none. */
function blockOf(view: View, pitch: number): Block | null {
  const { batch, rows, cols, rowStride, colStride } = view
  if (batch !== 1 || (cols > 1 && colStride !== 1) || (rows > 1 && rowStride !== pitch)) return null
  const place = start(view) / view.bytes
  const col = place % pitch
  return Number.isInteger(place) && col + cols <= pitch ? { row: (place - col) / pitch, col } : null
}

/** Whether two views have memory in common. */
export function overlap(x: View, y: View): boolean {
  if (x.reach === 0 || y.reach === 0 || homeOf(x) !== homeOf(y)) return false
  // Counted in units of the smaller element, of which the larger one has several.
  const unit = Math.min(x.bytes, y.bytes)
  const [xUnits, yUnits] = [x.bytes / unit, y.bytes / unit]
  const distance = (start(y) - start(x)) / unit
  if (distance >= (x.reach - x.offset) * xUnits || -distance >= (y.reach - y.offset) * yUnits) return false
  const pitch = x.rows > 1 ? x.rowStride : y.rowStride
  const [left, right] = [blockOf(x, pitch), blockOf(y, pitch)]
  if (left && right && unit === x.bytes && unit === y.bytes) {
    return (
      left.row < right.row + y.rows &&
      right.row < left.row + x.rows &&
      left.col < right.col + y.cols &&
      right.col < left.col + x.cols
    )
  }
  // x's places minus y's: a stride that both have needs only one unknown.
  const terms = new Map<number, Term>()
  const add = (stride: number, low: number, high: number) => {
    if (stride === 0) return
    const term = terms.get(stride) ?? { stride, low: 0, high: 0 }
    terms.set(stride, { stride, low: term.low + low, high: term.high + high })
  }
  for (const { stride, count } of dimensions(x)) add(stride * xUnits, 0, count - 1)
  for (const { stride, count } of dimensions(y)) add(stride * yUnits, 1 - count, 0)
  add(1, 1 - yUnits, xUnits - 1)
  return solvable([...terms.values()], distance)
}

/** Whether two views of the same shape are the same memory, element by element. */
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

/** The matrices of one of several products that run at once. */
export interface Matrices {
  readonly a: View
  readonly b: View
  readonly c0: View | null
  readonly out: View | null
}

interface Placed {
  view: View
  /** The index of its product. */
  product: number
  /** An interval that it is in: of bytes, or of columns. */
  low: number
  high: number
}

/**
 * Throws ShapeError if the `out` of a product overlaps a matrix of another one; `nameOf` is what messages call them, and `why` says why
 * it mustn't.
 */
export function requireApart(
  products: readonly Matrices[],
  nameOf: (product: number, view: View) => string,
  why = 'the products of a group run in any order: write into another matrix, or compute one of them in another call',
): void {
  for (const home of sharedHomes(products)) {
    const views: Placed[] = []
    const add = (view: View | null, product: number) => {
      if (!view || view.reach === 0 || homeOf(view) !== home) return
      const low = start(view)
      views.push({ view, product, low, high: low + (view.reach - view.offset) * view.bytes })
    }
    products.forEach(({ a, b, c0, out }, product) => {
      add(a, product)
      add(b, product)
      if (c0 !== out) add(c0, product)
      add(out, product)
    })
    sweep(products, byColumns(views) ?? views, nameOf, why)
  }
}

/**
 * The memories of a device that the products of a group use. What is known is kept with the memories, because a Map of
 * thousands of them takes longer than to multiply small matrices.
 */
export class Uses {
  static #latest = 0
  readonly #group = ++Uses.#latest

  /** Whether `product`, the next of the group, may write what an earlier one uses, or the other way round. */
  meet(index: number, { a, b, c0, out }: Matrices): boolean {
    const ofA = this.#add(index, a, false)
    const ofB = this.#add(index, b, false)
    const ofC0 = c0 !== null && this.#add(index, c0, false)
    const ofOut = out !== null && this.#add(index, out, true)
    return ofA || ofB || ofC0 || ofOut
  }

  #add(product: number, { memory }: View, writes: boolean): boolean {
    if (!memory) return writes
    memory.use ??= { of: 0, product: 0, isShared: false, isWritten: false }
    const { use } = memory
    if (use.of !== this.#group) {
      use.of = this.#group
      use.product = product
      use.isShared = false
      use.isWritten = writes
      return false
    }
    use.isShared ||= use.product !== product
    use.isWritten ||= writes
    return use.isShared && use.isWritten
  }
}

/** What the `out` of a product is in, and a matrix of another product too. */
function sharedHomes(products: readonly Matrices[]): Set<object> {
  const writers = new Map<object, number>()
  const shared = new Set<object>()
  for (let product = 0; product < products.length; product++) {
    const { out } = products[product]!
    if (!out || out.reach === 0) continue
    const home = homeOf(out)
    if (writers.has(home)) shared.add(home)
    else writers.set(home, product)
  }
  const look = (view: View, product: number) => {
    const home = homeOf(view)
    const writer = writers.get(home)
    if (writer !== undefined && writer !== product) shared.add(home)
  }
  for (let product = 0; product < products.length; product++) {
    const { a, b, c0, out } = products[product]!
    look(a, product)
    look(b, product)
    if (c0 && c0 !== out) look(c0, product)
  }
  return shared
}

/**
 * Blocks of one matrix, by their columns; null if the views aren't that, or if their rows tell them apart better. Views
 * side by side all reach over the same bytes.
 */
function byColumns(views: readonly Placed[]): Placed[] | null {
  const pitch = views.find(({ view }) => view.rows > 1)?.view.rowStride ?? 0
  const bytes = views[0]!.view.bytes
  const placed: Placed[] = []
  let [rows, cols, lastRow] = [0, 0, 0]
  for (const each of views) {
    const { view } = each
    const block = view.bytes === bytes ? blockOf(view, pitch) : null
    if (!block) return null
    placed.push({ ...each, low: block.col, high: block.col + view.cols })
    rows += view.rows
    cols += view.cols
    lastRow = Math.max(lastRow, block.row + view.rows)
  }
  return cols / pitch < rows / lastRow ? placed : null
}

/** Looks at each pair of views whose intervals overlap. */
function sweep(
  products: readonly Matrices[],
  views: Placed[],
  nameOf: (product: number, view: View) => string,
  why: string,
): void {
  views.sort((x, y) => x.low - y.low)
  const isOut = ({ view, product }: Placed) => view === products[product]!.out
  let open: Placed[] = []
  let end = Number.NEGATIVE_INFINITY
  for (const next of views) {
    open = end <= next.low ? [] : open.filter(({ high }) => high > next.low)
    for (const other of open) {
      if (other.product === next.product || !(isOut(other) || isOut(next))) continue
      if (!overlap(other.view, next.view)) continue
      const [written, read] = isOut(next) ? [next, other] : [other, next]
      throw new ShapeError(
        `${nameOf(written.product, written.view)} overlaps ${nameOf(read.product, read.view)} in memory, and ${why}`,
      )
    }
    open.push(next)
    end = Math.max(end, next.high)
  }
}
