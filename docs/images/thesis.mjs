/**
 * Drawings of the thesis' Figures 1.1, 3.10 and 3.11, for docs/thesis.md: node docs/images/thesis.mjs NAME > docs/images/NAME.svg
 */
import { arrow, box, line, picture, text } from '../../examples/drawing.mjs'

const middle = (x, y, content, weight = 'normal', size = 12) =>
  text(x, y, content, { anchor: 'middle', weight, size })

/** Figure 1.1: the memories of a GPU, with the sizes of Table 1.2. */
function memories() {
  const multiprocessor = (x, name) => [
    box(x, 24, 210, 170),
    middle(x + 105, 44, name, 'bold'),
    box(x + 15, 54, 180, 28),
    middle(x + 105, 72, '128 CUDA cores'),
    box(x + 15, 90, 180, 28, { shaded: true }),
    middle(x + 105, 108, '65536 registers of 32 bits'),
    box(x + 15, 126, 180, 28, { shaded: true }),
    middle(x + 105, 144, 'shared memory, 96 KiB'),
    box(x + 15, 160, 180, 24),
    middle(x + 105, 176, 'L1 and texture cache'),
    arrow(x + 105, 222, x + 105, 196),
  ]
  return picture(760, 330, 'The memories of a GPU of the Maxwell or Pascal generation', [
    ...multiprocessor(20, 'multiprocessor 0'),
    ...multiprocessor(250, 'multiprocessor 1'),
    middle(500, 112, '…', 'bold', 20),
    ...multiprocessor(530, 'multiprocessor 15, 23 or 27'),
    box(20, 224, 720, 30),
    middle(380, 243, 'L2 cache'),
    arrow(380, 280, 380, 256),
    box(20, 282, 720, 30, { shaded: true }),
    middle(
      380,
      301,
      'global memory: DRAM, 4 to 12 GB; the slowest, and the only one that holds whole matrices',
    ),
  ])
}

/** Figure 3.10: with Transpose both operands are read along rows. */
function transposed() {
  const cell = 26
  const matrix = (x, y, rows, cols, strong) =>
    Array.from({ length: rows * cols }, (_, index) => {
      const [row, col] = [Math.floor(index / cols), index % cols]
      return box(x + col * cell, y + row * cell, cell, cell, { shaded: strong(row, col) })
    })
  const tile = (x, name) => [
    box(x, 214, 130, 28, { shaded: true }),
    middle(x + 65, 232, `shared tile of ${name}`),
    arrow(x + 65, 244, x + 65, 272),
  ]
  return picture(760, 330, 'The operands of the product with A transposed', [
    middle(84, 28, 'A: M × K', 'bold'),
    ...matrix(32, 40, 6, 4, (row, col) => row < 3 && col < 2),
    arrow(150, 92, 214, 92, { strong: true }),
    middle(182, 78, 'a pass of'),
    middle(182, 112, 'its own'),
    middle(304, 28, 'A transposed: K × M', 'bold'),
    ...matrix(226, 40, 4, 6, (row, col) => row < 2 && col < 3),
    middle(560, 28, 'B: K × N', 'bold'),
    ...matrix(456, 40, 4, 8, (row, col) => row < 2 && col < 4),
    text(226, 168, 'Both tiles are S rows of a matrix now: neighbouring threads', { size: 12 }),
    text(226, 184, 'load neighbouring elements of A, as they do of B.', { size: 12 }),
    arrow(265, 190, 265, 212),
    arrow(640, 148, 640, 212),
    ...tile(200, 'A'),
    ...tile(575, 'B'),
    box(200, 274, 505, 28, { shaded: true }),
    middle(452, 292, 'registers of the threads, X of A and Y of B for each step'),
  ])
}

/** Figure 3.11: the instances of a batch are the third dimension of the grid. */
function instances() {
  const cell = 34
  const layer = (index, name) => {
    const [x, y] = [150 + 60 * index, 150 - 44 * index]
    return [
      ...Array.from({ length: 12 }, (_, at) =>
        box(x + (at % 4) * cell, y + Math.floor(at / 4) * cell, cell, cell, { shaded: index === 0 }),
      ),
      text(x + 4 * cell + 10, y + 3 * cell - 6, name, { size: 12 }),
    ]
  }
  return picture(800, 300, 'Several products in one launch', [
    // The last one is behind the others.
    ...layer(2, 'product Ninst − 1'),
    ...layer(1, 'product 1'),
    ...layer(0, 'product 0'),
    middle(218, 276, 'GS_j blocks'),
    text(50, 206, 'GS_i blocks', { size: 12 }),
    line(140, 130, 250, 50),
    text(64, 84, 'GS_k = Ninst', { size: 12, weight: 'bold' }),
    text(530, 110, 'A cell is a block of BS_i × BS_j threads.', { size: 12 }),
    text(530, 128, 'It computes X·BS_i × Y·BS_j results of', { size: 12 }),
    text(530, 146, 'the product with number blockIdx.z.', { size: 12 }),
    text(530, 176, 'The blocks of one small product leave', { size: 12 }),
    text(530, 194, 'multiprocessors idle; Ninst fill them.', { size: 12 }),
  ])
}

const drawings = { memories, 'a-transposed': transposed, instances }
console.log(drawings[process.argv[2]]().trimEnd())
