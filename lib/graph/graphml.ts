/** Graphs in GraphML: their nodes and edges, and one number of each edge. */

import { show } from '../describe.js'
import { requireWithin } from '../files/memory.js'
import type { LineParser, TextReader } from '../files/text.js'
import { fromUtf8 } from '../host.js'
import { NamedEdges, type NamedGraph } from './named-edges.js'

/** Comments, declarations, and tags with their names, attributes and whether they are closed at once. */
const markup =
  /<(?:!--[\s\S]*?-->|!\[CDATA\[[\s\S]*?\]\]>|[!?][^>]*>|(\/?)([\w:.-]+)((?:[^>"']|"[^"]*"|'[^']*')*?)(\/?)>)/g
const attribute = /([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g
const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const decoded = (text: string) =>
  text.replace(/&(#x?[\da-f]+|\w+);/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return entities[name] ?? whole
    const hexadecimal = /^#x/i.test(name)
    return String.fromCodePoint(Number.parseInt(name.slice(hexadecimal ? 2 : 1), hexadecimal ? 16 : 10))
  })

interface Open {
  readonly from: string
  readonly to: string
  readonly directed: boolean
  weight: number | undefined
}

/** @param weight - the name of the attribute that is the weight. */
export function graphmlParser(
  name: string,
  weight = 'weight',
  maxBytes = Number.POSITIVE_INFINITY,
): LineParser<NamedGraph> {
  const edges = new NamedEdges<string>()
  let rest = ''
  let directed = true
  let isGraph = false
  /** The id that the file has for the attribute, and what edges have that lack it. */
  let key: string | undefined
  let usual = 1
  let open: Open | undefined
  /** Whose text is read: the weight's of an edge, or its default. */
  let reads: 'weight' | 'default' | undefined
  let inKey = false

  const number = (text: string, reader: TextReader) => {
    const value = text.trim() === '' ? Number.NaN : Number(decoded(text))
    return Number.isNaN(value) ? reader.fail(`the weight must be a number, but it is ${show(text)}`) : value
  }
  const required = (attributes: Map<string, string>, what: string, tag: string, reader: TextReader) =>
    attributes.get(what) ?? reader.fail(`<${tag}> has no attribute ${what}`)

  const starts: Record<string, (attributes: Map<string, string>, reader: TextReader) => void> = {
    graph(attributes) {
      isGraph = true
      directed = attributes.get('edgedefault') !== 'undirected'
    },
    key(attributes, reader) {
      const isOfEdges = ['edge', 'all', undefined].includes(attributes.get('for'))
      if (!isOfEdges || attributes.get('attr.name') !== weight) return
      key = required(attributes, 'id', 'key', reader)
      inKey = true
    },
    default() {
      if (inKey) reads = 'default'
    },
    node(attributes, reader) {
      edges.node(required(attributes, 'id', 'node', reader))
    },
    edge(attributes, reader) {
      const own = attributes.get('directed')
      open = {
        from: required(attributes, 'source', 'edge', reader),
        to: required(attributes, 'target', 'edge', reader),
        directed: own === undefined ? directed : own === 'true',
        weight: undefined,
      }
    },
    data(attributes) {
      if (open && key !== undefined && attributes.get('key') === key) reads = 'weight'
    },
    hyperedge(_, reader) {
      reader.fail('the graph has hyperedges, which are no edges from one node to another')
    },
  }
  const ends: Record<string, () => void> = {
    key() {
      inKey = false
    },
    edge() {
      if (!open) return
      const value = open.weight ?? usual
      edges.add(open.from, open.to, value)
      if (!open.directed && open.from !== open.to) edges.add(open.to, open.from, value)
      open = undefined
    },
  }

  /** Reads all tags that are complete in the text. */
  const take = (text: string, reader: TextReader) => {
    let last = 0
    for (const found of text.matchAll(markup)) {
      const [whole, closing, qualified, given, closed] = found
      const before = text.slice(last, found.index)
      last = found.index + whole.length
      reader.line += lines(before)
      const tag = qualified?.replace(/^.*:/, '')
      if (reads && tag !== undefined) {
        const value = number(before, reader)
        if (reads === 'default') usual = value
        else open!.weight = value
        reads = undefined
      }
      reader.line += lines(whole)
      if (tag === undefined) continue
      if (!closing) {
        const attributes = new Map<string, string>()
        for (const [, name, double, single] of given!.matchAll(attribute))
          attributes.set(name!, decoded(double ?? single!))
        starts[tag]?.(attributes, reader)
      }
      if (closing || closed) ends[tag]?.()
    }
    rest = text.slice(last)
    requireWithin(edges.bytes, maxBytes, name)
  }

  return {
    lines(reader) {
      const text = rest + fromUtf8(reader.bytes, reader.position, reader.end)
      reader.position = reader.end
      take(text, reader)
    },
    end(reader) {
      if (!isGraph) reader.fail('there is no <graph>: is this GraphML?')
      if (/<\w/.test(rest)) reader.fail('the file ends within a tag: it is not complete')
      return edges.end()
    },
  }
}

function lines(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++
  return count
}
