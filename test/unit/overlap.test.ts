/** Overlaps of views, compared with the sets of their elements. */
import { describe, expect, it } from 'vitest'
import { assertSeparate, overlap, overlapsItself } from '../../lib/memory-overlap.js'
import { readView, type View } from '../../lib/view.js'
import { expectThrown } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { nests } from '../support/strides.js'

const data = new Int32Array(400)

/** Returns the indices of all elements of a view, with repetitions. */
function places({ offset, batch, rows, cols, batchStride, rowStride, colStride }: View): number[] {
  const all: number[] = []
  for (let item = 0; item < batch; item++) {
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < cols; j++) all.push(offset + item * batchStride + i * rowStride + j * colStride)
    }
  }
  return all
}

const viewOf = (shape: number[], strides: number[], offset: number) =>
  readView({ data, shape, strides, offset }, 'a', 'operand')

/** Returns a view with random strides, or a block of a matrix of ten columns or of its transpose. */
function anyView(random: Random): View {
  const [rows, cols] = [random.integer(0, 4), random.integer(1, 4)]
  if (random.chance(0.3)) {
    const strides = [random.integer(0, 40), random.integer(0, 12), random.integer(0, 5)]
    return viewOf([random.integer(1, 3), rows, cols], strides, random.integer(0, 60))
  }
  const offset = 10 * random.integer(0, 6) + random.integer(0, 9)
  return random.chance(0.8) ? viewOf([rows, cols], [10, 1], offset) : viewOf([rows, cols], [1, 10], offset)
}

const haveNestedStrides = (...views: View[]) =>
  nests(
    views.map(({ batch, rows, cols, batchStride, rowStride, colStride }) => ({
      shape: [batch, rows, cols],
      strides: [batchStride, rowStride, colStride],
    })),
  )

const rangesMeet = (x: View, y: View) => x.offset < y.reach && y.offset < x.reach

describe('views', () => {
  it('overlap if they have an element in common, or interleave with strides that do not nest', () => {
    const random = new Random(1)
    const found = [0, 0]
    for (let round = 0; round < 20_000; round++) {
      const [x, y] = [anyView(random), anyView(random)]
      const both = new Set(places(x))
      const expected = haveNestedStrides(x, y)
        ? places(y).some((place) => both.has(place))
        : both.size > 0 && places(y).length > 0 && rangesMeet(x, y)
      found[expected ? 1 : 0]!++
      if (overlap(x, y) !== expected || overlap(y, x) !== expected)
        expect.fail(`${expected}: ${JSON.stringify([x, y])}`)
    }
    expect(Math.min(...found)).toBeGreaterThan(1000)
  })

  it('overlap as int16 and int32 if they share a byte, and only if the ranges of their bytes overlap', () => {
    const random = new Random(4)
    const found = [0, 0]
    const memory = new ArrayBuffer(800)
    const [short, long] = [new Int16Array(memory), new Int32Array(memory)]
    const bytesOf = (view: View) =>
      places(view).flatMap((at) => Array.from({ length: view.bytes }, (_, byte) => at * view.bytes + byte))
    const stridesOf = () => [random.integer(0, 12), random.integer(0, 4)]
    for (let round = 0; round < 20_000; round++) {
      const shape = () => [random.integer(1, 4), random.integer(1, 4)]
      const x = readView(
        { data: short, shape: shape(), strides: stridesOf(), offset: random.integer(0, 120) },
        'a',
        'operand',
      )
      const y = readView(
        { data: long, shape: shape(), strides: stridesOf(), offset: random.integer(0, 60) },
        'out',
        'result',
      )
      const range = (view: View) => [view.offset * view.bytes, (Math.max(...places(view)) + 1) * view.bytes]
      const [[low, high], [first, last]] = [range(x), range(y)] as [number[], number[]]
      const bytes = new Set(bytesOf(x))
      const [least, most] = [bytesOf(y).some((byte) => bytes.has(byte)), low! < last! && first! < high!]
      found[least ? 1 : 0]!++
      for (const said of [overlap(x, y), overlap(y, x)]) {
        if ((least && !said) || (said && !most)) {
          expect.fail(`${said}: ${JSON.stringify([x, y].map(({ data: _, ...view }) => view))}`)
        }
      }
    }
    expect(Math.min(...found)).toBeGreaterThan(1000)
    // out is every second int32. The first int16 view has only bytes between the elements of out, the second
    // one has some of their bytes.
    const column = (view: object, data: Int16Array | Int32Array) =>
      readView({ data, ...view }, 'a', 'operand')
    const out = column({ shape: [4, 1], strides: [2, 1], offset: 0 }, long)
    expect(overlap(column({ shape: [4, 1], strides: [4, 1], offset: 2 }, short), out)).toBe(false)
    expect(overlap(column({ shape: [4, 1], strides: [2, 1], offset: 1 }, short), out)).toBe(true)
  })

  it('overlap themselves if a stride lies within the extent of the smaller ones', () => {
    const random = new Random(2)
    const found = [0, 0]
    for (let round = 0; round < 5000; round++) {
      const view = anyView(random)
      const all = places(view)
      const coincide = new Set(all).size < all.length
      found[coincide ? 1 : 0]!++
      const expected = view.reach > 0 && !haveNestedStrides(view)
      if (overlapsItself(view) !== expected) expect.fail(`${expected}: ${JSON.stringify(view)}`)
      if (coincide) expect(expected).toBe(true)
    }
    expect(Math.min(...found)).toBeGreaterThan(100)
  })
})

