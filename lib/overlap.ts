/**
 * Whether strided views share memory. Comparing only the first and the last place would refuse two halves of one buffer
 * that interleave. So the question is answered exactly if that is cheap: whether a linear equation has a solution in
 * bounded integers.
 *
 * The method is that of NumPy's `shares_memory` (numpy/_core/src/common/mem_overlap.c): enumeration by descending
 * stride, pruned by what the smaller strides can still reach and by their greatest common divisor, with a limit on
 * the work. At the limit the answer is "yes".
 */
import { ShapeError } from './errors.js'
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

const gcd = (x: number, y: number): number => (y === 0 ? x : gcd(y, x % y))

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
    divisor.unshift(gcd(stride, divisor[0]!))
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
  return view.holding ? view.holding.memory : bufferOf(view.data)
}

/** The place of a view's first element in its home, in bytes. */
function start(view: View): number {
  return (view.holding ? 0 : firstByteOf(view.data)) + view.offset * view.bytes
}

/** Whether two elements of `view` are the same memory. */
export function overlapsItself(view: View): boolean {
  if (view.reach === 0) return false
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

/** Whether two views have memory in common. */
export function overlap(x: View, y: View): boolean {
  if (x.reach === 0 || y.reach === 0 || homeOf(x) !== homeOf(y)) return false
  // Counted in units of the smaller element, of which the larger one has several.
  const unit = Math.min(x.bytes, y.bytes)
  const [xUnits, yUnits] = [x.bytes / unit, y.bytes / unit]
  const distance = (start(y) - start(x)) / unit
  if (distance >= (x.reach - x.offset) * xUnits || -distance >= (y.reach - y.offset) * yUnits) return false
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
  /** In its home, in bytes. */
  first: number
  end: number
}

/** Throws ShapeError if the `out` of a product overlaps a matrix of another one. */
export function requireApart(products: readonly Matrices[]): void {
  const homes = new Map<object, Placed[]>()
  for (const { out } of products) if (out && out.reach > 0) homes.set(homeOf(out), [])
  products.forEach(({ a, b, c0, out }, product) => {
    for (const view of c0 === out ? [a, b, out] : [a, b, c0, out]) {
      const home = view && view.reach > 0 && homes.get(homeOf(view))
      if (home)
        home.push({
          view,
          product,
          first: start(view),
          end: start(view) + (view.reach - view.offset) * view.bytes,
        })
    }
  })
  for (const home of homes.values()) requireHomeApart(products, home)
}

function requireHomeApart(products: readonly Matrices[], views: Placed[]): void {
  views.sort((x, y) => x.first - y.first)
  const isOut = ({ view, product }: Placed) => view === products[product]!.out
  let open: Placed[] = []
  for (const next of views) {
    open = open.filter(({ end }) => end > next.first)
    for (const other of open) {
      if (other.product === next.product || !(isOut(other) || isOut(next))) continue
      if (!overlap(other.view, next.view)) continue
      const [written, read] = isOut(next) ? [next, other] : [other, next]
      throw new ShapeError(
        `${written.view.name} overlaps ${read.view.name} in memory, and the products of a group run in any order: write into ` +
          'another matrix, or compute one of them in another call',
      )
    }
    open.push(next)
  }
}
