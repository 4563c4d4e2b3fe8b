/** Layouts of matrices in arrays: placing and reading their elements. */

/** A row-major matrix; `batch` is 1 for a single one, and `batched` says whether its shape has three entries. */
export const newMatrix = (Type, batched, batch, rows, cols) => ({
  data: new Type(batch * rows * cols),
  batched,
  batch,
  rows,
  cols,
})

const layouts = {
  'row-major': ({ rows, cols }) => ({ strides: [rows * cols, cols, 1] }),
  transposed: ({ rows, cols }) => ({ strides: [rows * cols, 1, rows] }),
  'in a larger one': ({ rows, cols }) => ({
    strides: [(rows + 2) * (cols + 3), cols + 3, 1],
    offset: cols + 5,
  }),
  'transposed in a larger one': ({ rows, cols }) => ({
    strides: [(cols + 1) * (rows + 5), 1, rows + 5],
    offset: 3,
  }),
  'every other element': ({ rows, cols }) => ({ strides: [2 * rows * cols, 2 * cols, 2], offset: 1 }),
  interleaved: ({ batch, cols }) => ({ strides: [1, cols * batch, batch] }),
}

export const layoutNames = Object.keys(layouts)

/** Returns the value between the elements, which would decide results if it were read. */
const gapOf = (data) =>
  data instanceof Uint8Array
    ? 1
    : data instanceof Int16Array
      ? 29_999
      : data instanceof Int32Array
        ? 2e9
        : 1e30

const shapeOf = ({ batched, batch, rows, cols }) => (batched ? [batch, rows, cols] : [rows, cols])

/**
 * Calls `copy(at, from, count)` for runs of neighbours: of the elements from `from` on in row-major order,
 * `count` are from `at` on, contiguously. Typed arrays copy a run much faster than a loop.
 */
function forRuns({ batch, rows, cols }, [byItem, byRow, byCol], copy) {
  const [inRow, inAll] = [byCol === 1, byCol === 1 && byRow === cols && byItem === rows * cols]
  // Without elements, the offset may be beyond the array.
  if (batch * rows * cols === 0) return
  if (inAll) return copy(0, 0, batch * rows * cols)
  for (let item = 0; item < batch; item++) {
    for (let i = 0; i < rows; i++) {
      const [at, from] = [item * byItem + i * byRow, (item * rows + i) * cols]
      if (inRow) copy(at, from, cols)
      else for (let j = 0; j < cols; j++) copy(at + j * byCol, from + j, 1)
    }
  }
}

/**
 * Copies a row-major matrix into a new array, of type `Type` if it is given, with `shift` elements before the
 * matrix and `tail` after it.
 */
export function placeAs(name, source, { Type = source.data.constructor, shift = 0, tail = 0 } = {}) {
  const { data, batched, batch, rows, cols } = source
  const { strides, offset = 0 } = layouts[name](source)
  const [byItem, byRow, byCol] = strides
  const last =
    batch * rows * cols === 0
      ? 0
      : offset + (batch - 1) * byItem + (rows - 1) * byRow + (cols - 1) * byCol + 1
  const whole = new Type(shift + last + tail).fill(gapOf(new Type(0)))
  const placed = whole.subarray(shift)
  forRuns(source, strides, (at, from, count) => {
    if (count === 1) placed[offset + at] = data[from]
    else placed.set(data.subarray(from, from + count), offset + at)
  })
  return {
    name,
    whole,
    strides,
    offset,
    matrix: { data: placed, shape: shapeOf(source), strides: batched ? strides : strides.slice(1), offset },
  }
}

/** Copies a row-major matrix into a new array in a random layout. */
export function place(random, source, Type) {
  const name = random.chance(0.4) ? 'row-major' : random.pick(layoutNames)
  const shift = random.pick([0, 0, 0, 1, 3, 16])
  return placeAs(name, source, { Type, shift, tail: random.integer(0, 2) })
}

/** Returns the elements of a placed or downloaded matrix in row-major order. */
export function read({ data, shape, strides, offset = 0 }) {
  const batched = shape.length === 3
  const [batch, rows, cols] = batched ? shape : [1, ...shape]
  const given = strides && (batched ? strides : [0, ...strides])
  const matrix = newMatrix(data.constructor, batched, batch, rows, cols)
  forRuns(matrix, given ?? [rows * cols, cols, 1], (at, from, count) => {
    if (count === 1) matrix.data[from] = data[offset + at]
    else matrix.data.set(data.subarray(offset + at, offset + at + count), from)
  })
  return matrix
}

const bytesOf = ({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength)

/** Returns whether two arrays have the same bits. */
export const sameBits = (one, other) => bytesOf(one).equals(bytesOf(other))

/** Returns whether elements outside of the matrix have changed since `before`, a copy of the whole array. */
export function gapsChanged({ whole, matrix }, before) {
  const { data, shape, strides, offset } = matrix
  const [batch, rows, cols] = shape.length === 3 ? shape : [1, ...shape]
  if (batch * rows * cols === whole.length) return false
  const now = whole.slice()
  const shift = (data.byteOffset - whole.byteOffset) / data.BYTES_PER_ELEMENT
  forRuns({ batch, rows, cols }, shape.length === 3 ? strides : [0, ...strides], (at, _, count) => {
    const first = shift + offset + at
    if (count === 1) now[first] = before[first]
    else now.set(before.subarray(first, first + count), first)
  })
  return !sameBits(now, before)
}