describe('products of a group', () => {
  const elsewhere = readView({ data: new Int32Array(1), shape: [1, 1] }, 'a', 'operand')
  const writing = (out: View) => ({ a: elsewhere, b: elsewhere, c0: null, out: out as never })
  const nameOf = (product: number, view: View) => `${product}${view === elsewhere ? ' elsewhere' : ''}`

  it('are independent if no out overlaps a matrix of another product', () => {
    const random = new Random(3)
    const found = [0, 0]
    for (let round = 0; round < 3000; round++) {
      const products = Array.from({ length: random.integer(2, 4) }, () => ({
        a: random.chance(0.7) ? elsewhere : anyView(random),
        b: random.chance(0.7) ? elsewhere : anyView(random),
        c0: random.chance(0.7) ? null : (anyView(random) as never),
        out: random.chance(0.3) ? null : (anyView(random) as never),
      }))
      const expected = products.some(({ out }, index) =>
        products.some(
          (other, at) =>
            at !== index &&
            [other.a, other.b, other.c0, other.out].some((view) => out && view && overlap(out, view)),
        ),
      )
      found[expected ? 1 : 0]!++
      if (expected) {
        expectThrown(() => assertSeparate(products, nameOf), 'SHAPE', /^\d overlaps \d in memory/)
      } else {
        assertSeparate(products, nameOf)
      }
    }
    expect(Math.min(...found)).toBeGreaterThan(300)
  })

  it.each(['rows', 'columns', 'tiles'])('may write thousands of parts of one matrix: %s', (kind) => {
    const size = kind === 'tiles' ? 90 : 8100
    const large = new Int32Array(8100 * 4)
    const part = (index: number, wider = 0) => {
      const [shape, offset, pitch] =
        kind === 'rows'
          ? [[1, 4], index * 4, 4]
          : kind === 'columns'
            ? [[4, 1 + wider], index, 8100]
            : [[2, 2], Math.floor(index / size) * 360 + (index % size) * 2, 180]
      return readView({ data: large, shape, strides: [pitch, 1], offset }, 'out', 'result')
    }
    const products = Array.from({ length: 8100 }, (_, index) => writing(part(index)))
    assertSeparate(products, nameOf)
    products[4000] = writing(part(kind === 'columns' ? 4000 : 4001, 1))
    expectThrown(() => assertSeparate(products, nameOf), 'SHAPE', /^400[01] overlaps 400[01] /)
  })
})
