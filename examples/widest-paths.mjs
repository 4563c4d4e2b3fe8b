/**
 * Finds the widest paths of a network: the capacity of a path is the capacity of its narrowest link. In
 * max-min, ⊕ selects the wider of two paths and ⊗ the narrower of two links.
 *
 *   node examples/widest-paths.mjs                               between all places
 *   node examples/widest-paths.mjs --from Dock --to Tower        one of them
 *   node examples/widest-paths.mjs -o network.svg                and a picture: the links that are used are strong
 *
 * The network is fictional. The capacity of its links, in Gbit/s, is equal in both directions.
 */
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { widestPaths } from 'mpmml/graph'
import { circle, line, picture, text } from './drawing.mjs'

const places = [
  { name: 'Dock', x: 80, y: 200 },
  { name: 'Yard', x: 230, y: 80 },
  { name: 'Mill', x: 230, y: 320 },
  { name: 'Hall', x: 400, y: 200 },
  { name: 'Gate', x: 560, y: 80 },
  { name: 'Park', x: 560, y: 320 },
  { name: 'Tower', x: 720, y: 200 },
]

const links = [
  ['Dock', 'Yard', 40],
  ['Dock', 'Mill', 100],
  ['Yard', 'Hall', 100],
  ['Mill', 'Hall', 40],
  ['Mill', 'Park', 10],
  ['Yard', 'Gate', 25],
  ['Hall', 'Gate', 10],
  ['Hall', 'Park', 100],
  ['Gate', 'Tower', 100],
  ['Park', 'Tower', 25],
  ['Park', 'Gate', 40],
]

const indexOf = (name) => {
  const index = places.findIndex((place) => place.name === name)
  if (index >= 0) return index
  throw new Error(`there is no place ${name}: choose ${places.map((place) => place.name).join(', ')}`)
}

const { values } = parseArgs({
  options: { from: { type: 'string' }, to: { type: 'string' }, output: { type: 'string', short: 'o' } },
})
const ends = links.flatMap(([a, b]) => [
  [a, b],
  [b, a],
])
const network = {
  nodes: places.length,
  from: ends.map(([from]) => indexOf(from)),
  to: ends.map(([, to]) => indexOf(to)),
  weight: links.flatMap(([, , width]) => [width, width]),
}
const sources = values.from === undefined ? places.map((_, node) => node) : [indexOf(values.from)]
const targets = values.to === undefined ? places.map((_, node) => node) : [indexOf(values.to)]
const { distances, path } = await widestPaths(network, { paths: true, sources, targets })

const used = new Set()
console.log('from   to     Gbit/s  path')
for (const [row, from] of sources.entries()) {
  for (const [column, to] of targets.entries()) {
    if (from === to) continue
    const width = distances.data[row * targets.length + column]
    const nodes = path(from, to)
    for (const [at, node] of nodes.slice(1).entries()) used.add(`${nodes[at]} ${node}`)
    const cells = [places[from].name.padEnd(5), places[to].name.padEnd(5), String(width).padStart(6)]
    console.log(`${cells.join('  ')}  ${nodes.map((node) => places[node].name).join(' → ')}`)
  }
}

function draw() {
  const parts = []
  for (const [a, b, width] of links) {
    const [from, to] = [indexOf(a), indexOf(b)]
    const strong = used.has(`${from} ${to}`) || used.has(`${to} ${from}`)
    const [p, q] = [places[from], places[to]]
    parts.push(line(p.x, p.y, q.x, q.y, { strong }))
    // The label is next to the middle of the link.
    const length = Math.hypot(q.x - p.x, q.y - p.y)
    const [x, y] = [
      (p.x + q.x) / 2 - (18 * (p.y - q.y)) / length,
      (p.y + q.y) / 2 - (18 * (q.x - p.x)) / length,
    ]
    parts.push(text(x, y + 4, width, { anchor: 'middle', weight: strong ? 'bold' : 'normal' }))
  }
  for (const { name, x, y } of places) {
    parts.push(circle(x, y, 26))
    parts.push(text(x, y + 4, name, { anchor: 'middle' }))
  }
  return picture(800, 400, 'Links of the widest paths, in Gbit/s', parts)
}

if (values.output) await writeFile(values.output, draw())
