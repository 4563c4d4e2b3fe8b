/** Mirrors of matrices on a device, which have the expected content, and views of them. */
import { newMatrix, sameBits } from './layouts.mjs'

/** Row-major, as downloads and results are. */
export const asResult = ({ data, batched, batch, rows, cols }) => ({
  data,
  shape: batched ? [batch, rows, cols] : [rows, cols],
  strides: batched ? [rows * cols, cols, 1] : [cols, 1],
  offset: 0,
})

/** A downloaded matrix. */
export function asMatrix({ data, shape }) {
  const batched = shape.length === 3
  const [batch, rows, cols] = batched ? shape : [1, ...shape]
  return { data, batched, batch, rows, cols }
}

/** A part of `root`, { matrix, mirror }: rows × cols as the view has them, from `top` and `left` of the root on. */
export class View {
  constructor(root, { top, left, rows, cols, item = null, isTransposed = false }) {
    Object.assign(this, { root, top, left, rows, cols, item, isTransposed })
  }

  /** Number of the root's rows in the view. */
  get height() {
    return this.isTransposed ? this.cols : this.rows
  }

  get width() {
    return this.isTransposed ? this.rows : this.cols
  }

  get isWhole() {
    const { mirror } = this.root
    return (
      this.height === mirror.rows && this.width === mirror.cols && this.item === null && !this.isTransposed
    )
  }

  /** Returns the handles that a call needs. The last one is the view. All but the root's must be disposed. */
  handles() {
    const { top, left, height, width, item, isTransposed, root } = this
    if (this.isWhole) return [root.matrix]
    const part = { rows: [top, top + height], cols: [left, left + width] }
    const view = root.matrix.view(item === null ? part : { ...part, batch: item })
    return isTransposed ? [view, view.transpose()] : [view]
  }

  toString() {
    const { root, top, left, height, width, item, isTransposed } = this
    const part = `${item === null ? '' : `${item}, `}${top}+${height}, ${left}+${width}`
    return this.isWhole ? root.name : `${root.name}[${part}]${isTransposed ? ' transposed' : ''}`
  }

  overlaps(other) {
    if (this.root !== other.root) return false
    if (this.item !== null && other.item !== null && this.item !== other.item) return false
    return (
      this.top < other.top + other.height &&
      other.top < this.top + this.height &&
      this.left < other.left + other.width &&
      other.left < this.left + this.width
    )
  }

  /** Calls `take` with the index of each element in the root, and in the view. */
  visit(take) {
    const { batch, rows: height, cols: width } = this.root.mirror
    const { rows, cols, top, left, item, isTransposed } = this
    const items = item === null ? Array.from({ length: batch }, (_, index) => index) : [item]
    let index = 0
    for (const each of items) {
      for (let i = 0; i < rows; i++) {
        for (let j = 0; j < cols; j++) {
          const [row, col] = isTransposed ? [top + j, left + i] : [top + i, left + j]
          take((each * height + row) * width + col, index++)
        }
      }
    }
  }

  /** Returns the elements of the view, row-major, in the root's mirror or another matrix of that shape. */
  content(mirror = this.root.mirror) {
    const { batch, batched } = mirror
    const all = this.item === null
    const matrix = newMatrix(mirror.data.constructor, batched && all, all ? batch : 1, this.rows, this.cols)
    if (this.isWhole) matrix.data.set(mirror.data)
    else {
      this.visit((from, to) => {
        matrix.data[to] = mirror.data[from]
      })
    }
    return matrix
  }

  /** Returns whether two matrices of the root's shape have the same bits outside of the view. */
  isSameOutside(one, other) {
    if (this.isWhole) return true
    const copy = one.data.slice()
    this.visit((index) => {
      copy[index] = other.data[index]
    })
    return sameBits(copy, other.data)
  }
}

/**
 * Draws a view of `rows` × `cols` of one of the roots, preferably `recent`; undefined if no root is large
 * enough. `fits` filters the roots.
 */
export function drawView(random, roots, recent, [rows, cols], batched, fits = () => true) {
  for (let attempt = 0; attempt < 12 && roots.length > 0; attempt++) {
    const root = roots.includes(recent) && random.chance(0.4) ? recent : random.pick(roots)
    const { mirror } = root
    if (batched !== mirror.batched && (batched || random.chance(0.5))) continue
    const isTransposed = random.chance(0.25)
    const [height, width] = isTransposed ? [cols, rows] : [rows, cols]
    if (mirror.rows < height || mirror.cols < width) continue
    const place = (room) => (random.chance(0.5) ? 0 : random.chance(0.5) ? room : random.integer(0, room))
    const item = mirror.batched && !batched ? random.integer(0, mirror.batch - 1) : null
    const [top, left] = [place(mirror.rows - height), place(mirror.cols - width)]
    const view = new View(root, { top, left, rows, cols, item, isTransposed })
    if (fits(view)) return view
  }
  return undefined
}
