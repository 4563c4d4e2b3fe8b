/** Where the elements of a matrix are in an array, and how to read them again. */

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

/** What is between the elements: it would decide results if it were read. */
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
 * Calls `copy(at, from, count)` for runs of neighbours: of the elements from `from` on in row-major order, `count` are from `at` on, one
 * after the other. Typed arrays copy a run much sooner than a loop does.
 */
function forRuns({ batch, rows, cols }, [byItem, byRow, byCol], copy) {
  const [inRow, inAll] = [byCol === 1, byCol === 1 && byRow === cols && byItem === rows * cols]
  // Without elements a place may be beyond the array.
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

/** Puts a row-major matrix into an array of its own, `Type` if it is given: `shift` elements after its begin, `tail` before its end. */
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

/** The same in a layout that is drawn. */
export function place(random, source, Type) {
  const name = random.chance(0.4) ? 'row-major' : random.pick(layoutNames)
  const shift = random.pick([0, 0, 0, 1, 3, 16])
  return placeAs(name, source, { Type, shift, tail: random.integer(0, 2) })
}

/** The elements in row-major order of what `place` or a download made. */
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

/** Whether two arrays have the same bits. */
export const sameBits = (one, other) => bytesOf(one).equals(bytesOf(other))

/** Whether anything but its elements has changed since `before`, a copy of the whole array. */
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
