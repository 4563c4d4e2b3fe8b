/** DIMACS, Matrix Market and CSV: accepted texts, and rejected texts with the number of the line. */
import { writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { GraphTextOptions } from '../../lib/graph/formats.js'
import { parseGraph, readGraph } from '../../lib/graph.js'
import { coded } from '../support/coded.js'
import { useFolder } from '../support/folder.js'

type Content = string | Uint8Array
const dimacs = (content: Content) => parseGraph(content, { format: 'dimacs' })
const matrixMarket = (content: Content) => parseGraph(content, { format: 'matrix-market' })
const csv = (content: Content, options: GraphTextOptions = {}) =>
  parseGraph(content, { format: 'csv', ...options })

const lists = ({ nodes, from, to, weight }: ReturnType<typeof parseGraph>) => ({
  nodes,
  edges: Array.from(from, (i, e) => [i, to[e], weight[e]]),
  type: weight.constructor.name,
})

const refusal = (message: string | RegExp) => coded('FILE', message)

describe('DIMACS', () => {
  const text = 'c a comment\np sp 3 4\na 1 2 5\na 2 3 -7\n\na 3 3 0\nc between\na 1 2 2147483647\n'
  const expected = {
    nodes: 3,
    edges: [
      [0, 1, 5],
      [1, 2, -7],
      [2, 2, 0],
      [0, 1, 2147483647],
    ],
    type: 'Int32Array',
  }

  it.each([
    ['unchanged', text],
    ['with tabs and many blanks', text.replaceAll(' ', '\t  ').replaceAll('\n', '  \n')],
    [
      'in big-endian UTF-16 with \\r',
      Buffer.from(`\ufeff${text.replaceAll('\n', '\r')}`, 'utf16le').swap16(),
    ],
  ])('is read %s', (_, content) => {
    expect(lists(dimacs(content))).toEqual(expected)
  })

  it('skips the title, and the sources and targets of paths', () => {
    // Generators for maximum-flow problems write these lines.
    for (const line of ['t a title 9', 'n 2', 'n 2 s', 'n 1 t']) {
      const text = `p sp 2 1\n${line}\na 1 2 3\n`
      if (/^n \d \w/.test(line))
        expect(() => dimacs(text)).toThrow(refusal('line 2: expected the end of the line'))
      else expect(lists(dimacs(text)).edges).toEqual([[0, 1, 3]])
    }
    expect(() => dimacs('p sp 2 1\nn 9\na 1 2 3\n')).toThrow(
      refusal('line 2: the node that paths begin at must be from 1 to 2, but it is 9'),
    )
    expect(() => dimacs('p sp 2 1\nn 9 s\na 1 2 3\n')).toThrow(refusal('must be from 1 to 2, but it is 9'))
    expect(() => dimacs('n 1\np sp 2 0\n')).toThrow(refusal('line 1: a node comes before'))
  })

  it('accepts a graph without arcs', () => {
    expect(lists(dimacs('p sp 5 0'))).toEqual({ nodes: 5, edges: [], type: 'Int32Array' })
  })

  it.each([
    ['', 'there is no line "p sp NODES ARCS"'],
    ['c only\n', 'there is no line "p sp NODES ARCS"'],
    ['a 1 1 1\n', 'line 1: an arc comes before'],
    ['p sp 2 2\na 1 2 3\n', 'bytes follow'],
    ['p sp 2 2\na 1 2 3333333333333\n', 'line 2: the weight must be from -2147483648 to 2147483647'],
    ['p sp 2 2\na 1 2 3\nc padding padding\n', 'the file says that it has 2 arcs, but there are only 1'],
    ['p sp 2 1\na 1 2 3\na 1 2 3\n', 'the file says that it has 1 arcs, but there are more'],
    ['p sp 2 0\na 1 2 3\n', 'the file says that it has 0 arcs, but there are more'],
    ['p sp 2 2000000000\na 1 2 3\n', 'bytes follow'],
    ['p sp 2 1\na 1 3 3\n', 'line 2: the node where the arc ends must be from 1 to 2, but it is 3'],
    ['p sp 2 1\na 0 1 3\n', 'line 2: the node where the arc begins must be from 1 to 2, but it is 0'],
    ['p sp 2 1\na 1 2 3.5\n', 'line 2: the weight must be an integer, but it is 3.5'],
    ['p sp 2 1\na 1 2 \n', 'line 2: the weight is missing'],
    ['p sp 2 1\na 1 2 NaN\n', "the weight must be a number, but it is 'NaN'"],
    ['p sp 2 1\na 1 2 3 4\n', "line 2: expected the end of the line, but it goes on with '4'"],
    ['p sp 2 0\np sp 2 0\n', 'line 2: there is a second line that begins with p'],
    ['p max 2 1\na 1 2 3\n', 'line 1: expected "p sp NODES ARCS"'],
    ['p sp -2 1\na 1 2 3\n', 'the number of nodes must be from 0'],
    ['p sp 4294967296 0\n', 'the number of nodes must be from 0'],
    ['e 1 2\n', 'line 1: a line must begin with a, p, n, t or c'],
    ['p sp 2 1\na 1 2 --3\n', 'must be a number'],
    ['p sp 2 1\na 1 2 1e400\n', 'beyond the range of numbers'],
    ['p sp 2 1\na1 2 3\n', "line 2: a blank must follow 'a', but it is 'a1 2 3'"],
    ['psp 2 1\na 1 2 3\n', "line 1: a blank must follow 'p', but it is 'psp 2 1'"],
    ['p sp2 1\na 1 2 3\n', "line 1: a blank must follow 'p sp', but it is 'p sp2 1'"],
    ['p sp 2 1\nn1\na 1 2 3\n', "line 2: a blank must follow 'n', but it is 'n1'"],
  ])('rejects %j', (content, message) => {
    expect(() => dimacs(content)).toThrow(refusal(message))
  })
})

describe('Matrix Market', () => {
  const banner = (field: string, symmetry = 'general') =>
    `%%MatrixMarket matrix coordinate ${field} ${symmetry}\n`

  it('reads integers', () => {
    expect(lists(matrixMarket(`${banner('integer')}% comment\n\n2 2 2\n1 2 -5\n2 2 7`))).toEqual({
      nodes: 2,
      edges: [
        [0, 1, -5],
        [1, 1, 7],
      ],
      type: 'Int32Array',
    })
  })

  it('reads patterns, in upper and lower case', () => {
    const text = '%%matrixmarket MATRIX Coordinate Pattern General\n3 3 1\n3 1\n'
    expect(lists(matrixMarket(text))).toEqual({ nodes: 3, edges: [[2, 0, 1]], type: 'Int32Array' })
  })

  it('reads symmetric and skew-symmetric matrices', () => {
    expect(lists(matrixMarket(`${banner('integer', 'symmetric')}2 2 2\n1 1 3\n2 1 4\n`)).edges).toEqual([
      [0, 0, 3],
      [1, 0, 4],
      [0, 1, 4],
    ])
    expect(lists(matrixMarket(`${banner('real', 'skew-symmetric')}2 2 1\n2 1 4\n`)).edges).toEqual([
      [1, 0, 4],
      [0, 1, -4],
    ])
  })

  it.each([
    ['', 'line 1: expected "%%MatrixMarket matrix coordinate'],
    ['1 1 1\n', 'line 1: expected "%%MatrixMarket'],
    ['%%MatrixMarket matrix array real general\n1 1\n3\n', 'the format must be coordinate'],
    [`${banner('real')}2 3 1\n1 1 1\n`, 'a square matrix, but this one is 2 × 3'],
    [banner('integer', 'hermitian'), 'must be general, symmetric or skew-symmetric'],
    ['%%MatrixMarket matrix coordinate real\n', 'but it is undefined'],
    [
      `${banner('integer', 'symmetric')}2 2 1\n1 2 1\n`,
      'a symmetric file has entries below the diagonal and on it only',
    ],
    [`${banner('integer', 'skew-symmetric')}2 2 1\n1 1 1\n`, 'entries below the diagonal only'],
    [`${banner('integer', 'skew-symmetric')}2 2 1\n2 1 -2147483648\n`, 'has no negative in int32'],
    [`${banner('pattern')}2 2 1\n1 1 1\n`, 'expected the end of the line'],
  ])('rejects %j', (content, message) => {
    expect(() => matrixMarket(content)).toThrow(refusal(message))
  })
})

describe('CSV', () => {
  const expected = {
    nodes: 4,
    edges: [
      [0, 1, 5],
      [3, 0, -2],
    ],
    type: 'Int32Array',
  }
  it.each([
    '0,1,5\n3,0,-2\n',
    '0,1,5\n3,0,-2',
    'from,to,weight\n0,1,5\n3,0,-2\n',
    '# comment\r\nfrom;to;weight\r\n0;1;5\r\n3; 0; -2\r\n',
    '0 1 5\n\n3 0 -2\n',
    'a\tb\tc\n0\t1\t5\n#\n3\t0\t-2\n',
  ])('%j', (content) => {
    expect(lists(csv(content))).toEqual(expected)
  })

  it('reads weights as float64 unless all are int32 integers', () => {
    expect(lists(csv('0,1,5\n1,0,0.5\n'))).toMatchObject({ type: 'Float64Array' })
    expect([...csv('0,1,5\n1,0,2147483648\n').weight]).toEqual([5, 2147483648])
  })

  it('assigns the weight 1 without weights', () => {
    expect(lists(csv('0,1\n1,2\n')).edges).toEqual([
      [0, 1, 1],
      [1, 2, 1],
    ])
  })

  it('may be empty, with a number of nodes', () => {
    expect(lists(csv(''))).toEqual({ nodes: 0, edges: [], type: 'Int32Array' })
    expect(csv('0,1,5\n', { nodes: 10 }).nodes).toBe(10)
  })

  it('may have tokens if an option requests them', async () => {
    const lines = Array.from({ length: 3000 }, (_, e) => `${e % 7};${e % 5};${e};${e % 3}\n`)
    const { from, weight, tokens } = csv(`from;to;weight;tokens\n${lines.join('')}`, {
      tokens: true,
    })
    expect([from.length, weight[2999], tokens!.length]).toEqual([3000, 2999, 3000])
    expect(tokens!.every((count, e) => count === e % 3)).toBe(true)
    expect('tokens' in csv('0,1,5\n', { tokens: true })).toBe(false)
    const read = (text: string) => () => csv(text, { tokens: true })
    expect(read('0,1,5,2\n1,0,5\n')).toThrow(refusal("line 2: expected ','"))
    expect(read('0,1,5\n1,0,5,2\n')).toThrow(refusal('line 2'))
    expect(read('0,1,5,-1\n')).toThrow(refusal('line 1: the number of tokens must be'))
    expect(read('0,1,5,0.5\n')).toThrow(refusal('line 1'))
    expect(() => csv('0,1,5,2\n')).toThrow(refusal('line 1'))
    expect(csv('a,b,5,2\n', { tokens: true, keys: true })).toMatchObject({
      keys: ['a', 'b'],
      weight: Int32Array.of(5),
      tokens: Int32Array.of(2),
    })
  })

  it('may have many edges', () => {
    const text = Array.from({ length: 5000 }, (_, e) => `${e},${e + 1},${e * 3}\n`).join('')
    const { nodes, from, to, weight } = csv(text)
    expect([nodes, from[4999], to[4999], weight[4999], weight.length]).toEqual([
      5001, 4999, 5000, 14997, 5000,
    ])
  })

  it.each([
    ['0,1,5\n0,x,1\n', "line 2: the node where the edge ends must be a number, but it is 'x'"],
    ['0,1,5\n0,1\n', 'line 2: the weight is missing'],
    ['0,1\n0,1,5\n', 'line 2: this edge has a weight, but the first one has none'],
    ['0,1,5\n0;1;5\n', 'line 2'],
    ['0,1,\n', 'line 1: the weight is missing'],
    ['-1,1,5\n', 'line 1: the node where the edge begins must be from 0'],
    ['0,2147483647,5\n', 'line 1: the node where the edge ends must be from 0 to 2147483646'],
    ['0,1,5,6\n', 'line 1: expected the end of the line'],
    ['0,1,inf\n', "line 1: the weight must be a number, but it is 'inf'"],
    ['0.5,1,1\n', 'must be an integer, but it is 0.5'],
    ['1.0,1,1\n', 'must be an integer, but it is 1.0'],
    ['"0","1","5"\n', `line 1: the node where the edge begins must be a number, but it is '"0"'`],
  ])('rejects %j', (content, message) => {
    expect(() => csv(content)).toThrow(refusal(message))
  })

  it('rejects nodes beyond the specified number', () => {
    expect(() => csv('0,5,1\n', { nodes: 5 })).toThrow(
      refusal('the graph, line 1: the node where the edge ends'),
    )
    expect(() => csv('0,0,1\n', { nodes: 0 })).toThrow(refusal('no nodes'))
    for (const options of [{ nodes: 0.5 }, { nodes: -1 }, { edges: 3 }]) {
      expect(() => csv('', options)).toThrow(coded('OPTION', 'nodes'))
    }
  })
})

it('accepts the options of readGraph, and rejects options that a format doesn’t use', () => {
  const options = { keys: true, twoWay: true, scale: 100 } as const
  expect(csv('a,b,0.25\n', options)).toEqual({
    nodes: 2,
    keys: ['a', 'b'],
    from: Int32Array.of(0, 1),
    to: Int32Array.of(1, 0),
    weight: Int32Array.of(25, 25),
  })
  expect(() => csv('a,b,0.255\n', options)).toThrow(coded('VALUE', 'the edge from a to b'))
  const arc = 'p sp 2 1\na 1 2 3\n'
  for (const other of [{ nodes: 3 }, { keys: true }, { weight: 'km' }] as GraphTextOptions[])
    expect(() => parseGraph(arc, { format: 'dimacs', ...other })).toThrow(coded('OPTION', 'leave it out'))
})

it.each([dimacs, matrixMarket, csv])('%o rejects input other than text', (parse) => {
  for (const content of [undefined, null, 5, ['0,1,2'], new Int32Array(3)]) {
    expect(() => parse(content as never)).toThrow(coded('DTYPE', 'Uint8Array'))
  }
})

describe('integers beyond 2^53', () => {
  const graphml = (weight: string, attributes = '') =>
    parseGraph(
      `<graphml>\n<graph edgedefault="directed">\n<edge source="a" target="b"${attributes}><data key="cost">${weight}</data></edge>\n</graph></graphml>`,
      { format: 'graphml' },
    )
  const reals: [string, string, (weight: string) => { weight: ArrayLike<number> }][] = [
    ['CSV', 'line 1', (weight) => csv(`0,1,${weight}\n`)],
    ['CSV with names', 'line 2', (weight) => csv(`a,b,1\na,b,${weight}\n`, { keys: true })],
    ['quoted CSV', 'line 1', (weight) => csv(`0;1;"${weight}"\n`)],
    [
      'Matrix Market',
      'line 3',
      (weight) => matrixMarket(`%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 ${weight}`),
    ],
    ['GraphML', 'line 3', graphml],
    ['attributes of GraphML', 'line 3', (weight) => graphml('7', ` weight="${weight}"`)],
  ]
  const integers: [string, (weight: string) => unknown][] = [
    ['DIMACS', (weight) => dimacs(`p sp 1 1\na 1 1 ${weight}\n`)],
    [
      'Matrix Market',
      (weight) => matrixMarket(`%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 ${weight}`),
    ],
    ['nodes of CSV', (node) => csv(`0,${node},1\n`)],
    ['tokens of CSV', (tokens) => csv(`0,1,1,${tokens}\n`, { tokens: true })],
  ]

  it.each(reals)('are rejected as weights if float64 would round them: %s', (_, line, read) => {
    for (const weight of ['9007199254740993', '-9007199254740993', '+18446744073709551615', '9'.repeat(40)]) {
      const message = `must be a number that float64 holds, but it is '${weight}', an integer beyond 2^53`
      expect(() => read(weight)).toThrow(refusal(message))
      expect(() => read(weight)).toThrow(refusal(new RegExp(`${line}: the (weight|entry) must`)))
    }
  })

  it.each(reals)(
    'are weights if float64 represents them, or if they are written as reals: %s',
    (_, __, read) => {
      for (const weight of [
        '9007199254740992',
        '-18446744073709551616',
        '9007199254740993.0',
        '9007199254740993e0',
        '1e+23',
      ])
        expect([...Array.from(read(weight).weight)].at(-1)).toBe(Number(weight))
    },
  )

  it.each(integers)('are out of range for formats that require integers: %s', (_, read) => {
    for (const integer of ['9007199254740993', '9'.repeat(400)])
      expect(() => read(integer)).toThrow(
        refusal(new RegExp(`must be from -?\\d+ to \\d+, but it is ${integer}`)),
      )
  })
})

describe('files', () => {
  const inFolder = useFolder()
  const write = (name: string, text: string) => {
    writeFileSync(inFolder(name), text)
    return inFolder(name)
  }

  it('are selected by the extension, or by the option', async () => {
    const gr = write('a.GR', 'p sp 2 1\na 1 2 3\n')
    const mtx = write('a.mtx', '%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 3\n')
    const csv = write('a.csv', '0,1,3\n')
    const other = write('a.txt', '0,1,3\n')
    const expected = { nodes: 2, edges: [[0, 1, 3]], type: 'Int32Array' }
    for (const path of [gr, mtx, csv]) expect(lists(await readGraph(path))).toEqual(expected)
    expect(lists(await readGraph(other, { format: 'csv' }))).toEqual(expected)
    await expect(readGraph(other)).rejects.toEqual(
      refusal("must end with '.gr', '.mtx', '.csv', '.tsv' or '.graphml'"),
    )
    await expect(readGraph(other, { format: 'xml' as never })).rejects.toMatchObject({
      code: 'ERR_MPMML_OPTION',
    })
    await expect(readGraph(other, { form: 'csv' } as never)).rejects.toMatchObject({
      code: 'ERR_MPMML_OPTION',
    })
  })

  it('may be compressed by gzip', async () => {
    const path = inFolder('c.gr.gz')
    writeFileSync(path, gzipSync('p sp 2 1\na 1 2 3\n'))
    expect(lists(await readGraph(path)).edges).toEqual([[0, 1, 3]])
  })

  it('may have many windows, and keep the numbers of lines', async () => {
    const arcs = Array.from({ length: 200_000 }, (_, e) => `a ${1 + (e % 999)} ${1 + (e % 7)} ${e}\n`)
    const path = write('many.gr', `p sp 999 200000\n${arcs.join('')}`)
    const { from, to, weight } = await readGraph(path)
    expect([from.length, from[199_999], to[199_999], weight[199_999]]).toEqual([200_000, 199, 2, 199_999])
    arcs[150_000] = 'a 1 1 x\n'
    const wrong = write('wrong.gr', `p sp 999 200000\n${arcs.join('')}`)
    await expect(readGraph(wrong)).rejects.toEqual(refusal('line 150002: the weight must be a number'))
  })

  it('cause errors that name the file and the line', async () => {
    const path = write('bad.gr', 'p sp 2 1\na 1 9 3\n')
    await expect(readGraph(path)).rejects.toEqual(refusal(`${path}, line 2: `))
    await expect(readGraph(inFolder('none.gr'))).rejects.toEqual(refusal('ENOENT'))
    await expect(readGraph(inFolder(), { format: 'csv' })).rejects.toEqual(refusal('a folder'))
  })

  it('are read in slices, so that the event loop turns and a signal takes effect', async () => {
    const lines = 400_000
    const path = write('long.csv', '0,1,3\n'.repeat(lines))
    const controller = new AbortController()
    let turns = 0
    const timer = setInterval(() => {
      if (++turns === 3) controller.abort('enough')
    }, 1)
    const { signal } = controller
    await expect(readGraph(path, { signal })).rejects.toMatchObject({
      code: 'ERR_MPMML_ABORTED',
      cause: 'enough',
    })
    clearInterval(timer)
    expect((await readGraph(path)).from.length).toBe(lines)
  })

  it('stop being read if the signal is aborted', async () => {
    const path = write('b.csv', '0,1,3\n')
    await expect(readGraph(path, { signal: AbortSignal.abort('enough') })).rejects.toMatchObject({
      code: 'ERR_MPMML_ABORTED',
      cause: 'enough',
    })
  })
})
