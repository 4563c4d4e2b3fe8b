/** Graphs in GraphML: their nodes and edges, and one number of each edge. */

import { show } from '../describe.js'
import type { LineParser, TextReader } from '../files/text.js'
import { fromUtf8 } from '../host.js'
import { NamedEdges, type NamedGraph } from './named-edges.js'

/**
 * What begins at a `<`: comments, declarations, and tags with their names, attributes and whether they are closed at once. But for
 * comments none has another `<` in it, so that no text is looked at again and again.
 */
const markup =
  /<(?:!--[\s\S]*?-->|!\[CDATA\[[\s\S]*?\]\]>|[!?][^<>]*>|(\/?)([\w:.-]+)((?:[^<>"']|"[^<"]*"|'[^<']*')*?)(\/?)>)/y
/** Whether what begins at a `<` may have others in it. */
const isComment = (text: string, at: number) =>
  text.startsWith('<!--', at) || text.startsWith('<![CDATA[', at)
const attribute = /([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g
/** The last character of Unicode. */
const MOST_CODE = 0x10ffff
const entities = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
])
/** Characters of a tag that messages show. */
const SHOWN = 60
/** Characters of a comment or a tag, and of the text before it. */
const LONGEST = 2 ** 24

/** What an object has of its own by a name that is a stranger's. */
const ownOf = <Value>(values: Record<string, Value>, name: string): Value | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined

/** What stands for no character stays as it is, as unknown names do. */
const decoded = (text: string) =>
  text.replace(/&(#x?[\da-f]+|\w+);/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return entities.get(name) ?? whole
    const hexadecimal = /^#x/i.test(name)
    const code = Number.parseInt(name.slice(hexadecimal ? 2 : 1), hexadecimal ? 16 : 10)
    return code <= MOST_CODE ? String.fromCodePoint(code) : whole
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
  const edges = new NamedEdges<string>(name, maxBytes)
  let rest = ''
  /** Of the graphs that are open, one within the other, whether their edges lead one way if they don't say it themselves. */
  const directed: boolean[] = []
  let isGraph = false
  /** The ids that the file has for the attribute: one for each of its types. */
  const keys = new Set<string>()
  /** What edges have that lack it. */
  let usual = 1
  let open: Open | undefined
  /** Whose text is read: the weight's of an edge, or its default. */
  let reads: 'weight' | 'default' | undefined
  let inKey = false

  const required = (attributes: Map<string, string>, what: string, tag: string, reader: TextReader) =>
    attributes.get(what) ?? reader.fail(`<${tag}> has no attribute ${what}`)

  const starts: Record<string, (attributes: Map<string, string>, reader: TextReader) => void> = {
    graph(attributes) {
      isGraph = true
      directed.push(attributes.get('edgedefault') !== 'undirected')
    },
    key(attributes, reader) {
      const isOfEdges = ['edge', 'all', undefined].includes(attributes.get('for'))
      if (!isOfEdges || attributes.get('attr.name') !== weight) return
      keys.add(required(attributes, 'id', 'key', reader))
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
        directed: own === undefined ? directed.at(-1) !== false : own === 'true',
        weight: undefined,
      }
    },
    data(attributes) {
      if (open && keys.has(attributes.get('key')!)) reads = 'weight'
    },
    hyperedge(_, reader) {
      reader.fail('the graph has hyperedges, which are no edges from one node to another')
    },
  }
  const ends: Record<string, () => void> = {
    graph() {
      directed.pop()
    },
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
    for (let at = text.indexOf('<'); at >= 0; at = text.indexOf('<', at)) {
      markup.lastIndex = at
      const found = markup.exec(text)
      if (!found) {
        const next = text.indexOf('<', at + 1)
        if (next < 0 || isComment(text, at)) break
        if (/[\w/]/.test(text[at + 1]!)) {
          reader.line += lines(text.slice(last, at))
          reader.fail(`a tag has no end: ${show(text.slice(at, Math.min(next, at + SHOWN)))}`)
        }
        at = next
        continue
      }
      const [whole, closing, qualified, given, closed] = found
      const before = text.slice(last, at)
      at += whole.length
      last = at
      reader.line += lines(before)
      const tag = qualified?.replace(/^.*:/, '')
      if (reads && tag !== undefined) {
        const value = reader.numberIn(decoded(before).trim(), 'the weight')
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
        ownOf(starts, tag)?.(attributes, reader)
      }
      if (closing || closed) ownOf(ends, tag)?.()
    }
    rest = text.slice(last)
    if (rest.length > LONGEST)
      reader.fail('a comment, a tag or a text has more than 2^24 characters: is this GraphML?')
  }

  return {
    // biome-ignore lint/correctness/useYield: a window is one step
    *lines(reader) {
      const text = rest + fromUtf8(reader.bytes, reader.position, reader.end)
      reader.position = reader.end
      take(text, reader)
    },
    *end(reader) {
      if (!isGraph) reader.fail('there is no <graph>: is this GraphML?')
      if (/<\w/.test(rest)) reader.fail('the file ends within a tag: it is not complete')
      return yield* edges.ending()
    },
  }
}

function lines(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++
  return count
}
