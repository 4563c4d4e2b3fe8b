/**
 * CSV and TSV files of other programs: each file is read with its intended meaning, or rejected with the
 * position and advice.
 */
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { inspectCsv, namedNodeInCsv } from '../../lib/command-line.js'
import { parseGraph, readGraph } from '../../lib/graph.js'
import { coded } from '../support/coded.js'
import { useFolder } from '../support/folder.js'

const path = useFolder()

type Edge = string

interface Wishes {
  keys?: boolean
  tokens?: boolean
  weight?: string | null
  name?: string
}

/** Edges as `from>to:weight` or `from>to:weight/tokens`. */
function edges(content: string | Uint8Array, { name = 'a.csv', ...options }: Wishes = {}): Edge[] {
  const format = /\.tsv/i.test(name) ? 'tsv' : 'csv'
  const list = parseGraph(content, { format, ...options, name }) as ReturnType<typeof parseGraph> & {
    keys?: string[]
  }
  const { from, to, weight, tokens, keys } = list
  const shown = (node: number) => keys?.[node] ?? node
  return Array.from(
    from,
    (node, e) => `${shown(node)}>${shown(to[e]!)}:${weight[e]}${tokens ? `/${tokens[e]}` : ''}`,
  )
}

const named = (content: string | Uint8Array, options: Wishes = {}) =>
  edges(content, { keys: true, ...options })
const refusal = (message: string | RegExp) => coded('FILE', message)
const abc = ['A>B:4', 'B>C:5']
const numbers = ['0>1:4', '1>2:5']

