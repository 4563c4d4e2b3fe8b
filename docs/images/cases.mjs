/** The four cases of MEMSEL_A and MEMSEL_B: through which memory the operands reach the registers. For docs/thesis.md. */
import { arrow, box, picture, text } from '../../examples/drawing.mjs'

const width = 180
const label = (x, y, content, weight = 'normal') =>
  text(x, y, content, { anchor: 'middle', size: 12, weight })

/** A case: two operands on their ways down from global memory. */
function drawn(left, [a, b]) {
  const way = (name, x, direct) => [
    label(x, 62, name),
    ...(direct
      ? [arrow(x, 98, x, 218, { strong: true })]
      : [arrow(x, 98, x, 144, { strong: true }), arrow(x, 172, x, 218, { strong: true })]),
  ]
  return [
    label(left + 80, 30, `case ${a}${b}`, 'bold'),
    box(left + 10, 70, 140, 28),
    label(left + 80, 88, 'global memory'),
    // An operand that is read directly passes beside shared memory.
    ...(a && b ? [] : [box(left + (a ? 58 : 10), 146, a || b ? 92 : 140, 26, { shaded: true })]),
    ...(a && b ? [] : [label(left + (a ? 104 : b ? 56 : 80), 163, 'shared')]),
    box(left + 10, 220, 140, 28, { shaded: true }),
    label(left + 80, 238, 'registers'),
    ...way('A', left + 35, a === 1),
    ...way('B', left + 125, b === 1),
  ]
}

const cases = [
  [0, 0],
  [0, 1],
  [1, 0],
  [1, 1],
]
const parts = [
  ...cases.flatMap((one, index) => drawn(20 + width * index, one)),
  text(
    20,
    280,
    'MEMSEL 0: all threads of a block copy a tile into shared memory, so each element is loaded once.',
    {
      size: 12,
    },
  ),
  text(20, 298, 'MEMSEL 1: each thread loads its elements from global memory by itself.', { size: 12 }),
]
console.log(picture(20 + 4 * width, 314, 'The four cases of MEMSEL', parts).trimEnd())
