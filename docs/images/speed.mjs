// Draws the README's picture: node docs/images/speed.mjs > docs/images/speed.svg
//
// Only presentation attributes and a background of its own, no style sheet: so it looks the same in a browser, in
// librsvg and on a dark page.

import { sets } from '../measured.mjs'

const { products, reordered, peers } = sets
const RATE = 'rate of the instruction'
const ours = (row) => reordered.at(row, '8192³')
const theirs = (row, dtype) => [peers.label(row), peers.at(row, dtype)]

/** 10^12 operations per second of kernel time. */
const panels = [
  {
    title: 'int32',
    rate: products.at('int32', RATE),
    instruction: 'fused instruction',
    bars: [['MPMML', ours('int32')], theirs('thesis', 'int32'), theirs('tropical', 'int32')],
  },
  {
    title: 'int32, values that 16-bit sums are enough for',
    rate: products.at('half', RATE),
    instruction: 'fused instruction',
    bars: [['MPMML', ours('half')]],
  },
  {
    title: 'float32',
    rate: products.at('float32', RATE),
    instruction: 'addition and maximum',
    bars: [['MPMML', ours('float32')], theirs('tropical', 'float32')],
  },
]

const width = 800
const left = 290
const right = 740
const most = 80
const bar = { height: 20, pitch: 28 }
const colors = {
  page: '#ffffff',
  border: '#d0d7de',
  text: '#1f2328',
  muted: '#59636e',
  ours: '#0b5cad',
  other: '#9aa4af',
  rate: '#b3430a',
}

const x = (value) => Math.round(left + ((right - left) * value) / most)
const escaped = (text) => text.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`)

function text(at, y, content, { fill = colors.text, anchor = 'start', size = 13, weight = 'normal' } = {}) {
  return `<text x="${at}" y="${y}" fill="${fill}" text-anchor="${anchor}" font-size="${size}" font-weight="${weight}">${escaped(content)}</text>`
}

function line(x1, y1, x2, y2, stroke, thickness) {
  return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${stroke}" stroke-width="${thickness}"/>`
}

/** A panel whose title stands at `y`, and where the next one starts. */
function panel({ title, rate, instruction, bars }, y) {
  const top = y + 12
  const bottom = top + bars.length * bar.pitch
  const rows = bars.flatMap(([name, value], index) => {
    const middle = top + index * bar.pitch + bar.pitch / 2
    const ours = name === 'MPMML'
    return [
      text(left - 10, middle + 4.5, name, { anchor: 'end', weight: ours ? 'bold' : 'normal' }),
      `<rect x="${left}" y="${middle - bar.height / 2}" width="${x(value) - left}" height="${bar.height}" fill="${ours ? colors.ours : colors.other}"/>`,
      text(left + 10, middle + 4.5, value.toFixed(1), {
        fill: ours ? '#ffffff' : colors.text,
        weight: 'bold',
      }),
    ]
  })
  const drawn = [
    text(24, y, title, { weight: 'bold', size: 14 }),
    ...rows,
    line(x(rate), top - 4, x(rate), bottom + 2, colors.page, 4),
    line(x(rate), top - 4, x(rate), bottom + 2, colors.rate, 2),
    line(left, top - 2, left, bottom + 2, colors.muted, 1),
    text(x(rate) - 4, top - 7, `${instruction} ${rate}`, { fill: colors.rate, anchor: 'end', size: 12 }),
  ]
  return { drawn, end: bottom + 38 }
}

const title = 'Max-plus products of 8192 × 8192 matrices on one NVIDIA H200'
const drawn = [
  text(24, 36, title, { size: 17, weight: 'bold' }),
  text(
    24,
    58,
    'TOPS: 10¹² operations per second of kernel time. A step, one addition and one maximum, is two operations.',
    {
      fill: colors.muted,
    },
  ),
]
let y = 100
for (const one of panels) {
  const { drawn: part, end } = panel(one, y)
  drawn.push(...part)
  y = end
}
const notes = [
  'Lines: peak rate of the instructions on registers, without any memory. For integers that is __viaddmax_s32, which adds and',
  'compares at once, or its 16-bit form; for float32 an addition and a maximum. MPMML exceeds the line of integers because it',
  'computes some of the sums on the multiply-add units.',
]
for (const note of notes) {
  drawn.push(text(24, y, note, { fill: colors.muted, size: 12 }))
  y += 18
}

const height = y + 6
const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="Helvetica, Arial, 'DejaVu Sans', sans-serif" role="img" aria-label="${title}">
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="${colors.page}" stroke="${colors.border}"/>
${drawn.join('\n')}
</svg>
`
process.stdout.write(svg)
