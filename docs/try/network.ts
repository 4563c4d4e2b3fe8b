/** Graphs as lines of edges, and their drawing. */
import { type NamedGraph, parseDimacs, parseEdgeCsv, parseGraphml, parseMatrixMarket } from 'mpmml/graph'
import { InputError } from './csv.js'
import { picture, shown, svg } from './dom.js'

/** More nodes than this would only be a knot. */
const MOST_DRAWN = 80
const MOST_LINES = 20_000

export function readEdges(text: string): NamedGraph {
  if (text.trim() === '') throw new InputError('Enter a line for each edge: from, to, weight.')
  return parseEdgeCsv(text, 'the edges', { keys: true })
}

/** A file of edges as lines of CSV. */
export async function edgeLines(file: File): Promise<string> {
  const text = await file.text()
  if (/\.(csv|tsv|txt)$/i.test(file.name)) return text
  const read = /\.graphml$/i.test(file.name)
    ? parseGraphml(text, file.name)
    : /\.gr$/i.test(file.name)
      ? parseDimacs(text, file.name)
      : /\.mtx$/i.test(file.name)
        ? parseMatrixMarket(text, file.name)
        : undefined
  if (!read) throw new InputError(`${file.name}: expected .csv, .tsv, .graphml, .gr or .mtx.`)
  if (read.weight.length > MOST_LINES) {
    throw new InputError(
      `${file.name} has ${read.weight.length} edges, and this page takes ${MOST_LINES}: the command line takes more.`,
    )
  }
  const keys = 'keys' in read ? (read as NamedGraph).keys : undefined
  const name = (node: number) => (keys ? `"${keys[node]!.replaceAll('"', '""')}"` : `${node}`)
  return Array.from(
    read.weight,
    (weight, edge) => `${name(read.from[edge]!)},${name(read.to[edge]!)},${weight}`,
  ).join('\n')
}

/** Where nodes are, from 0 to 1. */
export type Places = readonly { x: number; y: number }[]

/**
 * Places in which edges pull and nodes push each other (T. Fruchterman, E. Reingold, Graph drawing by force-directed placement, 1991). They start on a
 * circle, so that the same graph always looks the same.
 */
export function placesOf({ keys, from, to }: NamedGraph): Places | null {
  const nodes = keys.length
  if (nodes > MOST_DRAWN) return null
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
  }
  const range = (values: number[]) => [Math.min(...values), Math.max(...values)] as const
  const [left, right] = range(at.map(({ x }) => x))
  const [top, bottom] = range(at.map(({ y }) => y))
  const within = (value: number, least: number, most: number) =>
    most > least ? (value - least) / (most - least) : 0.5
  return at.map(({ x, y }) => ({ x: within(x, left, right), y: within(y, top, bottom) }))
}

/** What decides, which is drawn stronger; `bothWays`: edges have no direction. */
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
  const height = Math.round(Math.min(width * 0.75, 480))
  const margin = 34
  const at = places.map(({ x, y }) => ({
    x: margin + x * (width - 2 * margin),
    y: margin + y * (height - 2 * margin),
  }))
  const opposite = new Set(marks.bothWays ? [] : Array.from(from, (node, edge) => `${to[edge]} ${node}`))
  const order = Array.from(from.keys()).sort(
    (a, b) => Number(marks.edges.has(a)) - Number(marks.edges.has(b)),
  )
  const edges = order.flatMap((edge) => {
    const strong = marks.edges.has(edge) ? ' strong' : ''
    const [a, b] = [at[from[edge]!]!, at[to[edge]!]!]
    const text = (x: number, y: number) =>
      svg('text', { class: `weight${strong}`, x, y, 'text-anchor': 'middle' }, shown(weight[edge]!))
    if (a === b) {
      return [svg('circle', { class: `edge${strong}`, cx: a.x, cy: a.y - 20, r: 12 }), text(a.x, a.y - 35)]
    }
    // Two ways between the same nodes bend apart.
    const [dx, dy] = [b.x - a.x, b.y - a.y]
    const length = Math.hypot(dx, dy) || 1
    const bend = opposite.has(`${from[edge]} ${to[edge]}`) ? Math.min(24, length / 4) : 0
    const middle = { x: (a.x + b.x) / 2 - (dy / length) * bend, y: (a.y + b.y) / 2 + (dx / length) * bend }
    const [ex, ey] = [b.x - middle.x, b.y - middle.y]
    const rest = Math.hypot(ex, ey) || 1
    const gap = marks.bothWays ? 0 : 13
    const tip = { x: b.x - (ex / rest) * gap, y: b.y - (ey / rest) * gap }
    const [ux, uy] = [(ex / rest) * 8, (ey / rest) * 8]
    const halfway = { x: (a.x + 2 * middle.x + b.x) / 4, y: (a.y + 2 * middle.y + b.y) / 4 }
    return [
      svg('path', {
        class: `edge${strong}`,
        d: `M ${a.x} ${a.y} Q ${middle.x} ${middle.y} ${tip.x} ${tip.y}`,
      }),
      !marks.bothWays &&
        svg('polygon', {
          class: `tip${strong}`,
          points: `${tip.x + ux / 4},${tip.y + uy / 4} ${tip.x - ux - uy / 2},${tip.y - uy + ux / 2} ${tip.x - ux + uy / 2},${tip.y - uy - ux / 2}`,
        }),
      text(halfway.x - (dy / length) * 9, halfway.y + (dx / length) * 9 + 4),
    ]
  })
  const nodes = keys.flatMap((key, node) => {
    const { x, y } = at[node]!
    return [
      svg(
        'circle',
        { class: marks.nodes.has(node) ? 'node strong' : 'node', cx: x, cy: y, r: 9 },
        svg('title', {}, key),
      ),
      svg(
        'text',
        {
          x,
          y: y + 23,
          'text-anchor': x < 60 ? 'start' : x > width - 60 ? 'end' : 'middle',
          dx: x < 60 ? -12 : x > width - 60 ? 12 : 0,
        },
        key.length > 14 ? `${key.slice(0, 13)}…` : key,
      ),
    ]
  })
  return picture(width, height, label, ...edges, ...nodes)
}

export const notDrawn = (graph: NamedGraph) =>
  `${graph.keys.length} nodes and ${graph.weight.length} edges: too many to draw.`
