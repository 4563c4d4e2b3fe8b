/** The product of the README as a graph: starts, stations and ends. */
import { circle, line, picture, text } from '../../examples/drawing.mjs'

const a = [
  [1, 6, 2],
  [8, 3, 4],
]
const b = [
  [2, 5],
  [3, 3],
  [1, 6],
]
const [starts, stations, ends] = [110, 360, 610]
const y = (index, count) => 160 + 100 * (index - (count - 1) / 2)

/** An edge and its number, at a fifth of the edge, so that numbers don't meet. */
function edge(x1, y1, x2, y2, value, strong, at) {
  const [x, height] = [x1 + at * (x2 - x1), y1 + at * (y2 - y1)]
  return [
    line(x1, y1, x2, y2, { strong }),
    text(x, height - 6, value, { anchor: 'middle', weight: strong ? 'bold' : 'normal' }),
  ]
}

const nodes = (x, count, name) =>
  Array.from({ length: count }, (_, index) => [
    circle(x, y(index, count), 18, {}),
    text(x, y(index, count) + 5, `${name}${index}`, { anchor: 'middle' }),
  ]).flat()

const parts = [
  text(starts, 30, 'starts', { anchor: 'middle', weight: 'bold' }),
  text(stations, 30, 'stations', { anchor: 'middle', weight: 'bold' }),
  text(ends, 30, 'ends', { anchor: 'middle', weight: 'bold' }),
  ...a.flatMap((row, i) =>
    row.flatMap((value, k) => edge(starts, y(i, 2), stations, y(k, 3), value, i === 0 && k === 1, 0.2)),
  ),
  ...b.flatMap((row, k) =>
    row.flatMap((value, j) => edge(stations, y(k, 3), ends, y(j, 2), value, k === 1 && j === 0, 0.8)),
  ),
  ...nodes(starts, 2, 'i'),
  ...nodes(stations, 3, 'k'),
  ...nodes(ends, 2, 'j'),
  text(360, 314, 'C[0, 0] = max(1 + 2, 6 + 3, 2 + 1) = 9', { anchor: 'middle' }),
]

console.log(picture(720, 330, 'The longest ways from starts over stations to ends', parts).trimEnd())
