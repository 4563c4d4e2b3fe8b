/** The tiles of a product: C is divided among blocks of threads, and a block's tile among its threads. For docs/thesis.md. */
import { box, line, picture, text } from '../../examples/drawing.mjs'

const small = (x, y, content) => text(x, y, content, { anchor: 'middle', size: 12 })
const title = (x, y, content) => text(x, y, content, { anchor: 'middle', weight: 'bold' })

/** A square of cells, some of them marked. */
function grid(left, top, side, count, mark) {
  const cell = side / count
  return Array.from({ length: count * count }, (_, index) => {
    const [row, col] = [Math.floor(index / count), index % count]
    return box(left + col * cell, top + row * cell, cell, cell, mark(row, col))
  })
}

// The matrices: A to the left of C, B above it.
const matrices = [
  title(150, 22, 'the product'),
  small(54, 150, 'A'),
  box(40, 160, 60, 160),
  box(40, 200, 60, 40, { shaded: true }),
  box(60, 200, 20, 40, { strong: true }),
  small(222, 60, 'B'),
  box(110, 80, 160, 70),
  box(150, 80, 40, 70, { shaded: true }),
  box(150, 104, 40, 22, { strong: true }),
  ...grid(110, 160, 160, 4, (row, col) => ({ shaded: row === 1 && col === 1 })),
  small(190, 338, 'C'),
  small(70, 338, 'K →'),
]

const threads = [
  title(410, 22, 'the tile of C of a block'),
  ...grid(330, 160, 160, 4, (row, col) => ({ strong: row === 2 && col === 1 })),
  small(410, 338, 'BS_i × BS_j threads'),
  line(190, 200, 330, 160, { faint: true }),
  line(190, 240, 330, 320, { faint: true }),
  small(410, 150, 'BS_j · Y columns, BS_i · X rows'),
]

const results = [
  title(640, 22, 'the tile of a thread'),
  ...grid(560, 160, 160, 4, () => ({ shaded: true })),
  small(640, 338, 'X × Y results in registers'),
  line(410, 240, 560, 160, { faint: true }),
  line(410, 280, 560, 320, { faint: true }),
]

const steps = [
  text(330, 70, 'For every S columns of A and rows of B (strong), the block takes', { size: 12 }),
  text(330, 88, 'both tiles into shared memory, and adds their steps.', { size: 12 }),
]

const parts = [...matrices, ...steps, ...threads, ...results]
console.log(picture(760, 356, 'The tiles of a product, from the matrix to a thread', parts).trimEnd())
