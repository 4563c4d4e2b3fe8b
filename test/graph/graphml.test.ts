/** GraphML of programs and people: names, directions, weights, and rejected documents. */
import { writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import * as saxes from 'saxes'
import { describe, expect, it } from 'vitest'
import { StrictDecoder } from '../../lib/files/encoding.js'
import { GraphmlParser } from '../../lib/graph/graphml.js'
import { type NamedGraph, parseGraph, readGraph, shortestPaths } from '../../lib/graph.js'
import { atOnce } from '../../lib/graph-core/slices.js'
import { coded } from '../support/coded.js'
import { useFolder } from '../support/folder.js'
import { Random } from '../support/generators.js'

const NODES = '<node id="a"/><node id="b"/><node id="c"/>'
/** A document with the nodes a, b and c. */
const graphml = (inner: string, head = '', edgedefault = 'directed') =>
  `<?xml version="1.0"?>\n<graphml>${head}<!-- <node id="no"/> -->\n<graph id="G" edgedefault="${edgedefault}">\n${NODES}${inner}\n</graph></graphml>`
const key = (id: string, name: string, more = 'for="edge" attr.type="double"', inner = '') =>
  `<key id="${id}" attr.name="${name}" ${more}>${inner}</key>`
const edge = (from: string, to: string, inner = '', more = '') =>
  `<edge source="${from}" target="${to}" ${more}>${inner}</edge>`
const data = (id: string, text: string | number) => `<data key="${id}">${text}</data>`
const parse = (content: string | Uint8Array, options: { weight?: string | null } = {}) =>
  parseGraph(content, { format: 'graphml', ...options, name: 'g' })
/** Edges as strings: from, to and weight. */
const edgesOf = ({ keys, from, to, weight }: NamedGraph) =>
  Array.from(weight, (value, at) => `${keys[from[at]!]}>${keys[to[at]!]}:${value}`)
const read = (inner: string, head?: string, options?: { weight?: string | null }) =>
  edgesOf(parse(graphml(inner, head), options))

describe('GraphML', () => {
  it('keeps the names of nodes, in the order of the document', () => {
    const ids = ['11', '48', '007', 'New York', 'b &amp; c', '&#233;&#x1F600;', '__proto__', ' x ']
    const text = `<graphml><graph edgedefault="directed">${ids.map((id) => `<node id='${id}'/>`).join('\n')}
      <edge source="11" target="48"/><edge source="New York" target="007"/></graph></graphml>`
    const graph = parse(text)
    expect(graph.keys).toEqual(['11', '48', '007', 'New York', 'b & c', 'é😀', '__proto__', ' x '])
    expect(edgesOf(graph)).toEqual(['11>48:1', 'New York>007:1'])
  })

  it('takes names from edges if no node is declared', () => {
    const text = '<graphml><graph edgedefault="directed"><edge source="x" target="y"/></graph></graphml>'
    expect(edgesOf(parse(text))).toEqual(['x>y:1'])
  })

  it.each([
    ['directed', 'directed="true"', ['a>b:1']],
    ['directed', 'directed="1"', ['a>b:1']],
    ['directed', 'directed="false"', ['a>b:1', 'b>a:1']],
    ['directed', "directed=' 0 '", ['a>b:1', 'b>a:1']],
    ['undirected', '', ['a>b:1', 'b>a:1']],
    ['undirected', 'directed="true"', ['a>b:1']],
    ['undirected', 'directed="1"', ['a>b:1']],
  ])('determines directions by edgedefault %s and %j', (edgedefault, own, expected) => {
    expect(edgesOf(parse(graphml(edge('a', 'b', '', own), '', edgedefault)))).toEqual(expected)
  })

  it('counts an undirected self-loop once, with its weight', () => {
    const inner = edge('a', 'a', data('w', 4)) + edge('a', 'b', data('w', 5))
    const graph = parse(graphml(inner, key('w', 'weight'), 'undirected'))
    expect(edgesOf(graph)).toEqual(['a>a:4', 'a>b:5', 'b>a:5'])
  })

  it('reads edges of a graph within a node, with the directions of that graph', () => {
    const inner = `<node id="n"><graph edgedefault="undirected"><node id="n::x"/>${edge('n::x', 'n')}</graph></node>${edge('n::x', 'a')}`
    expect(read(inner)).toEqual(['n::x>n:1', 'n>n::x:1', 'n::x>a:1'])
  })

  it('reads elements with a namespace prefix, and ignores elements of other namespaces', () => {
    const text = `<g:graphml xmlns:g="http://graphml.graphdrawing.org/xmlns" xmlns:y="y"><g:key id="w" for="edge" attr.name="weight"/>
      <y:graph/><g:graph edgedefault="directed"><g:node id="a"><g:data key="d"><y:node/><node/></g:data><g:port name="N"/></g:node>
      <g:node id="b"/><g:edge source="a" sourceport="N" target="b"><g:data key="w">3</g:data></g:edge></g:graph></g:graphml>`
    expect(edgesOf(parse(text))).toEqual(['a>b:3'])
  })

  it('ignores the content of elements of other namespaces, also without a prefix', () => {
    const label = '<y:EdgeLabel>9</y:EdgeLabel>'
    const inner = `<y:x><node id="n"/></y:x>${edge('m', 'm')}<node id="m"><data key="d">${label}</data></node>`
    expect(
      parse(`<graphml xmlns:y="y"><graph edgedefault="directed">${inner}</graph></graphml>`),
    ).toMatchObject({
      keys: ['m'],
      weight: Int32Array.of(1),
    })
  })

  it('accepts XML attributes of any name', () => {
    const own = 'constructor="1" toString="2" __proto__="3" weight="4"'
    expect(read(edge('a', 'b', '', own))).toEqual(['a>b:4'])
    expect(read(edge('a', 'b', '', own), '', { weight: '__proto__' })).toEqual(['a>b:3'])
    expect(() => read(edge('a', 'b', '', `${own} __proto__="5"`))).toThrow(
      coded('FILE', 'duplicate attribute'),
    )
  })

  it.each<[string, string]>([
    ['UTF-16 with a byte order mark', 'utf16le'],
    ['ISO-8859-1 that is declared', 'latin1'],
    ['UTF-8', 'utf8'],
  ])('reads %s', (_, encoding) => {
    const name = { utf16le: 'UTF-16', latin1: 'ISO-8859-1', utf8: 'UTF-8' }[encoding]
    const text = `<?xml version="1.0" encoding="${name}"?>${graphml('<node id="Köln"/>').slice(22)}`
    const bytes = Buffer.from(encoding === 'utf16le' ? `\ufeff${text}` : text, encoding as BufferEncoding)
    expect(parse(bytes).keys).toEqual(['a', 'b', 'c', 'Köln'])
    expect(parse(text).keys).toEqual(['a', 'b', 'c', 'Köln'])
  })

  it('rejects a byte that is invalid in the encoding', () => {
    const bytes = Buffer.from(graphml('<node id="Köln"/>'), 'latin1')
    expect(() => parse(bytes)).toThrow(
      coded('FILE', `g, line 4: byte ${bytes.indexOf(0xf6)} must be UTF-8, but it is 0xf6`),
    )
    expect(() => parse(7 as never)).toThrow(coded('DTYPE', 'g must be text'))
  })
})

describe('weights of GraphML', () => {
  it.each<[string, string, string, string[]]>([
    ['weight, declared', key('w', 'weight'), edge('a', 'b', data('w', 7)), ['a>b:7']],
    [
      'Weight of type string',
      key('d12', 'Weight', 'for="edge" attr.type="string"'),
      edge('a', 'b', data('d12', '350.5')),
      ['a>b:350.5'],
    ],
    [
      'WEIGHT for all elements',
      key('k', 'WEIGHT', 'for="all" attr.type="int"'),
      edge('a', 'b', data('k', 7)),
      ['a>b:7'],
    ],
    [
      'a default for all elements',
      key('k', 'weight', 'for="all"', '<default>6</default>'),
      edge('a', 'b'),
      ['a>b:6'],
    ],
    ['a key without for', key('k', 'weight', ''), edge('a', 'b', data('k', 7)), ['a>b:7']],
    [
      'a key for nodes that edges use',
      key('weight', 'weight', 'for="node"'),
      edge('a', 'b', data('SUID', 78) + data('weight', 2.5)),
      ['a>b:2.5'],
    ],
    ['an undeclared key', '', edge('a', 'b', data('weight', 7)), ['a>b:7']],
    ['an attribute of <edge>', '', edge('a', 'b', '', 'weight="7"'), ['a>b:7']],
    [
      'one id for nodes and edges',
      `${key('k', 'weight')}${key('k', 'name', 'for="node"')}`,
      edge('a', 'b', data('k', 7)),
      ['a>b:7'],
    ],
    ['CDATA', key('w', 'weight'), edge('a', 'b', data('w', '<![CDATA[7]]>')), ['a>b:7']],
    [
      'a comment and blanks',
      key('w', 'weight'),
      edge('a', 'b', data('w', ' <!-- km -->\n1<!-- -->7 ')),
      ['a>b:17'],
    ],
    ['entities', key('w', 'weight'), edge('a', 'b', data('w', '&#49;&#x37;')), ['a>b:17']],
    [
      'a default',
      key('w', 'weight', 'for="edge"', '<desc>km</desc><default> 5 </default>'),
      edge('a', 'b', data('w', 7)) + edge('b', 'c'),
      ['a>b:7', 'b>c:5'],
    ],
    [
      'an empty default that no edge needs',
      key('w', 'weight', 'for="edge"', '<default/>'),
      edge('a', 'b', data('w', 7)),
      ['a>b:7'],
    ],
    [
      'infinities',
      key('w', 'weight'),
      ['INF', '-INF', '+inf', 'Infinity', '-Infinity']
        .map((text) => edge('a', 'b', data('w', text)))
        .join(''),
      ['a>b:Infinity', 'a>b:-Infinity', 'a>b:Infinity', 'a>b:Infinity', 'a>b:-Infinity'],
    ],
    [
      'numbers of all forms',
      key('w', 'weight'),
      ['+1', '-.5', '2.', '1e3', '-0'].map((text) => edge('a', 'b', data('w', text))).join(''),
      ['a>b:1', 'a>b:-0.5', 'a>b:2', 'a>b:1000', 'a>b:0'],
    ],
    [
      'a key for each type, as NetworkX writes it',
      key('d0', 'weight', 'for="edge" attr.type="long"') + key('d1', 'weight'),
      edge('a', 'b', data('d0', 4)) + edge('b', 'c', data('d1', 0.5)),
      ['a>b:4', 'b>c:0.5'],
    ],
    [
      'weight beside other numbers',
      key('x', 'distance') + key('w', 'weight') + key('y', 'lanes'),
      edge('a', 'b', data('x', 1) + data('w', 2) + data('y', 3)),
      ['a>b:2'],
    ],
    [
      'Edge Weight, as NodeXL writes it',
      key('E-Edge Weight', 'Edge Weight', 'for="edge" attr.type="string"') + key('E-Width', 'Width'),
      edge('a', 'b', data('E-Edge Weight', '3') + data('E-Width', 2)),
      ['a>b:3'],
    ],
    [
      'length, as OSMnx writes it',
      key('d7', 'length', 'for="edge" attr.type="string"') +
        key('d8', 'lanes') +
        key('d9', 'oneway', 'for="edge" attr.type="boolean"'),
      edge('a', 'b', data('d7', '86.4') + data('d8', '2') + data('d9', 'True')),
      ['a>b:86.4'],
    ],
    [
      'cost with a label that is text',
      key('c', 'cost') + key('n', 'label', 'for="edge" attr.type="string"'),
      edge('a', 'b', data('c', 3) + data('n', 'A1')),
      ['a>b:3'],
    ],
    [
      'edges without numbers',
      key('n', 'label', 'for="edge" attr.type="string"'),
      edge('a', 'b', data('n', 'A1')) + edge('b', 'c', '', 'id="7"'),
      ['a>b:1', 'b>c:1'],
    ],
    ['flags', key('f', 'toll', 'for="edge" attr.type="boolean"'), edge('a', 'b', data('f', 1)), ['a>b:1']],
    [
      'drawings of yEd without labels',
      '<key for="edge" id="d9" yfiles.type="edgegraphics"/>',
      edge('a', 'b', data('d9', '\n<y:PolyLineEdge><y:LineStyle width="1.0"/></y:PolyLineEdge>')),
      ['a>b:1'],
    ],
  ])('are read from %s', (_, head, inner, expected) => {
    expect(read(inner, head)).toEqual(expected)
  })

  it('are read from a key that is declared after the graph', () => {
    const text = graphml(edge('a', 'b', data('x', 1) + data('w', 7))).replace(
      '</graphml>',
      `${key('w', 'weight')}${key('x', 'lanes')}</graphml>`,
    )
    expect(edgesOf(parse(text))).toEqual(['a>b:7'])
  })

  it.each<[string, string, string, string]>([
    [
      'minutes',
      key('m', 'minutes'),
      edge('a', 'b', data('m', 7)),
      "numbers in 'minutes': name the weight by option weight",
    ],
    [
      'two usual names',
      key('c', 'cost') + key('d', 'distance'),
      edge('a', 'b', data('c', 7) + data('d', 8)),
      "numbers in 'cost' and 'distance'",
    ],
    [
      'Weight and WEIGHT',
      key('c', 'Weight') + key('d', 'WEIGHT'),
      edge('a', 'b', data('c', 7) + data('d', 8)),
      "numbers in 'Weight' and 'WEIGHT'",
    ],
    ['an undeclared id', '', edge('a', 'b', data('SUID', 78)), "numbers in 'SUID'"],
    [
      'a default',
      key('m', 'minutes', 'for="edge"', '<default>3</default>'),
      edge('a', 'b'),
      "numbers in 'minutes'",
    ],
    [
      'labels of yEd',
      '<key for="edge" id="d9"/>',
      edge('a', 'b', data('d9', '<y:EdgeLabel x="1">7<y:Model/></y:EdgeLabel>')),
      "numbers in 'EdgeLabel'",
    ],
  ])('must be named by the option if edges have numbers in %s', (_, head, inner, message) => {
    expect(() => read(inner, head)).toThrow(coded('FILE', message))
    expect(read(inner, head, { weight: null })).toEqual(['a>b:1'])
  })

  it.each<[string, string[]]>([
    ['minutes', ['a>b:7', 'b>c:1']],
    ['MINUTES', ['a>b:7', 'b>c:1']],
    ['m', ['a>b:7', 'b>c:1']],
    ['km', ['a>b:0.5', 'b>c:2']],
    ['EdgeLabel', ['a>b:8', 'b>c:9']],
    ['toll', ['a>b:1', 'b>c:0']],
  ])('are selected by the option: %s', (weight, expected) => {
    const head = key('m', 'minutes') + key('k', 'km') + key('t', 'toll', 'for="edge" attr.type="boolean"')
    const label = (text: number) => data('d9', `<y:EdgeLabel> ${text} </y:EdgeLabel>`)
    const inner = `${edge('a', 'b', data('m', 7) + data('k', 0.5) + label(8) + data('t', 1))}${edge('b', 'c', data('k', 2) + data('m', 1) + label(9) + data('t', 0))}`
    expect(read(inner, head, { weight })).toEqual(expected)
  })

  it.each<[string, string, string, { weight?: string }]>([
    [
      'of some edges',
      key('w', 'weight'),
      "each edge must have 'weight', the weight, but the edge from 'b' to 'c' has none",
      {},
    ],
    ['of the name asked for', key('w', 'minutes'), "'km' is none: edges have 'minutes'", { weight: 'km' }],
  ])('are rejected if the only ones are those %s', (_, head, message, options) => {
    const inner = edge('a', 'b', data('w', 7)) + edge('b', 'c')
    expect(() => read(inner, head, options)).toThrow(coded('FILE', message))
  })

  it.each<[string, string]>([
    ['', 'line 4: the weight is missing'],
    ['  \n', 'line 5: the weight is missing'],
    ['<y>7</y>', 'line 4: the weight is missing'],
    ['1e999', "line 4: the weight is '1e999', beyond the range of numbers"],
    ['NaN', "line 4: the weight must be a number, but it is 'NaN'"],
    ['3,5', "line 4: the weight must be a number, but it is '3,5'"],
    ['0x10', "but it is '0x10'"],
    ['1_000', "but it is '1_000'"],
    ['heavy', "but it is 'heavy'"],
    ['1'.repeat(3000), "must be a number, but it is '1111"],
  ])('are rejected if they are not numbers: %j', (text, message) => {
    expect(() => read(edge('a', 'b', data('w', text)), key('w', 'weight'))).toThrow(coded('FILE', message))
  })

  it('are rejected if an edge has two', () => {
    const inner = edge('a', 'b', data('w', 7) + data('w', 8))
    expect(() => read(inner, key('w', 'weight'))).toThrow(
      coded('FILE', "one value of 'weight', but one has several"),
    )
    expect(() => read('', '', { weight: 7 } as never)).toThrow(
      coded('OPTION', 'option weight must be the name'),
    )
  })
})

describe('GraphML that is rejected', () => {
  const empty = '<graphml><graph edgedefault="directed"></graph></graphml>'

  it.each<[string, string, string]>([
    [
      'nothing',
      '',
      'well-formed XML, but it has an error (document must contain a root element): correct it',
    ],
    ['another document', '<html/>', 'line 1: the document must be GraphML, but its first element is <html>'],
    ['no graph', '<graphml/>', 'g: the document must have a <graph>, but it has none: is this GraphML?'],
    [
      'two graphs',
      empty.replace('</graphml>', '<graph edgedefault="directed"/></graphml>'),
      'must have one <graph>, but it has several',
    ],
    ['an end within a tag', empty.replace('</graphml>', '<node id="a"'), 'well-formed XML'],
    ['an end within the graph', '<graphml><graph edgedefault="directed">', 'unclosed tag: graph'],
    ['an element that is closed wrongly', '<graphml><graph></graphml>', 'unexpected close tag'],
    ['text without an element', `${empty}7`, 'text data outside of root node'],
    [
      'an edge to a node that is not declared',
      graphml(`\n${edge('a', 'B')}`),
      "line 5: an edge must join nodes of the file, but there is no <node> with the id 'B': correct the name",
    ],
    [
      'an edge without a target',
      graphml('<edge source="a"/>'),
      'line 4: <edge> must have the attribute target, but it has none',
    ],
    ['a node without an id', graphml('<node/>'), '<node> must have the attribute id'],
    [
      'data without a key',
      graphml('<edge source="a" target="b"><data>3</data></edge>'),
      '<data> must have the attribute key',
    ],
    ['a node twice', graphml('<node id="a"/>'), "must occur once, but 'a' occurs again"],
    ['a hyperedge', graphml('<hyperedge/>'), 'but <hyperedge> joins several: leave it out'],
    ['another file', graphml('<locator xlink:href="x"/>'), '<locator> names another'],
    [
      'an unknown direction',
      graphml(edge('a', 'b', '', 'directed="yes"')),
      "directed must be 'true' or 'false', but it is 'yes'",
    ],
    [
      'an unknown edgedefault',
      graphml('', '', 'both'),
      "edgedefault must be 'directed' or 'undirected', but it is 'both'",
    ],
    [
      'edges without a direction',
      graphml(edge('a', 'b')).replace('edgedefault="directed"', ''),
      'add edgedefault="undirected" (as NetworkX and igraph read it)',
    ],
    [
      'an edge without a graph',
      '<graphml><edge source="a" target="b"/></graphml>',
      '<edge> must stand in <graph>, but it stands in <graphml>',
    ],
    [
      'edges in a list',
      graphml(`<edges>${edge('a', 'b')}</edges>`),
      '<edge> must stand in <graph>, but it stands in <edges>',
    ],
    ['an unknown entity', graphml('<node id="&e;"/>'), 'undefined entity'],
    [
      'an entity of a DOCTYPE',
      `<!DOCTYPE g [<!ENTITY e "b">]>${empty.replace('></graph>', '><node id="&e;"/></graph>')}`,
      'undefined entity',
    ],
    ['no character', graphml('<node id="&#x110000;"/>'), 'malformed character entity'],
    ['an attribute twice', graphml('<node id="x" id="y"/>'), 'duplicate attribute: id'],
  ])('has %s', (_, text, message) => {
    expect(() => parse(text)).toThrow(coded('FILE', message))
  })

  it('reads edges without edgedefault if each has a direction', () => {
    const text = graphml(edge('a', 'b', '', 'directed="true"')).replace('edgedefault="directed"', '')
    expect(edgesOf(parse(text))).toEqual(['a>b:1'])
    expect(parse(`<!DOCTYPE graphml SYSTEM "http://x/graphml.dtd">${empty}`).nodes).toBe(0)
  })

  const laughs = Array.from({ length: 9 }, (_, at) => `<!ENTITY l${at + 1} "${`&l${at};`.repeat(10)}">`).join(
    '',
  )
  it.each<[string, string, string]>([
    ['a tag without an end', `<graphml><graph>${'<'}${'a'.repeat(1e7)}`, 'more than 1048576 characters'],
    ['blanks in a tag', `<graphml><graph><node ${' '.repeat(1e7)}`, 'more than 1048576 characters'],
    [
      'an attribute without an end',
      `<graphml><graph><node id="${'a'.repeat(1e7)}`,
      'more than 1048576 characters',
    ],
    [
      'many attributes',
      `<graphml ${Array.from({ length: 1e6 }, (_, at) => `a${at}=""`).join(' ')}`,
      'more than 1048576 characters',
    ],
    ['a comment without an end', `<graphml><!--${'- <'.repeat(3e6)}`, 'more than 1048576 characters'],
    ['CDATA without an end', `<graphml><![CDATA[${']]'.repeat(5e6)}`, 'more than 1048576 characters'],
    [
      'a DOCTYPE without an end',
      `<!DOCTYPE g [${'<!ENTITY a "b">'.repeat(6e5)}`,
      'more than 1048576 characters',
    ],
    ['an instruction without an end', `<graphml><?a ${'?'.repeat(1e7)}`, 'more than 1048576 characters'],
    ['deep elements', '<graphml>'.repeat(1e6), 'must stand in the document'],
    ['deep elements of other names', `<graphml>${'<b>'.repeat(3e6)}`, 'more than 1000 deep'],
    ['deep graphs', `<graphml>${'<graph><node id="a">'.repeat(5e5)}`, 'occurs again'],
    [
      'entities of entities',
      `<!DOCTYPE g [<!ENTITY l0 "ha">${laughs}]>${graphml('<node id="&l9;"/>').slice(21)}`,
      'undefined entity',
    ],
    ['many <', '<'.repeat(1e7), 'disallowed character'],
    [
      'a long text',
      `<graphml><graph edgedefault="directed">${edge('a', 'b', `<data key="weight">${'1'.repeat(2 ** 24 + 2 ** 16)}`)}`,
      'a text has more than 16777216 characters',
    ],
  ])('is hostile: %s', (_, text, message) => {
    expect(() => parse(text)).toThrow(coded('FILE', message))
  })

  it('allocates memory only for existing values, whatever attributes edges have', () => {
    const many = Array.from({ length: 20_000 }, (_, at) => edge('a', 'b', data(`k${at}`, at))).join('')
    expect(() => read(many)).toThrow(
      coded('FILE', "'k0', 'k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'k7' and others"),
    )
    expect(read(many, '', { weight: null })).toHaveLength(20_000)
  })
})

describe('GraphML in files', () => {
  const inFolder = useFolder()
  const file = (name: string, content: string | Uint8Array) => {
    const path = inFolder(name)
    writeFileSync(path, content)
    return path
  }

  it('has names, which are accepted as sources and targets', async () => {
    const text = graphml(
      '<node id="1"/><node id="2"/><node id="3"/>' +
        edge('1', '2', data('w', 5)) +
        edge('2', '3', data('w', 7)),
      key('w', 'weight'),
    )
    const graph = await readGraph(file('numeric.graphml', text))
    expect((graph as NamedGraph).keys).toEqual(['a', 'b', 'c', '1', '2', '3'])
    const { distances } = await shortestPaths(graph as NamedGraph, { sources: '1', targets: '2' })
    expect([...distances.data]).toEqual([5])
    await expect(shortestPaths(graph, { sources: 1 })).rejects.toEqual(coded('VALUE', 'sources[0] is 1'))
  })

  it('has the weights that the option names', async () => {
    const path = file('minutes.graphml', graphml(edge('a', 'b', data('m', 7)), key('m', 'minutes')))
    await expect(readGraph(path)).rejects.toEqual(coded('FILE', "numbers in 'minutes'"))
    expect([...(await readGraph(path, { weight: 'minutes' })).weight]).toEqual([7])
    expect([...(await readGraph(path, { weight: null })).weight]).toEqual([1])
  })

  it('obeys maxBytes and the signal, in one line and compressed', async () => {
    const inner = Array.from({ length: 100_000 }, (_, at) => `<node id="node number ${at}"/>`).join('')
    const text = graphml(inner).replaceAll('\n', ' ')
    for (const path of [file('long.graphml', text), file('long.graphml.gz', gzipSync(text))]) {
      expect((await readGraph(path)).nodes).toBe(100_003)
      await expect(readGraph(path, { maxBytes: 1e6 })).rejects.toEqual(
        coded('LIMIT', 'maxBytes allows 1000000'),
      )
      const controller = new AbortController()
      const reading = readGraph(path, { signal: controller.signal })
      setImmediate(() => controller.abort())
      await expect(reading).rejects.toEqual(coded('ABORTED'))
    }
  })

  it('is parsed in slices, between which the event loop turns', () => {
    const parser = new GraphmlParser('g', saxes)
    const text = graphml('<node id="x"/>'.padEnd(1e6))
    let steps = 0
    for (const _ of parser.characters(text)) steps++
    expect(steps).toBeGreaterThanOrEqual(text.length / 2 ** 14)
    expect(atOnce(parser.end()).nodes).toBe(4)
  })
})

describe('GraphML that is written and read again', () => {
  const pieces = [
    'a',
    '0',
    ' ',
    '  ',
    '&',
    '<',
    '>',
    '"',
    "'",
    ']]>',
    '<!--',
    '-->',
    '&amp;',
    ';',
    'é',
    '😀',
    '\u2028',
    '\t',
    '\n',
    '\r',
    '\ufffd',
    '\ufeff',
    '{',
    '::',
    '__proto__',
    'constructor',
  ]
  const escaped = (text: string) => text.replace(/[&<>"'\t\n\r]/g, (letter) => `&#${letter.charCodeAt(0)};`)

  it.each([1, 2, 3, 4, 5, 6])('has the same names, edges and weights (seed %i)', (seed) => {
    const random = new Random(seed)
    const names = new Set<string>()
    while (names.size < 40) {
      names.add(
        Array.from({ length: random.integer(0, 4) }, () => pieces[random.integer(0, pieces.length - 1)]).join(
          '',
        ),
      )
    }
    const keys = [...names]
    const isFloat = random.integer(0, 1) === 1
    const list = Array.from({ length: 200 }, () => {
      const [from, to] = [keys[random.integer(0, 39)]!, keys[random.integer(0, 39)]!]
      return {
        from,
        to,
        weight: random.integer(-(2 ** 31), 2 ** 31 - 1) / (isFloat ? 7 : 1),
        directed: random.integer(0, 2) > 0,
      }
    })
    const expected = list.flatMap(({ from, to, weight, directed }) => [
      `${from}>${to}:${weight}`,
      ...(directed || from === to ? [] : [`${to}>${from}:${weight}`]),
    ])
    const edges = list.map(({ from, to, weight, directed }) =>
      edge(escaped(from), escaped(to), data('w', weight), `directed="${directed}"`),
    )
    const nodes = keys.map((name) => `<node id="${escaped(name)}"/>`)
    const text = `<graphml>${key('w', 'weight')}<graph edgedefault="directed">${nodes.join('')}${edges.join('\r\n')}</graph></graphml>`
    const bytes = Buffer.from(text)
    for (const most of [random.integer(1, 9), random.integer(10, 1e4), 1e9]) {
      const [parser, decoder] = [new GraphmlParser('g', saxes), new StrictDecoder('g')]
      for (let at = 0; at < bytes.length; at += most)
        atOnce(parser.characters(decoder.decode(bytes.subarray(at, at + most), at + most >= bytes.length)))
      const graph = atOnce(parser.end())
      expect(graph.keys).toEqual(keys)
      expect(edgesOf(graph)).toEqual(expected)
      expect(graph.weight).toBeInstanceOf(isFloat ? Float64Array : Int32Array)
    }
  })
})
