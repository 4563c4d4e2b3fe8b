/** Reads graphs from lines of edges, and draws them. */
import { type NamedGraph, type ParseGraphOptions, parseGraph } from 'mpmml/graph'
import { cellsOf, InputError, reading, textIn } from './csv.js'
import { html, picture, shown, svg } from './dom.js'
import type { Steps } from './slices.js'

/** Limits of a drawing. Larger graphs would be illegible. */
const MAX_DRAWN = 80
const MAX_DRAWN_EDGES = 400
const MAX_LINES = 20_000
/** Limit of the length of the first line, in characters. */
const MAX_LETTERS = 10_000

const formats = new Map<string, ParseGraphOptions['format']>([
  ['graphml', 'graphml'],
  ['gr', 'dimacs'],
  ['mtx', 'matrix-market'],
])

const tooMany = (edges: number) =>
  new InputError(`These are ${edges} edges, and this page takes ${MAX_LINES}: the library takes more.`)

/** Cache of the last graph, because each change of a field reads the edges several times. */
let last: { text: string; graph: NamedGraph } | undefined

export function readEdges(text: string): NamedGraph {
  if (last?.text !== text) last = { text, graph: parseEdges(text) }
  return last.graph
}

function parseEdges(text: string): NamedGraph {
  const graph = reading(() => parseGraph(text, { format: 'csv', keys: true, name: 'the edges' }))
  if (graph.weight.length === 0) throw new InputError('Enter a line for each edge: from, to, weight.')
  if (graph.weight.length > MAX_LINES) throw tooMany(graph.weight.length)
  // Float64 weights, because sums of int32 could overflow.
  return { ...graph, weight: Float64Array.from(graph.weight) }
}

/** Message for edges without weights. */
export const weightless = (text: string): Node | false =>
  cellsOf(text.slice(0, text.indexOf('\n', MAX_LETTERS) + 1 || undefined)).at(0)?.cells.length === 2 &&
  html('p', { class: 'hint' }, 'The edges have no weights: each weighs 1.')

/** Converts a file of edges to lines of CSV. */
export async function edgeLines(file: File): Promise<string> {
  const text = await textIn(file)
  if (/\.(csv|tsv|txt)$/i.test(file.name)) return text
  const format = formats.get(/\w*$/.exec(file.name.toLowerCase())![0])
  if (!format) throw new InputError(`${file.name}: expected .csv, .tsv, .txt, .graphml, .gr or .mtx.`)
  const read = reading(() => parseGraph(text, { format, name: file.name }))
  if (read.weight.length > MAX_LINES) throw tooMany(read.weight.length)
  const keys = 'keys' in read ? (read as NamedGraph).keys : undefined
  // Nodes without names, in .gr and .mtx files, are numbered from 1.
  const name = (node: number) => (keys ? `"${keys[node]!.replaceAll('"', '""')}"` : `${node + 1}`)
  return Array.from(
    read.weight,
    (weight, edge) => `${name(read.from[edge]!)},${name(read.to[edge]!)},${weight}`,
  ).join('\n')
}

/** Positions of the nodes, from 0 to 1. */
export type Places = readonly { x: number; y: number }[]

/**
 * Computes a force-directed layout, in which edges attract and nodes repel each other (T. Fruchterman, E.
 * Reingold, Graph drawing by force-directed placement, 1991). Nodes start on a circle, so that the layout is
 * deterministic.
 */
export function* placesOf({ keys, from, to }: NamedGraph): Steps<Places | null> {
  const nodes = keys.length
  if (nodes > MAX_DRAWN || from.length > MAX_DRAWN_EDGES) return null
  const at = keys.map((_, node) => {
    const angle = (2 * Math.PI * node) / nodes - Math.PI / 2
    return { x: Math.cos(angle), y: Math.sin(angle) }
  })
  const spacing = 1.6 / Math.sqrt(nodes || 1)
  for (let heat = 0.3; heat > 0.002; heat *= 0.98) {
    const push = at.map(() => ({ x: 0, y: 0 }))
    const move = (a: number, b: number, force: (distance: number) => number) => {
      const [dx, dy] = [at[b]!.x - at[a]!.x, at[b]!.y - at[a]!.y]
      const distance = Math.hypot(dx, dy) || 1e-3
      const share = force(distance) / distance
      push[a]!.x += dx * share
      push[a]!.y += dy * share
      push[b]!.x -= dx * share
      push[b]!.y -= dy * share
    }
    for (let a = 0; a < nodes; a++) {
      for (let b = a + 1; b < nodes; b++) move(a, b, (distance) => -(spacing ** 2) / distance)
    }
    for (let edge = 0; edge < from.length; edge++) {
      if (from[edge] !== to[edge]) move(from[edge]!, to[edge]!, (distance) => distance ** 2 / spacing)
    }
    at.forEach((place, node) => {
      const { x, y } = push[node]!
      const length = Math.hypot(x, y) || 1
      place.x += (x / length) * Math.min(length, heat)
      place.y += (y / length) * Math.min(length, heat)
    })
    // Each step processes at most 3160 pairs of nodes and 400 edges.
    yield
  }
  const range = (values: number[]) => [Math.min(...values), Math.max(...values)] as const
  const [left, right] = range(at.map(({ x }) => x))
  const [top, bottom] = range(at.map(({ y }) => y))
  const within = (value: number, least: number, most: number) =>
    most > least ? (value - least) / (most - least) : 0.5
  return at.map(({ x, y }) => ({ x: within(x, left, right), y: within(y, top, bottom) }))
}