describe('the heading of an edge list', () => {
  it.each<[string, Edge[]]>([
    ['from,to,weight\nA,B,4\nB,C,5\n', abc],
    ['FROM;TO;WEIGHT\nA;B;4\nB;C;5\n', abc],
    ['"source","target","cost"\n"A","B","4"\n"B","C","5"\n', abc],
    ['target,source,weight\nB,A,4\nC,B,5\n', abc],
    ['weight,source,target\n4,A,B\n5,B,C\n', abc],
    ['source,weight,target\nA,4,B\nB,5,C\n', abc],
    ['id,source,target,weight\n1,A,B,4\n2,B,C,5\n', abc],
    ['source,target,id,weight\nA,B,7,4\nB,C,8,5\n', abc],
    [',from,to,km\n0,A,B,4\n1,B,C,5\n', abc],
    ['Unnamed: 0,u,v,w\n0,A,B,4\n1,B,C,5\n', abc],
    ['Source,Target,Type,Id,Label,Weight\nA,B,Directed,0,x,4\nB,C,Directed,1,,5\n', abc],
    ['from_id,to_id,travel_time\nA,B,4\nB,C,5\n', abc],
    ['From Node,To Node,Distance (km)\nA,B,4\nB,C,5\n', abc],
    ['node1,node2,length\nA,B,4\nB,C,5\n', abc],
    ['origin\tdestination\tduration\nA\tB\t4\nB\tC\t5\n', abc],
    ['tail head value\nA B 4\nB C 5\n', abc],
    ['von;nach;Weg, km\nA;B;4\nB;C;5\n', abc],
    ['from,to,weight,distance\nA,B,4,9\nB,C,5,9\n', abc],
    ['from,to,lanes\nA,B,4\nB,C,5\n', abc],
    ['from,street,to,lanes\nA,Main,B,4\nB,Oak,C,5\n', abc],
    ['src,dst\nA,B\nB,C\n', ['A>B:1', 'B>C:1']],
    ['id,source,target\n0,A,B\n1,B,C\n', ['A>B:1', 'B>C:1']],
    ['from,to,weight\n', []],
    ['"from"\n,to\n', []],
  ])('determines the meaning of each column: %j', (text, expected) => {
    if (!text.startsWith('"from"\n')) expect(named(text)).toEqual(expected)
    const numbered = text.replace(
      /(?<=[\n,;\t ]|^)"?([ABC])"?(?=[\n,;\t ])/g,
      (_, node) => `${'ABC'.indexOf(node)}`,
    )
    if (!text.includes('"'))
      expect(edges(numbered)).toEqual(
        expected.map((edge) => edge.replace(/[ABC]/g, (node) => `${'ABC'.indexOf(node)}`)),
      )
  })

  it.each<[string, Edge[]]>([
    ['start,A\nA,B\n', ['start>A:1', 'A>B:1']],
    ['A,end\nstart,A\n', ['A>end:1', 'start>A:1']],
    ['start,A,5\nA,end,6\n', ['start>A:5', 'A>end:6']],
    ['A,B\nB,C\n', ['A>B:1', 'B>C:1']],
    ['U,V\nV,W\n', ['U>V:1', 'V>W:1']],
    ['#from,to,weight\nA,B,4\nB,C,5\n', abc],
  ])('isn’t confused with the first edge: %j', (text, expected) => {
    expect(named(text)).toEqual(expected)
  })

  it.each([
    ['A\n', 'line 1: expected FROM,TO'],
    ['A,B,NA\nB,C,4\n', "line 1: the weight must be a number, but it is 'NA': leave out the line"],
    ['A,B,\nB,C,4\n', 'line 1: the weight is missing'],
    [
      'a,b,c\nA,B,4\n',
      "line 1: a heading must name the columns where edges begin and end, but it is 'a', 'b' or 'c': from,",
    ],
    ['from,Bergen,weight\nA,B,4\n', 'line 1: a heading must name'],
    ['ID,Name,Duration,Predecessors\n1,Plan,5,\n', 'line 1: a heading must name'],
    ['start,end,5\nA,B,4\n', "line 1: it has names of columns, 'start' and 'end', and a number"],
    [
      'start,end\nstart,A\nA,end\n',
      "line 1: the first line may name the columns, or be an edge: 'start' is a node, too",
    ],
    ['# roads\nu,v\nv,w\n', "line 2: the first line may name the columns, or be an edge: 'v' is a node, too"],
    ['from,source,to\nA,B,C\n', "line 1: edges must begin in one column, but 'from' and 'source' may be it"],
    ['from,to,target\nA,B,C\n', "line 1: edges must end in one column, but 'to' and 'target' may be it"],
    [
      'from,to,distance,time\nA,B,7,3\n',
      "line 1: the weight must be one column, but 'distance' and 'time' may be it",
    ],
    ['from,to,lanes,toll\nA,B,7,3\n', "the weight must be one column, but 'lanes' and 'toll' may be it"],
    ['from,to,weight\nA,B\n', 'line 2: expected FROM,TO,WEIGHT'],
    ['from,to,weight\nA,B,4,5\n', 'line 2: expected the end of the line'],
    [
      'from,to,weight\n#1,A,4\nA,B,5\n',
      "line 2: '#1,A,4' may be a comment, or an edge of a node whose name begins with #",
    ],
    ['#1,A,4\nA,B,5\n', "line 1: '#1,A,4' may be a comment"],
  ])('rejects %j', (text, message) => {
    expect(() => named(text)).toThrow(refusal(message))
  })

  it.each([
    ['x,y,weight\n0,1,4\n', 'line 1: a heading must name'],
    [
      'gewicht,quelle,senke\n4,0,1\n',
      "a heading must name the columns where edges begin and end, but it is 'gewicht', 'quelle' or 'senke'",
    ],
    ['Oslo,Bergen\n0,1\n', 'read them as names (keys: true)'],
    [
      'A,B,4\n',
      "line 1: the node where the edge begins must be a number, but it is 'A': number the nodes from 0, or read them as names by keys: true",
    ],
    [
      '5423871221,1,4\n',
      'must be from 0 to 2147483646, but it is 5423871221: number the nodes from 0, or read them as names',
    ],
  ])('rejects %j if nodes have numbers', (text, message) => {
    expect(() => edges(text)).toThrow(refusal(message))
  })

  it('accepts comments, and quoted names that begin with #', () => {
    expect(named('# roads\n#\n#!x\nfrom,to,weight\n# A,B,9\n"#1",A,4\n#none\nA,B,5\n')).toEqual([
      '#1>A:4',
      'A>B:5',
    ])
    expect(edges('#0,1,9\n0,1,4\n')).toEqual(['0>1:4'])
  })

  it('selects the column of weights that the option names, or no column', () => {
    const text = 'from,to,distance,time\nA,B,7,3\n'
    expect(named(text, { weight: 'time' })).toEqual(['A>B:3'])
    expect(named(text, { weight: 'distance' })).toEqual(['A>B:7'])
    expect(named(text, { weight: null })).toEqual(['A>B:1'])
    expect(named('from,to,weight\nA,B,x\n', { weight: null })).toEqual(['A>B:1'])
    expect(edges('0,1,x\n', { weight: null })).toEqual(['0>1:1'])
    expect(() => named(text, { weight: 'toll' })).toThrow(
      refusal(
        "line 1: option weight must be the name of a column, but it is 'toll': the columns are 'from', 'to', 'distance' and 'time'",
      ),
    )
    expect(() => named('A,B,4\n', { weight: 'time' })).toThrow(refusal('the first line names no columns'))
    expect(() => named(text, { weight: 5 as never })).toThrow(coded('OPTION', 'option weight'))
  })

  it('determines the column of tokens, with names or numbers of nodes', () => {
    const rail = 'from,to,minutes,tokens\nBA,AB,27,0\nAB,BA,27,3\n'
    expect(named(rail, { tokens: true })).toEqual(['BA>AB:27/0', 'AB>BA:27/3'])
    expect(named(rail)).toEqual(['BA>AB:27', 'AB>BA:27'])
    expect(named('tokens;to;from;id\n2;B;A;7\n', { tokens: true })).toEqual(['A>B:1/2'])
    expect(named('A,B,4,2\n', { tokens: true })).toEqual(['A>B:4/2'])
    expect(edges('id,source,target,weight\n0,0,1,7\n1,1,0,2\n', { tokens: true })).toEqual(['0>1:7', '1>0:2'])
    expect(() => named('A,B,4,2\n')).toThrow(refusal("expected the end of the line, but it goes on with '2'"))
  })
})

