/** Work on files in steps, between which the event loop runs, and limits of the memory of a file. */
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { DenseEntries, denseRequest } from '../../lib/files/dense.js'
import { EntryList } from '../../lib/files/entries.js'
import { readMatrix } from '../../lib/files.js'
import { parseGraph, readGraph } from '../../lib/graph.js'
import type { Steps } from '../../lib/graph-core/slices.js'
import { coded } from '../support/coded.js'
import { useFolder } from '../support/folder.js'

const path = useFolder()
const reader = {
  fail(problem: string): never {
    throw new Error(problem)
  },
}

/** Runs all steps; returns the number of yields and the result. */
function run<Result>(steps: Steps<Result>): { yields: number; result: Result } {
  for (let yields = 0; ; yields++) {
    const { done, value } = steps.next()
    if (done) return { yields, result: value }
  }
}

describe('steps', () => {
  it('fill a dense matrix of a sparse file in slices', () => {
    const sink = new DenseEntries('it', denseRequest('max-plus', undefined))
    const { yields } = run(sink.begin({ rows: 2000, cols: 2000, most: 1, values: 'integer' }))
    expect(yields).toBeGreaterThanOrEqual(4_000_000 / 2 ** 18)
    expect(run(sink.end(2000, 2000)).result.data.every((value) => value === -(2 ** 31))).toBe(true)
  })

  it.each([true, false])('combine entries in slices, if all are integers: %s', (integral) => {
    const list = new EntryList('it', true)
    run(list.begin({ rows: undefined, cols: undefined, most: undefined, values: 'unknown' }, reader))
    const count = 300_001
    for (let e = 0; e < count; e++) list.add(e % 7, e % 5, integral ? e : e / 2)
    const { yields, result } = run(list.end(7, 7, integral))
    expect(yields).toBeGreaterThanOrEqual(Math.floor(count / 2 ** 16))
    expect([result.row.length, result.value.constructor.name]).toEqual([
      count,
      integral ? 'Int32Array' : 'Float64Array',
    ])
    expect(result.row.every((row, e) => row === e % 7) && result.col.every((col, e) => col === e % 5)).toBe(
      true,
    )
    expect(result.value.every((value: number, e: number) => value === (integral ? e : e / 2))).toBe(true)
  })
})

describe('one long line', () => {
  it('is read, and aborted by the signal', async () => {
    const cells = 200_000
    const file = path('long.csv')
    writeFileSync(file, Array.from({ length: cells }, (_, at) => at).join())
    const { data, shape } = await readMatrix(file)
    expect(shape).toEqual([1, cells])
    expect(data.every((value, at) => value === at)).toBe(true)
    const controller = new AbortController()
    setImmediate(() => controller.abort('enough'))
    await expect(readMatrix(file, { signal: controller.signal })).rejects.toMatchObject({
      code: 'ERR_MPMML_ABORTED',
      cause: 'enough',
    })
  })
})

describe('maxBytes', () => {
  it('limits edges, and names of nodes', async () => {
    const file = path('names.csv')
    writeFileSync(file, Array.from({ length: 20_000 }, (_, e) => `${'x'.repeat(50)}${e},b,1\n`).join(''))
    await expect(readGraph(file, { keys: true, maxBytes: 1e6 })).rejects.toEqual(coded('LIMIT', 'maxBytes'))
    expect((await readGraph(file, { keys: true, maxBytes: 1e7 })).nodes).toBe(20_001)
    const numbers = path('numbers.csv')
    writeFileSync(numbers, '0,1,0.5\n'.repeat(10_000))
    await expect(readGraph(numbers, { maxBytes: 159_999 })).rejects.toEqual(coded('LIMIT', 'maxBytes'))
    expect((await readGraph(numbers, { maxBytes: 160_000 })).from).toHaveLength(10_000)
  })
})

/** Texts that take long in a parser with backtracking. */
const SIZE = 1 << 20
const filled = (part: string) => part.repeat(Math.ceil(SIZE / part.length))
const numbered = (count: number, text: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => text(at)).join(' ')

describe('hostile text', () => {
  it.each([
    ['a quotation mark that nothing ends', `from,to,weight\n"a",${' '.repeat(SIZE)}x"y,1`],
    ['only quotation marks', filled('"')],
    ['quotation marks that nothing ends', filled('"a\n')],
    ['blanks in quotation marks', `"${filled(' ')}`],
    ['one letter', filled('a')],
    ['only commas', filled(',')],
    ['only digits', filled('9')],
    ['only marks', filled('\ufeff')],
    ['zeros', filled('\0')],
    ['lines of other cells', filled('a;b,c|d\te "f\n')],
    ['many sep lines', filled('sep=;\n')],
  ])('is rejected with a code: %s', async (_, text) => {
    for (const name of ['hostile.csv', 'hostile.tsv']) {
      writeFileSync(path(name), text)
      for (const keys of [true, false]) {
        await expect(readGraph(path(name), { keys } as { keys: true })).rejects.toEqual(coded('FILE'))
      }
      await expect(readMatrix(path(name))).rejects.toEqual(coded('FILE'))
    }
  })

  it.each([
    ['names', Array.from({ length: 100_000 }, (_, at) => `n${at},m${at}`).join('\n')],
    ['names that are not ASCII', filled('é,ü\n')],
    ['comments that may be edges', filled('#a,b\n')],
    ['line ends', filled('\r')],
  ])('is read correctly: %s', (name, text) => {
    const { keys, from, to } = parseGraph(text, {
      format: name.endsWith('.tsv') ? 'tsv' : 'csv',
      keys: true,
      name,
    })
    const edges = text.split(/\r|\n/).filter((line) => line !== '' && !line.startsWith('#'))
    const read = Array.from(from, (node, edge) => `${keys[node]},${keys[to[edge]!]}`)
    expect(read.join() === edges.join()).toBe(true)
    expect(new Set(keys).size).toBe(keys.length)
  })

  it.each([
    ['attributes of one edge', `<edge source="a" target="b" ${numbered(50_000, (at) => `a${at}=""`)}/>`],
    ['attributes of edges', numbered(50_000, (at) => `<edge source="a" target="b" a${at}=""/>`)],
    ['keys of nodes', numbered(50_000, (at) => `<key id="k${at}" for="node"/>`)],
  ])('is rejected with a code in GraphML: %s', (_, text) => {
    const given = `<graphml><graph edgedefault="directed">${text}</graph></graphml>`
    expect(() => parseGraph(given, { format: 'graphml' })).toThrow(coded('FILE', 'at most 32768 attributes'))
  })

  it('is reported with at most 8 columns in an error', () => {
    const text = `${'from,to,'.repeat(1000)}\n`
    expect(() => parseGraph(text, { format: 'csv' })).toThrow(
      coded('FILE', /begin in one column(?:.{0,20}'from'){8} may be it/),
    )
  })
})
