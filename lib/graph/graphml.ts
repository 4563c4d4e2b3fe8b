/** Parses graphs in GraphML: nodes by name, and edges with the attribute that contains the weight. */
import { formatAny, show } from '../describe.js'
import { newArray } from '../elements.js'
import { FileError } from '../errors.js'
import { isDecimal, refusalOf } from '../files/decimal.js'
import type { TextFeed } from '../files/line-feed.js'
import { assertWithinLimit } from '../files/memory.js'
import { PER_SLICE, type Steps } from '../graph-core/slices.js'
import { addon } from '../native.js'
import { NamedEdges, type NamedGraph } from './named-edges.js'
import type { Saxes } from './saxes.js'
import { chooseWeight, EdgeAttribute, isSurely, type PlacedText, weightOf } from './weight-attribute.js'
import { type XmlAttributes, type XmlHandler, XmlReader } from './xml.js'

/** Elements of GraphML, with their parent elements; '' for the document. */
const parents = new Map<string, readonly string[]>([
  ['graphml', ['']],
  ['key', ['graphml', 'graph']],
  ['default', ['key']],
  ['graph', ['graphml', 'node']],
  ['node', ['graph']],
  ['edge', ['graph']],
  ['hyperedge', ['graph']],
  ['locator', ['graph', 'node']],
  ['port', ['node', 'port']],
  ['data', ['graphml', 'graph', 'node', 'edge', 'port']],
  ['desc', ['graphml', 'key', 'graph', 'node', 'edge', 'port']],
])
/** Elements whose content is defined by users. */
const open = new Set(['data', 'default', 'desc'])
/** XML attributes of edges that GraphML defines. */
const ofEdges = new Set(['id', 'source', 'target', 'directed', 'sourceport', 'targetport'])
/** Element with the label that yEd draws at an edge. */
const LABEL = 'EdgeLabel'

/** Bytes per edge that count towards the memory limit. */
const BYTES_PER_EDGE = 16
const BYTES_PER_NAME = 64
const BYTES_PER_ATTRIBUTE = 256
/**
 * Limit of the number of attributes, above that of any real graph: processing one attribute takes
 * microseconds.
 */
const MAX_ATTRIBUTES = 1 << 15
const BYTES_PER_CHARACTER = 2

const directions = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

/** Parser of one GraphML document, which arrives in chunks. */
export class GraphmlParser implements TextFeed<NamedGraph>, XmlHandler {
  readonly #name: string
  readonly #wanted: string | null | undefined
  readonly #maxBytes: number
  readonly #xml: XmlReader
  readonly #edges = new NamedEdges<string>()
  /** Names of the open elements; '' for one of another namespace. */
  readonly #path: string[] = ['']
  /** Level of the open element whose content isn't GraphML; 0 for none. */
  #foreign = 0
  /** Namespace prefix of the document's elements, with its colon. */
  #prefix = ''
  /** Directions of the open graphs, one within the other. */
  readonly #directed: (boolean | undefined)[] = []
  #graphs = 0
  /** Attributes of edges by id. */
  readonly #attributes = new Map<string, EdgeAttribute>()
  /** Ids of attributes that a <key> for edges names. */
  readonly #declared = new Set<string>()
  /** Whether an edge has the attribute that is certainly the weight, so that other attributes are ignored. */
  #isSure = false
  /** Attribute whose default or value is being read. */
  #key: EdgeAttribute | undefined
  #data: EdgeAttribute | undefined
  /** Number of edges in the list before the open edge; -1 if no edge is open. */
  #first = -1
  #hasNodes = false
  #count = 0
  /** Bytes of names and of values. */
  #bytes = 0
  /**
   * For each node index, the line of the first edge that refers to the node; 0 once the document has declared
   * the node.
   */
  readonly #lines: number[] = []

  /**
   * @param name - name of the document in errors.
   * @param weight - name of the edges' attribute with the weight; null for edges of weight 1.
   */
  constructor(name: string, saxes: Saxes, weight?: string | null, maxBytes = Number.POSITIVE_INFINITY) {
    this.#name = name
    this.#wanted = weight
    this.#maxBytes = maxBytes
    this.#xml = new XmlReader(name, saxes, this)
  }

  /** Parses the next characters of the document. */
  *characters(text: string): Steps<void> {
    for (const _ of this.#xml.write(text)) {
      assertWithinLimit(
        this.#bytes + BYTES_PER_EDGE * this.#count + BYTES_PER_ATTRIBUTE * this.#attributes.size,
        this.#maxBytes,
        this.#name,
      )
      yield
    }
  }