describe('the separator of an edge list', () => {
  it.each<[string, Edge[]]>([
    ['A|B|4\nB|C|5\n', abc],
    ['A B 4\nB C 5\n', abc],
    [' A   B\t 4\nB C 5\n', abc],
    ['sep=;\nfrom;to;weight\nA;B;4\nB;C;5\n', abc],
    ['"sep=|"\r\nA|B|4\r\nB|C|5\r\n', abc],
    ['sep=\t\nA\tB\t4\nB\tC\t5\n', abc],
    ['sep=,\nA,B,4\nB,C,5\n', abc],
    ['A;B;4,5\nB;C;5,25\n', ['A>B:4.5', 'B>C:5.25']],
    ['from;to;weight\nA;B;4\nB;C;5,25\n', ['A>B:4', 'B>C:5.25']],
    ['A\tB\t4,5\nB\tC\t-5,25e1\n', ['A>B:4.5', 'B>C:-52.5']],
    ['von;nach;Weg, km\nA;B;4,5\nB;C;5,25\n', ['A>B:4.5', 'B>C:5.25']],
    ['Oslo, S;Bergen;5\nBergen, B;Voss;3\n', ['Oslo, S>Bergen:5', 'Bergen, B>Voss:3']],
    ['Oslo; S,Bergen,5\nBergen; B,Voss,3\n', ['Oslo; S>Bergen:5', 'Bergen; B>Voss:3']],
    ['New York,Boston,4\nBoston,New Salem,5\n', ['New York>Boston:4', 'Boston>New Salem:5']],
    ['New York,Los Angeles\nLos Angeles,New York\n', ['New York>Los Angeles:1', 'Los Angeles>New York:1']],
    ['Washington, DC\tBoston\t5\n', ['Washington, DC>Boston:5']],
    ['a;b,"c;d",4\ne;f,"g;h",5\n', ['a;b>c;d:4', 'e;f>g;h:5']],
    ['A ,  B, 4 \n B,C ,5\n', abc],
  ])('is determined by all of the first lines: %j', (text, expected) => {
    expect(named(text)).toEqual(expected)
  })

  it.each<[string, Edge[]]>([
    ['from\tto\tweight\nNew York\tBoston\t4\n', ['New York>Boston:4']],
    ['New York\tBoston\t4\n', ['New York>Boston:4']],
    ['Zone 1\t2\n', ['Zone 1>2:1']],
    ['Washington, DC\tBoston\t5\n', ['Washington, DC>Boston:5']],
    ['A, a, a\tB\n', ['A, a, a>B:1']],
    ['"A\tB"\tC\t4\n', ['A\tB>C:4']],
    ['A,B,4\n', ['A>B:4']],
  ])('is a tab in .tsv: %j', (text, expected) => {
    expect(named(text, { name: 'a.tsv' })).toEqual(expected)
    expect(named(text, { name: 'a.TSV.gz' })).toEqual(expected)
  })

  it.each([
    ['A\t\tB\t4\n', 'line 1'],
    ['A\tB\t\n', 'line 1: the weight is missing'],
    ['A;B,C\nD;E,F\n', "line 1: the separator may be ';' or ',': put a line sep=; before it"],
    ['0;1,5\n1;2,5\n', "the separator may be ';' or ','"],
    [
      'A;B;1.234,5\n',
      "the weight must be a number, but it is '1.234,5': write it without thousands separators",
    ],
    ['A;B;4.5\nB;C;1,25\n', "line 2: the weight is '1,25', but numbers before it have another decimal point"],
    ['A,B,4,\nB,C,5,\n', 'line 1: expected the end of the line, but it goes on with'],
    ['A,B,4\nC;D;5\n', 'line 2'],
    ['sep=;\nA,B,4\n', 'line 2'],
  ])('rejects %j', (text, message) => {
    expect(() => named(text)).toThrow(refusal(message))
  })

  it('isn’t a blank if only then a comma is a decimal point', () => {
    for (const keys of [true, false]) {
      expect(() => edges('0 1 4,5\n1 2 5,5\n', { keys })).toThrow(
        refusal("line 1: the weight must be a number, but it is '4,5'"),
      )
    }
  })
})

