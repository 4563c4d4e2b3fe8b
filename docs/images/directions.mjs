/** The two ways in which an edge may point, for docs/scheduling.md. */
import { circle, line, picture, text } from '../../examples/drawing.mjs'

const node = (x, y, name) => [circle(x, y, 20), text(x, y + 5, name, { anchor: 'middle' })]

/** An arrow between circles, with a label above it. */
function arrow(from, to, y, label) {
  const sign = Math.sign(to - from)
  const [start, end] = [from + 20 * sign, to - 22 * sign]
  const head = [end - 9 * sign, end - 9 * sign].map((x, i) =>
    line(end, y, x, y + (i === 0 ? -5 : 5), { strong: true }),
  )
  return [
    line(start, y, end, y, { strong: true }),
    ...head,
    text((from + to) / 2, y - 10, label, { anchor: 'middle' }),
  ]
}

const width = 720
const parts = [
  text(width / 2, 28, 'B starts at least 5 after A', { anchor: 'middle', weight: 'bold' }),
  text(180, 62, 'jobs: earliestStarts, latestStarts', { anchor: 'middle' }),
  ...node(90, 110, 'A'),
  ...node(270, 110, 'B'),
  ...arrow(90, 270, 110, '5'),
  text(180, 156, 'from: A, to: B, weight: 5', { anchor: 'middle' }),
  text(540, 62, 'matrices: trajectory, eigenvectors, …', { anchor: 'middle' }),
  ...node(450, 110, 'A'),
  ...node(630, 110, 'B'),
  ...arrow(630, 450, 110, '5'),
  text(540, 156, 'element [B, A] is 5: B waits for A', { anchor: 'middle' }),
  text(width / 2, 190, 'waitsFor makes the second from the first', { anchor: 'middle' }),
]

console.log(picture(width, 210, 'Which way an edge points', parts).trimEnd())
