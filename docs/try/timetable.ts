/** The cycle mean of a timetable: how often what waits for each other can repeat. */
import { criticalGraph, eigenvectors, maximumCycleMean, waitsFor } from 'mpmml/algebra'
import { html, shown, table } from './dom.js'
import { drawNetwork, edgeLines, notDrawn, placesOf, readEdges } from './network.js'
import type { Tool } from './tool.js'

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
import { parseEdgeCsv } from 'mpmml/graph'

const text = 'Airport,Centre,14\\nCentre,Airport,16\\nCentre,Centre,12'
const { nodes, keys, from, to, weight } = parseEdgeCsv(text, 'waits', { keys: true })
const best = await maximumCycleMean({ nodes, from, to, weight })
console.log(best.value, best.cycle.map((node) => keys[node])) // 15 [ 'Airport', 'Centre' ]`,
  textOf: edgeLines,
  async answer({ waits }, signal) {
    const graph = readEdges(waits!)
    const { keys, nodes, from, to, weight } = graph
    const edges = { nodes, from, to, weight }
    const best = await maximumCycleMean(edges, { signal })
    const places = placesOf(graph)
    if (best === null) {
      return (width) => [
        html(
          'p',
          { class: 'answer' },
          'Nothing waits for itself in a circle, so all of it can repeat as often as you like.',
        ),
        places &&
          drawNetwork(
            graph,
            places,
            { nodes: new Set(), edges: new Set() },
            'The graph, without circuits',
            width,
          ),
      ]
    }
    const critical = await criticalGraph(edges, { signal })
    const spectrum = await eigenvectors(waitsFor(edges), { signal })
    const marks = { nodes: new Set(critical!.nodes), edges: new Set(critical!.edges) }
    const circuit = [...best.cycle, best.cycle[0]!].map((node) => keys[node]).join(' → ')
    const departures = spectrum!.vectors[0]!.values
    const least = Math.min(...departures.filter(Number.isFinite))
    const { value, edges: taken } = best
    const sum = taken.map((edge) => shown(weight[edge]!)).join(' + ')
    return (width) => [
      html(
        'p',
        { class: 'answer' },
        'It can repeat every ',
        html('strong', {}, shown(value)),
        ' minutes, and no sooner.',
      ),
      html(
        'p',
        {},
        `The circuit that decides it: ${circuit}, which takes ${sum} in ${taken.length} ${taken.length === 1 ? 'period' : 'periods'}.`,
      ),
      places
        ? drawNetwork(graph, places, marks, `The graph; the circuit ${circuit} decides`, width)
        : html('p', {}, notDrawn(graph)),
      table(
        'A timetable with this period',
        ['departure', 'minute'],
        keys.map((key, node) => {
          const time = departures[node]! - least
          return [key, Number.isFinite(time) ? shown(time) : 'at any time']
        }),
        (node) => marks.nodes.has(node),
      ),
    ]
  },
}