describe('the cells of an edge list', () => {
  it.each<[string, Edge[]]>([
    ['"A\nB",C,4\nC,D,5\n', ['A\nB>C:4', 'C>D:5']],
    ['from,to,weight\r\n"A\r\n\r\nB",C,4\r\n', ['A\n\nB>C:4']],
    ['"A ""x""",B,4\n', ['A "x">B:4']],
    ['A "x",B,4\n', ['A "x">B:4']],
    ['  "A"  , "B" ,4\n', ['A>B:4']],
    ['" A ",B,4\n', [' A >B:4']],
    ["'A','B',4\n", ["'A'>'B':4"]],
    ['"A" "B C" 4\n', ['A>B C:4']],
    ['A,B,+4\nB,C,5e0\n', ['A>B:4', 'B>C:5']],
    ['1,01,1E+2\n', ['1>01:100']],
    ['Ä,Hafen,1\nHafen,Ö,-.5\n', ['Ä>Hafen:1', 'Hafen>Ö:-0.5']],
    ['178877282,5423871221,5\n', ['178877282>5423871221:5']],
    ['constructor,__proto__,5\n', ['constructor>__proto__:5']],
    ['\n\nA,B,4\n\n \nB,C,5\n\n', abc],
    ['A,B,4\nB,C,5', abc],
  ])('are read literally: %j', (text, expected) => {
    expect(named(text)).toEqual(expected)
  })

  it.each([
    ['A,"B,4\n', 'line 1'],
    ['A,B,4\nA,"B,4\nB,C,5\n', 'line 2: a cell begins with a quotation mark, but none ends it'],
    ['A,"B"x,4\n', "line 1: a quoted cell must end at a separator, but 'x,4' follows it"],
    ['A,5" pipe,4\n', 'line 1'],
    ['A,B,4\nA,5" pipe,4\n', `line 2: the cell '5" pipe' has one quotation mark: enclose`],
    ['A,"",4\n', 'line 1: the name of a node is missing'],
  ])('are rejected if quotation marks are misplaced: %j', (text, message) => {
    expect(() => named(text)).toThrow(refusal(message))
  })

  it.each([
    ['"1,234"', "'1,234': write it without thousands separators"],
    ['"1.234,5"', 'thousands separators'],
    ['1\u00a0234', 'thousands separators'],
    ['1’234', 'thousands separators'],
    ['50%', "'50%': write it as a fraction"],
    ['€5', "'€5': write it without its unit"],
    ['5€', 'without its unit'],
    ['5km', 'without its unit'],
    ['5 km', "expected ',' or the end of the line, but got 'km'"],
    ['0x10', 'in decimal'],
    ['1_000', 'without underscores'],
    ['−5', 'write - in place of −'],
    ['00:05', 'as one number'],
    ['null', 'leave out the line'],
    ['NaN', 'leave out the line'],
    ['-', 'leave out the line'],
    ['"4,5"', 'write a decimal point'],
    ['inf', "must be a number, but it is 'inf'"],
    ['1e999', 'beyond the range of numbers'],
    ['1e', "must be a number, but it is '1e'"],
    ['١٢', 'must be a number'],
  ])('are rejected as weights with advice: %s', (cell, message) => {
    for (const text of [`A,B,${cell}\n`, `from,to,weight\nA,B,4\nA,B,${cell}\n`]) {
      expect(() => named(text)).toThrow(refusal(message))
    }
  })
})

