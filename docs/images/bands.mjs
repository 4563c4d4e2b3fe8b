/** Triangles and bands: which elements belong to a matrix. For docs/products.md. */
import { box, picture, text } from '../../examples/drawing.mjs'

const size = 8
const cell = 16

const shown = [
  ["'upper'", [0, Infinity]],
  ["'strictly-lower'", [Infinity, -1]],
  ['{ band: [1, 1] }', [1, 1]],
  ['{ band: [-2, 5] }', [-2, 5]],
]

const parts = shown.flatMap(([name, [below, above]], index) => {
  const left = 24 + 176 * index
  const cells = Array.from({ length: size * size }, (_, place) => {
    const [i, j] = [Math.floor(place / size), place % size]
    const shaded = -below <= j - i && j - i <= above
    return box(left + j * cell, 44 + i * cell, cell, cell, { shaded })
  })
  return [text(left + (size * cell) / 2, 30, name, { anchor: 'middle', weight: 'bold' }), ...cells]
})
parts.push(
  text(24, 196, 'Element (i, j) belongs to a band [below, above] if −below ≤ j − i ≤ above.', { size: 12 }),
)
console.log(picture(704, 212, 'Triangles and bands', parts).trimEnd())