/** Critical nodes and edges, which are drawn bold. `bothWays` means that edges have no direction. */
export interface Marks {
  readonly nodes: ReadonlySet<number>
  readonly edges: ReadonlySet<number>
  readonly bothWays?: boolean
}

export function drawNetwork(
  graph: NamedGraph,
  places: Places,
  marks: Marks,
  label: string,
  width: number,
): SVGSVGElement {
  const { keys, from, to, weight } = graph
  const height = Math.round(Math.min(Math.max(width * 0.75, 320), 480))
  const margin = 34
  const at = places.map(({ x, y }) => ({
    x: margin + x * (width - 2 * margin),
    y: margin + y * (height - 2 * margin),
  }))
  const opposite = new Set(marks.bothWays ? [] : Array.from(from, (node, edge) => `${to[edge]} ${node}`))
  const order = Array.from(from.keys()).sort(
    (a, b) => Number(marks.edges.has(a)) - Number(marks.edges.has(b)),
  )
  const lines: SVGElement[] = []
  const weights: SVGElement[] = []
  /**
   * Number of each node's edges that lead down, minus the number that lead up. The node's name is on the side
   * with fewer edges.
   */
  const downwards = keys.map(() => 0)
  for (const edge of order) {
    const strong = marks.edges.has(edge) ? ' strong' : ''
    const [tail, head] = [from[edge]!, to[edge]!]
    const [a, b] = [at[tail]!, at[head]!]
    const write = (x: number, y: number) =>
      weights.push(svg('text', { class: `weight${strong}`, x, y: y + 4 }, shown(weight[edge]!)))
    if (tail === head) {
      lines.push(svg('circle', { class: `edge${strong}`, cx: a.x, cy: a.y - 20, r: 12 }))
      write(a.x, a.y - 34)
      downwards[tail]! -= from.length
      continue
    }
    downwards[tail]! += Math.sign(b.y - a.y)
    downwards[head]! += Math.sign(a.y - b.y)
    // Opposite edges between two nodes are drawn as separate curves.
    const [dx, dy] = [b.x - a.x, b.y - a.y]
    const length = Math.hypot(dx, dy) || 1
    const bend = opposite.has(`${tail} ${head}`) ? Math.min(32, length / 4) : 0
    const middle = { x: (a.x + b.x) / 2 - (dy / length) * bend, y: (a.y + b.y) / 2 + (dx / length) * bend }
    const [ex, ey] = [b.x - middle.x, b.y - middle.y]
    const rest = Math.hypot(ex, ey) || 1
    const gap = marks.bothWays ? 0 : 12
    const tip = { x: b.x - (ex / rest) * gap, y: b.y - (ey / rest) * gap }
    const d = `M ${a.x} ${a.y} Q ${middle.x} ${middle.y} ${tip.x} ${tip.y}`
    lines.push(svg('path', { class: `edge${strong}`, d }))
    if (!marks.bothWays) {
      const [ux, uy] = [(ex / rest) * 8, (ey / rest) * 8]
      const points = `${tip.x + ux / 4},${tip.y + uy / 4} ${tip.x - ux - uy / 2},${tip.y - uy + ux / 2} ${tip.x - ux + uy / 2},${tip.y - uy - ux / 2}`
      lines.push(svg('polygon', { class: `tip${strong}`, points }))
    }
    write((a.x + 2 * middle.x + b.x) / 4, (a.y + 2 * middle.y + b.y) / 4)
  }
  const nodes = keys.map((key, node) => {
    const { x, y } = at[node]!
    const className = marks.nodes.has(node) ? 'node strong' : 'node'
    return svg('circle', { class: className, cx: x, cy: y, r: 9 }, svg('title', {}, key))
  })
  const names = keys.map((key, node) => {
    const { x, y } = at[node]!
    const [anchor, dx] = x < 60 ? ['start', -12] : x > width - 60 ? ['end', 12] : ['middle', 0]
    const short = key.length > 14 ? `${key.slice(0, 13)}…` : key
    return svg(
      'text',
      { class: 'name', x, dx, y: downwards[node]! > 0 ? y - 14 : y + 23, 'text-anchor': anchor },
      short,
    )
  })
  return picture(width, height, label, ...lines, ...weights, ...nodes, ...names)
}

export const notDrawn = (graph: NamedGraph) =>
  `${graph.keys.length} nodes and ${graph.weight.length} edges: too many to draw.`