describe('points that may separate thousands', () => {
  it.each([
    [
      'A;B;1,000\nB;C;2,500\n',
      'a.csv',
      "line 1: the decimal point must be clear, but '1,000' may be 1000 or 1",
    ],
    [
      'A;B;7\nB;C;-1.250\n',
      'a.csv',
      "line 2: the decimal point must be clear, but '1.250' may be 1250 or 1.25",
    ],
    ['A\tB\t1,000\n', 'a.tsv', 'may be 1000 or 1'],
    ['A\tB\t"12,345"\n', 'a.tsv', 'may be 12345 or 12.345'],
    ['from;to;weight\nA;B;"1.000"\n', 'a.csv', 'line 2: the decimal point'],
    ['A;B;"1,5"\nB;C;"1.000"\n', 'a.csv', "line 2: the weight is '1.000', but numbers before it"],
    ['A;B;"1,5"\nB;C;1.000\n', 'a.csv', "line 2: the weight is '1.000', but numbers before it"],
    ['A;B;1.5\nB;C;"1,000"\n', 'a.csv', "line 2: the weight is '1,000', but numbers before it"],
    ['A;B;"5\n6"\n', 'a.csv', 'the weight must be a number'],
  ])('are rejected: %j', (text, name, message) => {
    expect(() => named(text, { name })).toThrow(refusal(message))
  })

  it.each<[string, string, Edge[]]>([
    ['A;B;1,000\nB;C;2,5\n', 'a.csv', ['A>B:1', 'B>C:2.5']],
    ['A;B;1.000\nB;C;0.125\n', 'a.csv', ['A>B:1', 'B>C:0.125']],
    ['A;B;"1,000"\nB;C;"2,5"\n', 'a.csv', ['A>B:1', 'B>C:2.5']],
    ['A;B;1,250\nB;C;1234,125\n', 'a.csv', ['A>B:1.25', 'B>C:1234.125']],
    ['A\tB\t1.000\n', 'a.tsv', ['A>B:1']],
    ['A,B,1.000\n', 'a.csv', ['A>B:1']],
    ['A B 1.000\n', 'a.csv', ['A>B:1']],
  ])('are decimal points if another number or the separator proves it: %j', (text, name, expected) => {
    expect(named(text, { name })).toEqual(expected)
  })
})