  *end(): Steps<NamedGraph> {
    this.#xml.end()
    if (this.#graphs === 0)
      this.#refuse('the document must have a <graph>, but it has none: is this GraphML?')
    const graph = yield* this.#edges.end()
    this.#assertDeclared(graph)
    yield
    return { ...graph, weight: yield* this.#weights(graph) }
  }

  open(qualified: string, attributes: XmlAttributes): void {
    const parent = this.#path.at(-1)!
    const level = this.#path.length
    if (this.#foreign > 0) {
      this.#path.push('')
      if (this.#first >= 0 && qualified.endsWith(LABEL)) this.#keep(this.#attributeOf(LABEL))
      return
    }
    if (level === 1) this.#prefix = /^[^:]*:/.exec(qualified)?.[0] ?? ''
    const tag = this.#tagOf(qualified)
    this.#path.push(tag)
    const allowed = parents.get(tag)
    if (allowed && !allowed.includes(parent)) {
      const parents = formatAny(allowed.map((name) => (name === '' ? 'the document' : `<${name}>`)))
      this.#fail(
        `<${tag}> must stand in ${parents}, but it stands in ${parent === '' ? 'the document' : `<${parent}>`}`,
      )
    }
    if (level === 1 && tag !== 'graphml') {
      this.#fail(`the document must be GraphML, but its first element is <${qualified}>`)
    }
    if (tag === '' || open.has(tag)) this.#foreign = level
    this.#start(tag, parent, attributes)
  }

  /** Returns the name of an element without its prefix; '' in another namespace. */
  #tagOf(qualified: string): string {
    const prefix = this.#prefix
    const isOwn = prefix === '' ? !qualified.includes(':') : qualified.startsWith(prefix)
    return isOwn ? qualified.slice(prefix.length) : ''
  }

  text(text: string): void {
    if (this.#data) this.#value(this.#data, text)
    this.#data = undefined
  }

  close(): void {
    const tag = this.#path.pop()
    if (this.#path.length === this.#foreign) this.#foreign = 0
    if (this.#foreign > 0) return
    if (tag === 'graph') this.#directed.pop()
    if (tag === 'key') this.#key = undefined
    if (tag === 'edge') this.#first = -1
  }

  #fail(problem: string, line?: number): never {
    return this.#xml.fail(problem, line)
  }

  /** Throws the error for a document that has been read to its end. */
  #refuse(problem: string): never {
    throw new FileError(`${this.#name}: ${problem}`)
  }

  #start(tag: string, parent: string, attributes: XmlAttributes): void {
    if (tag === 'edge') this.#startEdge(attributes)
    else if (tag === 'node') this.#startNode(this.#required(tag, attributes, 'id'))
    else if (tag === 'data' && parent === 'edge') {
      this.#keep(this.#attributeOf(this.#required(tag, attributes, 'key')))
    } else if (tag === 'graph') this.#startGraph(parent, attributes)
    else if (tag === 'key') this.#startKey(this.#required(tag, attributes, 'id'), attributes)
    else if (tag === 'default') this.#keep(this.#key)
    else if (tag === 'hyperedge') {
      this.#fail('an edge must lead from one node to another, but <hyperedge> joins several: leave it out')
    } else if (tag === 'locator') {
      this.#fail('the graph must stand in one file, but <locator> names another: put its content here')
    }
  }

  #required(tag: string, attributes: XmlAttributes, name: string): string {
    return attributes[name] ?? this.#fail(`<${tag}> must have the attribute ${name}, but it has none`)
  }

