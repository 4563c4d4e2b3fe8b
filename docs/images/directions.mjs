/** The two ways in which an edge may point, for docs/scheduling.md. */
import { arrow, circle, picture, text } from '../../examples/drawing.mjs'

const node = (x, y, name) => [circle(x, y, 20), text(x, y + 5, name, { anchor: 'middle' })]

/** An arrow between circles, with a label above it. */
function edge(from, to, y, label) {
  const sign = Math.sign(to - from)
  return [
    arrow(from + 20 * sign, y, to - 22 * sign, y, { strong: true }),
    text((from + to) / 2, y - 10, label, { anchor: 'middle' }),
  ]
}

const width = 720
const parts = [
  text(width / 2, 28, 'B starts at least 5 after A', { anchor: 'middle', weight: 'bold' }),
  text(180, 62, 'jobs: earliestStarts, latestStarts', { anchor: 'middle' }),
  ...node(90, 110, 'A'),
  ...node(270, 110, 'B'),
  ...edge(90, 270, 110, '5'),
  text(180, 156, 'from: A, to: B, weight: 5', { anchor: 'middle' }),
  text(540, 62, 'matrices: trajectory, eigenvectors, …', { anchor: 'middle' }),
  ...node(450, 110, 'A'),
  ...node(630, 110, 'B'),
  ...edge(630, 450, 110, '5'),
  text(540, 156, 'element [B, A] is 5: B waits for A', { anchor: 'middle' }),
  text(width / 2, 190, 'reverseEdges makes the second from the first', { anchor: 'middle' }),
]

console.log(picture(width, 210, 'Which way an edge points', parts).trimEnd())