describe('columns with two meanings, or two columns with one', () => {
  it.each<[string, Wishes, string]>([
    [
      'from,to,weight,Weight\nA,B,1,2\n',
      {},
      "the weight must be one column, but 'weight' and 'Weight' may be it",
    ],
    ['from,to,km,km\nA,B,1,2\n', { weight: 'km' }, "the weight must be one column, but 2 are named 'km'"],
    [
      'from,to,tokens,token\nA,B,1,2\n',
      { tokens: true },
      "the tokens must be one column, but 'tokens' and 'token' may be it",
    ],
    ['from,to,km\nA,B,1\n', { weight: 'to' }, "option weight must name a column of weights, but 'to'"],
    ['from,to,tokens\nA,B,1\n', { weight: 'tokens', tokens: true }, "a column of weights, but 'tokens'"],
  ])('are rejected: %j', (text, wishes, message) => {
    expect(() => named(text, wishes)).toThrow(refusal(message))
    const numbered = text.replace('A,B', '0,1')
    expect(() => edges(numbered, wishes)).toThrow(refusal(message))
  })
})

describe('the type of weights', () => {
  it.each([
    ['4', Int32Array],
    ['"4"', Int32Array],
    ['4.0', Int32Array],
    ['4e0', Int32Array],
    ['"4.0"', Int32Array],
    ['4.5', Float64Array],
    ['4294967296', Float64Array],
  ])('follows from the value %s, whether or not nodes have names', (cell, type) => {
    for (const [text, keys] of [
      [`0,1,${cell}\n`, false],
      [`A,B,${cell}\n`, true],
    ] as const) {
      expect(parseGraph(text, { format: 'csv', keys }).weight).toBeInstanceOf(type)
    }
  })
})

describe('inspection of CSV', () => {
  it.each<[string, string | undefined]>([
    ['0,1,4\n1,Oslo,5\n', 'Oslo'],
    ['id,to,from\n7,1,"x\ny"\n', 'x\ny'],
    ['1,17887728212\n', '17887728212'],
    ['0,inf\n', undefined],
    ['ε,0\n0,1\n', undefined],
    ['0,1,4\n1,2,5\n', undefined],
    ['a,b,c,d\n', undefined],
    ['', undefined],
  ])('finds the first node with a name in an edge list: %j', async (text, node) => {
    writeFileSync(path('look.csv'), text)
    expect(await namedNodeInCsv(path('look.csv'))).toBe(node)
    expect(await namedNodeInCsv(path('missing.csv'))).toBe(undefined)
  })

  it('reports the columns of an edge list', async () => {
    writeFileSync(path('look.csv'), 'from,to,tokens,km\n0,1,2,4\n1,2,0,5\n')
    expect(await inspectCsv(path('look.csv'))).toEqual({
      columns: 4,
      rows: 2,
      hasHeading: true,
      isList: true,
      hasWeights: true,
      hasTokens: true,
      isNumbered: true,
    })
    expect(await inspectCsv(path('missing.csv'))).toMatchObject({ columns: 0, rows: 0 })
  })
})