  #startGraph(parent: string, attributes: XmlAttributes): void {
    if (parent === 'graphml' && this.#graphs++ > 0) {
      this.#fail('the file must have one <graph>, but it has several: save each in a file of its own')
    }
    const { edgedefault } = attributes
    if (edgedefault !== undefined && edgedefault !== 'directed' && edgedefault !== 'undirected') {
      this.#fail(`edgedefault must be 'directed' or 'undirected', but it is ${show(edgedefault)}`)
    }
    this.#directed.push(edgedefault === undefined ? undefined : edgedefault === 'directed')
  }

  #startKey(id: string, attributes: XmlAttributes): void {
    const { for: domain, 'attr.name': name, 'attr.type': type } = attributes
    const isOfEdges = domain === undefined || domain === 'edge' || domain === 'all'
    const attribute = this.#attributeOf(id)
    if (isOfEdges) this.#key = attribute
    // One id may be declared for nodes and for edges.
    if (!isOfEdges && this.#declared.has(id)) return
    if (isOfEdges) this.#declared.add(id)
    attribute.name = name ?? id
    attribute.isBoolean = type === 'boolean'
  }

  #startNode(id: string): void {
    this.#hasNodes = true
    const before = this.#lines.length
    const node = this.#node(id)
    if (node < before && this.#lines[node] === 0) {
      this.#fail(
        `the id of a node must occur once, but ${show(id)} occurs again: give each node an id of its own`,
      )
    }
    this.#lines[node] = 0
  }

  #startEdge(attributes: XmlAttributes): void {
    const from = this.#required('edge', attributes, 'source')
    const to = this.#required('edge', attributes, 'target')
    const { directed } = attributes
    const own = directed === undefined ? undefined : directions.get(directed.trim())
    if (directed !== undefined && own === undefined) {
      this.#fail(`directed must be 'true' or 'false', but it is ${show(directed)}`)
    }
    const leads = own ?? this.#directed.at(-1)
    if (leads === undefined) {
      this.#fail(
        '<graph> must say in edgedefault what its edges are, but it has none: ' +
          'add edgedefault="undirected" (as NetworkX and igraph read it) or edgedefault="directed"',
      )
    }
    this.#first = this.#count
    const [first, last] = [this.#node(from), this.#node(to)]
    this.#add(first, last)
    if (!leads && first !== last) this.#add(last, first)
    for (const name in attributes) {
      if (ofEdges.has(name) || name.includes(':')) continue
      this.#value(this.#attributeOf(`@${name}`, name), attributes[name]!)
    }
  }

  #add(from: number, to: number): void {
    this.#edges.join(from, to, 1)
    this.#count++
  }

  /** Returns the number of a node. */
  #node(name: string): number {
    const node = this.#edges.node(name)
    if (node < this.#lines.length) return node
    this.#lines.push(this.#xml.line)
    this.#bytes += BYTES_PER_NAME + BYTES_PER_CHARACTER * name.length
    return node
  }

  #attributeOf(id: string, name?: string): EdgeAttribute {
    let attribute = this.#attributes.get(id)
    if (!attribute) {
      if (this.#attributes.size === MAX_ATTRIBUTES)
        this.#fail(
          `edges and nodes must have at most ${MAX_ATTRIBUTES} attributes, but ${show(id)} is one more`,
        )
      attribute = new EdgeAttribute(id, name)
      this.#attributes.set(id, attribute)
    }
    return attribute
  }

  #keep(attribute: EdgeAttribute | undefined): void {
    if (!attribute) return
    this.#data = attribute
    this.#xml.keepText()
  }

  /** Stores the text of an attribute: the value of the open edge, or the default of the open key. */
  #value(attribute: EdgeAttribute, text: string): void {
    if (this.#wanted === null) return
    const value = { text: text.trim(), line: this.#xml.line }
    if (this.#first < 0) {
      if (value.text !== '') attribute.fallback = value
      return
    }
    const isSure = isSurely(attribute.name, this.#wanted)
    if (this.#isSure && !isSure) return
    const before = attribute.bytes
    attribute.add(this.#first, this.#count, value)
    this.#bytes += attribute.bytes - before
    this.#isSure ||= isSure
  }

  /** Rejects edges to nodes that the document doesn't declare, unless it declares none. */
  #assertDeclared({ keys }: NamedGraph): void {
    if (!this.#hasNodes) return
    const node = this.#lines.findIndex((line) => line > 0)
    if (node < 0) return
    this.#fail(
      `an edge must join nodes of the file, but there is no <node> with the id ${show(keys[node])}: correct the name, or add the node`,
      this.#lines[node],
    )
  }

  *#weights(graph: NamedGraph): Steps<NamedGraph['weight']> {
    if (this.#wanted === null) return graph.weight
    const fail = (problem: string) => this.#refuse(problem)
    const attribute = chooseWeight(this.#attributes.values(), this.#wanted, fail)
    if (!attribute) return graph.weight
    const { name, wrong, fallback } = attribute
    if (wrong) this.#wrongNumber(wrong)
    const usual = fallback ? weightOf(fallback.text) : Number.NaN
    const weights = yield* attribute.values(this.#count, fail)
    let isIntegral = true
    for (let edge = 0; edge < weights.length; edge++) {
      if (edge % PER_SLICE === PER_SLICE - 1) yield
      let weight = weights[edge]!
      if (Number.isNaN(weight)) {
        if (!fallback) this.#noWeight(graph, edge, name)
        if (Number.isNaN(usual)) this.#wrongNumber(fallback)
        weight = usual
        weights[edge] = usual
      }
      if ((weight | 0) !== weight) isIntegral = false
    }
    yield
    const retained = newArray(addon.dataTypes.indexOf(isIntegral ? 'int32' : 'float64'), weights.length)
    retained.set(weights)
    return retained as NamedGraph['weight']
  }

  #noWeight({ keys, from, to }: NamedGraph, edge: number, name: string): never {
    const [source, target] = [from, to].map((nodes) => show(keys[nodes[edge]!]))
    return this.#refuse(
      `each edge must have ${show(name)}, the weight, but the edge from ${source} to ${target} has none: add it, or a <default> to its <key>`,
    )
  }

  #wrongNumber({ text, line }: PlacedText): never {
    if (text === '') this.#fail('the weight is missing', line)
    const problem = isDecimal(text) ? refusalOf(text) : `must be a number, but it is ${show(text)}`
    return this.#fail(`the weight ${problem}`, line)
  }
}
