/** Three products of the same size on a time line: of arrays, and of matrices that stay on the device. For docs/devices.md. */
import { box, line, picture, text } from '../../examples/drawing.mjs'
import { sets } from '../measured.mjs'

const [up, kernel, down] = ['until the operands are on the GPU', 'kernels', 'remaining download'].map(
  (column) => sets.levelCalls.at('used', column),
)
const products = 3
const arrays = Array.from({ length: products }, () => [up, kernel, down]).flat()
const resident = [up, ...Array.from({ length: products }, () => kernel), down]

const [left, right] = [120, 740]
const total = arrays.reduce((sum, ms) => sum + ms, 0)
const x = (ms) => left + ((right - left) * ms) / total

/** Boxes one after the other; kernels are strong. */
function lane(y, name, parts) {
  let at = 0
  const drawn = parts.map((ms) => {
    const part = box(x(at), y, x(at + ms) - x(at), 34, ms === kernel ? { strong: true } : { shaded: true })
    at += ms
    return part
  })
  return [
    text(left - 12, y + 21, name, { anchor: 'end', weight: 'bold' }),
    ...drawn,
    text(x(at) + 6, y + 21, `${at.toFixed(0)} ms`, { size: 12 }),
  ]
}

const ticks = Array.from({ length: Math.floor(total / 10) + 1 }, (_, index) => 10 * index)
const parts = [
  text(24, 28, 'Three products of 8192³, values from 0 to 15, one after the other', { weight: 'bold' }),
  ...ticks.flatMap((ms) => [
    line(x(ms), 48, x(ms), 166, { faint: true }),
    text(x(ms), 182, `${ms} ms`, { anchor: 'middle', size: 12 }),
  ]),
  ...lane(58, 'arrays', arrays),
  ...lane(116, 'resident', resident),
  box(left, 200, 14, 14, { strong: true }),
  text(left + 20, 212, `kernel, ${kernel} ms`, { size: 12 }),
  box(left + 150, 200, 14, 14, { shaded: true }),
  text(left + 170, 212, `copies: ${up} ms until both operands are on the GPU, ${down} ms for the result`, {
    size: 12,
  }),
]
console.log(picture(800, 230, 'Products of arrays and of resident matrices on a time line', parts).trimEnd())
