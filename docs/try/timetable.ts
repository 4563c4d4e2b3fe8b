/**
 * Tool for the maximum cycle mean of a timetable: the shortest period with which departures that wait for
 * each other can repeat.
 */
import { criticalGraph, maximumCycleMean } from 'mpmml/algebra'
import type { NamedGraph } from 'mpmml/graph'
import { html, shown, table } from './dom.js'
import { drawNetwork, edgeLines, notDrawn, placesOf, readEdges, weightless } from './network.js'
import { forEachIndex, inSlices, type Steps } from './slices.js'
import { MAX_ROWS, type Tool } from './tool.js'

/**
 * Computes the earliest departures for a period: `to` departs at least `weight` after `from` of the previous
 * period. The iteration converges within `nodes` rounds if no circuit has a greater mean than the period.
 */
function* departuresOf({ nodes, from, to, weight }: NamedGraph, period: number): Steps<Float64Array> {
  const departures = new Float64Array(nodes)
  for (let round = 0, later = true; round < nodes && later; round++) {
    later = false
    yield* forEachIndex(from.length, (edge) => {
      const time = departures[from[edge]!]! + weight[edge]! - period
      if (time <= departures[to[edge]!]! + 1e-9) return
      departures[to[edge]!] = time
      later = true
    })
    yield
  }
  return departures
}

export const timetable: Tool = {
  id: 'timetable',
  title: 'Timetable',
  about:
    'Trains that wait for each other, machines that pass parts on: the slowest circuit decides how often all of it can repeat.',
  fields: [
    {
      name: 'waits',
      label: 'Who waits for whom',
      hint: 'A line for each: from, to, minutes. “To” departs at least so many minutes after “from” of the period before.',
      rows: 14,
    },
  ],
  example: {
    waits: `from,to,minutes
Airport,Centre,14
Centre,Airport,16
Centre,Harbour,9
Harbour,Centre,11
Harbour,Lakeside,7
Lakeside,Harbour,6
Centre,Centre,12
Lakeside,Airport,25`,
  },
  program: `import { maximumCycleMean } from 'mpmml/algebra'
import { parseGraph } from 'mpmml/graph'

const text = 'Airport,Centre,14\\nCentre,Airport,16\\nCentre,Centre,12'
const { nodes, keys, from, to, weight } = parseGraph(text, { format: 'csv', keys: true })
const best = await maximumCycleMean({ nodes, from, to, weight })
console.log(best.value, best.cycle.map((node) => keys[node])) // 15 [ 'Airport', 'Centre' ]`,
  textOf: edgeLines,
  async answer({ waits }, signal) {
    const graph = readEdges(waits!)
    const { keys, nodes, from, to, weight } = graph
    const edges = { nodes, from, to, weight }
    const best = await maximumCycleMean(edges, { signal })
    const places = await inSlices(placesOf(graph), signal)
    if (best === null || best.value <= 0) {
      const why = best ? 'No circuit takes any time' : 'Nothing waits for itself in a circle'
      return (width) => [
        html('p', { class: 'answer' }, `${why}, so all of it can repeat as often as you like.`),
        weightless(waits!),
        places && drawNetwork(graph, places, { nodes: new Set(), edges: new Set() }, 'The graph', width),
      ]
    }
    const critical = await criticalGraph(edges, { signal })
    const marks = { nodes: new Set(critical!.nodes), edges: new Set(critical!.edges) }
    const circuit = [...best.cycle, best.cycle[0]!].map((node) => keys[node]).join(' → ')
    const { numerator, denominator, value, edges: taken } = best
    const isShort = Number(shown(value)) === value || !Number.isInteger(numerator)
    const period = isShort ? shown(value) : `${shown(numerator)}/${denominator} ≈ ${shown(value)}`
    const departures = await inSlices(departuresOf(graph, value), signal)
    const sum = taken.map((edge) => shown(weight[edge]!)).join(' + ')
    return (width) => [
      html(
        'p',
        { class: 'answer' },
        'It can repeat every ',
        html('strong', {}, period),
        ' minutes, and no sooner.',
      ),
      weightless(waits!),
      html(
        'p',
        {},
        `The circuit that decides it: ${circuit}, which takes ${sum} in ${taken.length} ${taken.length === 1 ? 'period' : 'periods'}.`,
      ),
      places
        ? drawNetwork(graph, places, marks, `The graph; the circuit ${circuit} decides`, width)
        : html('p', {}, notDrawn(graph)),
      table(
        keys.length > MAX_ROWS
          ? `A timetable with this period, its first ${MAX_ROWS} departures`
          : 'A timetable with this period',
        ['departure', 'minute'],
        keys.slice(0, MAX_ROWS).map((key, node) => [key, shown(departures[node]!)]),
        (node) => marks.nodes.has(node),
      ),
    ]
  },
}
