/** The four kinds of links between jobs, and the weights that they become, for docs/scheduling.md. */
import { arrow, box, line, picture, text } from '../../examples/drawing.mjs'

const [width, height] = [720, 330]

/** Two bars, A above B, and an arrow from an event of A to one of B, with a lag of 2. */
function link(left, top, name, [fromFinish, toFinish], weight) {
  const [takesA, takesB, lag, unit] = [5, 4, 2, 22]
  const event = (fromFinish ? takesA : 0) + lag
  const shift = event - (toFinish ? takesB : 0)
  const first = left + 20 + (shift < 0 ? -shift * unit : 0)
  const second = first + shift * unit
  const [x1, x2] = [first + (fromFinish ? takesA * unit : 0), first + event * unit]
  const [yA, yB] = [top + 42, top + 92]
  return [
    text(left, top + 14, name, { weight: 'bold' }),
    box(first, yA, takesA * unit, 20, { shaded: true }),
    text(first + 8, yA + 15, 'A, 5'),
    box(second, yB, takesB * unit, 20, { shaded: true }),
    text(second + 8, yB + 15, 'B, 4'),
    line(x1, yA + 20, x1, yA + 36, { strong: true }),
    line(x1, yA + 36, x2, yA + 36, { strong: true }),
    arrow(x2, yA + 36, x2, yB - 1, { strong: true }),
    text((x1 + x2) / 2, yA + 32, '2', { anchor: 'middle' }),
    text(left, top + 134, weight),
  ]
}

const parts = [
  ...link(20, 10, 'FS+2: B starts after the finish of A', [true, false], 'weight 5 + 2 = 7'),
  ...link(380, 10, 'SS+2: B starts after the start of A', [false, false], 'weight 2'),
  ...link(20, 170, 'FF+2: B finishes after the finish of A', [true, true], 'weight 5 + 2 − 4 = 3'),
  ...link(380, 170, 'SF+2: B finishes after the start of A', [false, true], 'weight 2 − 4 = −2'),
]

console.log(picture(width, height, 'The four kinds of links', parts).trimEnd())