describe('the bytes of an edge list', () => {
  const text = 'from,to,weight\nA,B,4\nB,C,5\n'
  it.each<[string, string | Uint8Array]>([
    ['in UTF-8 with a mark', `\ufeff${text}`],
    ['in bytes of UTF-8 with a mark', Buffer.from(`\ufeff${text}`)],
    ['in UTF-16 with a mark', Buffer.from(`\ufeff${text}`, 'utf16le')],
    ['in big-endian UTF-16 with a mark', Buffer.from(`\ufeff${text}`, 'utf16le').swap16()],
    ['in UTF-16 without a mark', Buffer.from(text, 'utf16le')],
    ['with \\r', text.replaceAll('\n', '\r')],
    ['with \\r\\n', text.replaceAll('\n', '\r\n')],
    ['with all line ends', 'from,to,weight\rA,B,4\r\r\nB,C,5\n'],
    ['without the last line end', text.trimEnd()],
  ])('are read %s', (_, content) => {
    expect(named(content)).toEqual(abc)
    const numbered = typeof content === 'string' ? content : undefined
    if (numbered)
      expect(edges(numbered.replace(/[ABC](?=,)/g, (node) => `${'ABC'.indexOf(node)}`))).toEqual(numbers)
  })

  it.each<[string, Uint8Array, string]>([
    [
      'windows-1252',
      Buffer.from('from,to,weight\n\xc4,Hafen,1\n', 'latin1'),
      'line 2: byte 15 must be UTF-8, but it is 0xc4: save the text as UTF-8',
    ],
    [
      'a character that is cut off',
      Buffer.from('A,B,1\nC,D\xe2\x82', 'latin1'),
      'the text ends within a character',
    ],
    ['zeros', Buffer.from('0,1,4\n1,2,5\n\0\0\0'), 'line 3: it has a character of code 0'],
    ['UTF-32', Buffer.from('\xff\xfe\0\0A\0\0\0', 'latin1'), 'utf-32'],
  ])('are rejected in %s', (_, bytes, message) => {
    for (const keys of [true, false]) expect(() => edges(bytes, { keys })).toThrow(refusal(message))
  })

  it('may be divided within a line end', () => {
    // Texts are parsed in parts of 65536 bytes.
    const comment = '# '.padEnd(65_535, 'x')
    for (const content of [`${comment}\r\nA,B,NA\n`, Buffer.from(`${comment}\r\nA,B,NA\n`)]) {
      expect(() => named(content)).toThrow(refusal('line 2: the weight'))
    }
    const name = 'x'.repeat(65_534)
    expect(named(`"${name}\r\ny",B,4\n`)).toEqual([`${name}\ny>B:4`])
  })

  it('determine the separator together, also if a file is read in several windows', async () => {
    const lines = Array.from({ length: 200 }, (_, e) => (e < 50 ? `a${e}, x;b${e}, y` : `c${e};d${e}`))
    const text = `${lines.join('\n')}\n`
    const { keys, from, to } = parseGraph(text, { format: 'csv', keys: true })
    expect(Array.from(from, (node, e) => `${keys[node]};${keys[to[e]!]}`)).toEqual(lines)
    writeFileSync(path('separator.csv'), text)
    expect(await readGraph(path('separator.csv'), { keys: true })).toMatchObject({ keys, from, to })
  })

  it('may be divided anywhere in characters, line ends and quoted cells', () => {
    const line = (e: number) => `"Bodø ""${e % 7}""",€${e % 11},${e}\r\n`
    const long = Array.from({ length: 30_000 }, (_, e) => line(e)).join('')
    const quoted = `${long}"${'x\r'.repeat(40_000)}",B,7\r`
    const expected = Array.from({ length: 30_000 }, (_, e) => `Bodø "${e % 7}">€${e % 11}:${e}`)
    for (const content of [quoted, Buffer.from(quoted), Buffer.from(`\ufeff${quoted}`, 'utf16le')]) {
      expect(named(content)).toEqual([...expected, `${'x\n'.repeat(40_000)}>B:7`])
    }
    expect(() => named(`${long}A,B,x\n`)).toThrow(refusal('line 30001: '))
    expect(() => named(`${quoted}A,B,x\n`)).toThrow(refusal('line 70002: '))
    const divided = `p,q,1\n"a\n\nb","${'x\n'.repeat(70_000)}",7\nA,B,x\n`
    expect(() => named(divided)).toThrow(refusal('line 70005: '))
    // Each pair of surrogates begins at another position of a window.
    const faces = Array.from({ length: 40_000 }, (_, e) => `😀${'x'.repeat(e % 3)},b,${e % 5}\n`).join('')
    expect(new Set(named(faces).map((each) => each.slice(0, each.indexOf('>'))))).toEqual(
      new Set(['😀', '😀x', '😀xx']),
    )
    expect(() => named(`"${'x\n'.repeat(1 << 20)}",B,7\n`)).toThrow(
      refusal('a cell must have at most 1048576 bytes'),
    )
  })
})
