/** Random graphs that are written and read again: difficult names, self-loops, parallel edges, zeros. */
import { writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { readEntries, writeEntries } from '../../lib/files.js'
import { parseGraph, readGraph } from '../../lib/graph.js'
import { useFolder } from '../support/folder.js'
import { Random } from '../support/generators.js'

const path = useFolder()
const random = new Random(4711)

const pieces = [
  'A',
  'b',
  '0',
  '01',
  '-1',
  '1.5',
  '1,5',
  ' ',
  '  x',
  ',',
  ';',
  '\t',
  '|',
  '"',
  '""',
  "'",
  '#',
  '#1',
  'é',
  'Ö',
  '東京',
  '👩‍🚀',
  '\n',
  '\r\n',
  '\u00a0',
  '\u2028',
  'null',
  'NaN',
  'inf',
  'ε',
  '.',
  'constructor',
  '__proto__',
  'sep=;',
  '=1+1',
  '\\',
  '%',
  'x'.repeat(300),
]

/** Random name that doesn't consist of blanks only. */
const newName = (): string => {
  const name = Array.from({ length: random.integer(1, 4) }, () => random.pick(pieces)).join('')
  return name.trim() === '' ? newName() : name
}

interface List {
  readonly from: string[]
  readonly to: string[]
  readonly weight: number[]
  readonly tokens: number[]
}

function randomList(integral: boolean): List {
  const names = Array.from({ length: random.integer(1, 6) }, newName)
  const length = random.integer(1, 12)
  const draw = <Value>(make: () => Value) => Array.from({ length }, make)
  const weight = integral
    ? () => random.pick([0, -1, 2147483647, -2147483648, random.integer(-99, 99)])
    : () => random.pick([0.1, -1e-300, 1.7976931348623157e308, 5e-324, random.integer(-99, 99) / 8])
  const from = draw(() => random.pick(names))
  return {
    from,
    to: from.map((node) => (random.chance(0.2) ? node : random.pick(names))),
    weight: draw(weight),
    tokens: draw(() => random.integer(0, 5)),
  }
}

/** Writes a cell by RFC 4180: in quotation marks if necessary, and at random otherwise. */
const cell = (text: string, separator: string) =>
  /^[\s#]|\s$|["\r\n]/.test(text) || text.includes(separator) || random.chance(0.3)
    ? `"${text.replaceAll('"', '""')}"`
    : text

/** Name after reading: line ends become \n. */
const read = (name: string) => name.replace(/\r\n?/g, '\n')

/** Edge list in a random dialect of CSV. */
function csvOf({ from, to, weight, tokens }: List): string {
  const separator = random.pick([',', ';', '\t', '|'])
  const end = random.pick(['\n', '\r\n', '\r'])
  const columns = random.pick([
    ['from', 'to', 'weight', 'tokens'],
    ['tokens', 'weight', 'target', 'source'],
    ['id', 'dst', 'src', 'cost', 'tokens'],
  ])
  const point = separator === ';' && random.chance(0.5) ? ',' : '.'
  const textOf = (column: string, e: number): string => {
    if (column === 'from' || column === 'source' || column === 'src') return cell(from[e]!, separator)
    if (column === 'to' || column === 'target' || column === 'dst') return cell(to[e]!, separator)
    if (column === 'tokens') return `${tokens[e]}`
    return column === 'id' ? `${e}` : `${weight[e]}`.replace('.', point)
  }
  const lines = [
    columns.join(separator),
    ...from.map((_, e) => columns.map((column) => textOf(column, e)).join(separator)),
  ]
  const declaration = separator !== '\t' || random.chance(0.5) ? `sep=${separator}${end}` : ''
  return `${declaration}${lines.join(random.chance(0.2) ? `${end}${end}` : end)}${random.pick(['', end])}`
}

describe('edge lists with names', () => {
  it.each(Array.from({ length: 60 }, (_, index) => index))(
    'are unchanged after writing and reading CSV: %i',
    async (index) => {
      const list = randomList(index % 2 === 0)
      const text = csvOf(list)
      const expected = {
        from: list.from.map(read),
        to: list.to.map(read),
        weight: list.weight.map((weight) => weight + 0),
        tokens: list.tokens,
      }
      const shown = (graph: {
        keys: readonly string[]
        from: Int32Array
        to: Int32Array
        weight: ArrayLike<number>
        tokens?: Int32Array
      }) => ({
        from: Array.from(graph.from, (node) => graph.keys[node]),
        to: Array.from(graph.to, (node) => graph.keys[node]),
        weight: Array.from(graph.weight, (weight) => weight + 0),
        tokens: Array.from(graph.tokens ?? []),
      })
      const options = { keys: true, tokens: true } as const
      const bytes = random.pick([
        Buffer.from(text),
        Buffer.from(`\ufeff${text}`),
        Buffer.from(`\ufeff${text}`, 'utf16le'),
      ])
      expect(shown(parseGraph(text, { format: 'csv', ...options }))).toEqual(expected)
      expect(shown(parseGraph(bytes, { format: 'csv', ...options }))).toEqual(expected)
      const file = path(`list${index}.csv${index % 3 === 0 ? '.gz' : ''}`)
      writeFileSync(file, index % 3 === 0 ? gzipSync(bytes) : bytes)
      expect(shown(await readGraph(file, options))).toEqual(expected)
    },
  )
})

describe('sparse matrices', () => {
  it.each(Array.from({ length: 24 }, (_, index) => index))(
    'are unchanged after writing and reading every format: %i',
    async (index) => {
      const size = random.integer(1, 9)
      const length = random.integer(0, 20)
      const places = () => Int32Array.from({ length }, () => random.integer(0, size - 1))
      const isInteger = index % 2 === 0
      const integers = Int32Array.from({ length }, () =>
        random.pick([0, 2147483647, -2147483648, random.integer(-9, 9)]),
      )
      const value = isInteger
        ? integers
        : Float64Array.from(integers, (integer) => integer * random.pick([1 / 3, 1e11 / 3]))
      const entries = { shape: [size, size] as const, row: places(), col: places(), value }
      for (const ending of isInteger ? ['mtx', 'mtx.gz', 'gr', 'gr.gz'] : ['mtx', 'mtx.gz']) {
        const file = path(`sparse${index}.${ending}`)
        await writeEntries(file, entries)
        expect(await readEntries(file)).toEqual(entries)
        const { nodes, from, to, weight } = await readGraph(file)
        expect({ shape: [nodes, nodes], row: from, col: to, value: weight }).toEqual(entries)
      }
    },
  )
})
