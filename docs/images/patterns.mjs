/** The patterns of the thesis: which results of a block's tile of C one thread computes. For docs/thesis.md. */
import { box, picture, text } from '../../examples/drawing.mjs'

/** Blocks of 4 × 4 threads, each with 4 × 4 results. */
const [X, BS] = [4, 4]
const side = X * BS
const cell = 12

/** The thread that computes this row (or column): as `Patch::line` of native/lab/thesis/mpmml_operand.cuh the other way round. */
const threadOf = (row, sub) => Math.floor(row / sub) % BS

function drawn(left, name, sub) {
  const cells = Array.from({ length: side * side }, (_, index) => {
    const [row, col] = [Math.floor(index / side), index % side]
    const [i, j] = [threadOf(row, sub), threadOf(col, sub)]
    return box(left + col * cell, 60 + row * cell, cell, cell, {
      strong: i === 1 && j === 2,
      shaded: (i + j) % 2 === 0,
    })
  })
  const middle = left + (side * cell) / 2
  return [
    text(middle, 28, name, { anchor: 'middle', weight: 'bold' }),
    text(middle, 46, `Sub_X = Sub_Y = ${sub}`, { anchor: 'middle', size: 12 }),
    ...cells,
  ]
}

const parts = [
  ...drawn(24, 'block', 4),
  ...drawn(264, 'block-cyclic', 2),
  ...drawn(504, 'cyclic', 1),
  text(
    24,
    280,
    'The tile of C of a block of 4 × 4 threads with X = Y = 4. Strong: the 16 results of the thread (1, 2).',
    {
      size: 12,
    },
  ),
]
console.log(picture(720, 296, 'The patterns block, block-cyclic and cyclic', parts).trimEnd())
