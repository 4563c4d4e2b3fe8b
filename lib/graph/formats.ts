/** Edge lists in text: DIMACS shortest-path files, Matrix Market coordinate files, and CSV. */
import { show } from '../describe.js'
import { FileError, OutOfMemoryError } from '../errors.js'
import { MAX_DIMENSION } from '../matrix.js'
import { type EdgeList, makeEdges } from './edges.js'
import { TextReader } from './text.js'

/** What the readers make. */
export interface ReadEdgeList extends EdgeList<Int32Array | Float64Array> {
  readonly from: Int32Array
  readonly to: Int32Array
  readonly weight: Int32Array | Float64Array
}

const LEAST = -(2 ** 31)
const MOST = 2 ** 31 - 1
const code = (character: string) => character.charCodeAt(0)

function newEdges<Data>(count: number, make: (count: number) => Data, name: string): Data {
  try {
    return make(count)
  } catch (error) {
    throw new OutOfMemoryError(`${name}: there is no memory for ${count} edges`, { cause: error })
  }
}

/** A file can't hold more edges than it has bytes for: then its count lies, and needs no memory. */
function requireRoom(reader: TextReader, count: number, bytesPerEdge: number, what: string): void {
  const left = reader.bytes.length - reader.position
  // The last line may lack its end.
  if (count * bytesPerEdge <= left + 1) return
  reader.fail(`the file says that it has ${count} ${what}, but only ${left} bytes follow: it is not complete`)
}

function requireCount(reader: TextReader, came: number, said: number, what: string): void {
  if (came === said) return
  throw new FileError(
    `${reader.name}: the file says that it has ${said} ${what}, but there are ${came > said ? 'more' : `only ${came}`}`,
  )
}

/**
 * Reads a graph in the format of the 9th DIMACS implementation challenge (`.gr`): a line `p sp NODES ARCS`, and a line
 * `a FROM TO WEIGHT` for each arc; lines that begin with c are comments. Its nodes are numbered from 1, those of the edge list
 * from 0. Weights are int32 integers.
 *
 * @param name - what errors call it.
 * @throws FileError with the number of the line; OutOfMemoryError.
 * @see http://www.diag.uniroma1.it/challenge9/format.shtml
 */
export function parseDimacs(content: Uint8Array | string, name = 'the graph'): ReadEdgeList {
  const reader = new TextReader(content, name)
  const { bytes } = reader
  let nodes = -1
  let arcs = 0
  let from = new Int32Array(0)
  let to = from
  let weight = from
  let count = 0
  while (reader.nextContent(code('c'))) {
    const kind = bytes[reader.position++]
    if (kind === code('a')) {
      if (nodes < 0) reader.fail('an arc comes before the line "p sp NODES ARCS"')
      if (count === arcs) requireCount(reader, arcs + 1, arcs, 'arcs')
      from[count] = reader.integer('the node where the arc begins', 1, nodes) - 1
      to[count] = reader.integer('the node where the arc ends', 1, nodes) - 1
      weight[count++] = reader.integer('the weight', LEAST, MOST)
      reader.endLine()
    } else if (kind === code('p')) {
      if (nodes >= 0) reader.fail('there is a second line that begins with p')
      reader.skipBlanks()
      const [s, p] = [bytes[reader.position], bytes[reader.position + 1]]
      if (s !== code('s') || p !== code('p')) {
        reader.fail(
          `expected "p sp NODES ARCS", a shortest-path problem, but got ${show(`p ${reader.restOfLine()}`)}`,
        )
      }
      reader.position += 2
      nodes = reader.integer('the number of nodes', 0, MAX_DIMENSION)
      arcs = reader.integer('the number of arcs', 0, MAX_DIMENSION)
      reader.endLine()
      requireRoom(reader, arcs, 'a 1 1 1\n'.length, 'arcs')
      ;[from, to, weight] = newEdges(
        arcs,
        (length) => [new Int32Array(length), new Int32Array(length), new Int32Array(length)],
        name,
      )
    } else {
      reader.position--
      reader.fail(`a line must begin with a, p or c, but it is ${show(reader.restOfLine())}`)
    }
  }
  if (nodes < 0) throw new FileError(`${name}: there is no line "p sp NODES ARCS": is it a DIMACS .gr file?`)
  requireCount(reader, count, arcs, 'arcs')
  return makeEdges(nodes, from, to, weight)
}

/**
 * Reads a square matrix in Matrix Market's coordinate format (`.mtx`): entry (i, j) is the edge from i to j, with nodes from 0.
 * Integers become int32, real numbers float64, and the edges of a pattern have the weight 1. A symmetric or skew-symmetric
 * file has the lower triangle; the edges of the upper one are made.
 *
 * @param name - what errors call it.
 * @throws FileError with the number of the line; OutOfMemoryError.
 * @see https://math.nist.gov/MatrixMarket/formats.html
 */
export function parseMatrixMarket(content: Uint8Array | string, name = 'the matrix'): ReadEdgeList {
  const reader = new TextReader(content, name)
  const banner = reader.restOfLine()
  const [head, object, format, field, symmetry, ...rest] = banner.toLowerCase().split(/\s+/)
  if (head !== '%%matrixmarket' || object !== 'matrix' || rest.length > 0) {
    reader.fail(`expected "%%MatrixMarket matrix coordinate …", but got ${show(banner)}`)
  }
  if (format !== 'coordinate') {
    reader.fail(`the format must be coordinate, but it is ${show(format)}: only sparse files are edge lists`)
  }
  if (field !== 'integer' && field !== 'real' && field !== 'pattern') {
    reader.fail(`entries must be integer, real or pattern, but they are ${show(field)}`)
  }
  const skew = symmetry === 'skew-symmetric'
  if (symmetry !== 'general' && symmetry !== 'symmetric' && !skew) {
    reader.fail(`the matrix must be general, symmetric or skew-symmetric, but it is ${show(symmetry)}`)
  }
  reader.nextLine()
  if (!reader.nextContent(code('%'))) reader.fail('the line "ROWS COLUMNS ENTRIES" is missing')
  const nodes = reader.integer('the number of rows', 0, MAX_DIMENSION)
  const cols = reader.integer('the number of columns', 0, MAX_DIMENSION)
  const entries = reader.integer('the number of entries', 0, MAX_DIMENSION)
  if (nodes !== cols) reader.fail(`a graph has a square matrix, but this one is ${nodes} × ${cols}`)
  reader.endLine()
  requireRoom(reader, entries, field === 'pattern' ? '1 1\n'.length : '1 1 1\n'.length, 'entries')
  const general = symmetry === 'general'
  const room = general ? entries : 2 * entries
  const [from, to, weight] = newEdges(
    room,
    (length): [Int32Array, Int32Array, Int32Array | Float64Array] => [
      new Int32Array(length),
      new Int32Array(length),
      field === 'real' ? new Float64Array(length) : new Int32Array(length),
    ],
    name,
  )
  let count = 0
  let read = 0
  while (reader.nextContent(code('%'))) {
    if (read++ === entries) requireCount(reader, read, entries, 'entries')
    const i = reader.integer('the row', 1, nodes) - 1
    const j = reader.integer('the column', 1, nodes) - 1
    let value = 1
    if (field === 'integer') value = reader.integer('the entry', LEAST, MOST)
    else if (field === 'real') value = reader.number('the entry')
    if (!general && (i < j || (skew && i === j))) {
      reader.fail(`a ${symmetry} file has entries below the diagonal${skew ? '' : ' and on it'} only`)
    }
    reader.endLine()
    from[count] = i
    to[count] = j
    weight[count++] = value
    if (general || i === j) continue
    if (skew && value === LEAST && field === 'integer')
      reader.fail('the entry −2^31 has no negative in int32')
    from[count] = j
    to[count] = i
    weight[count++] = skew ? -value : value
  }
  requireCount(reader, read, entries, 'entries')
  return makeEdges(nodes, from.slice(0, count), to.slice(0, count), weight.slice(0, count))
}

export interface CsvOptions {
  /** How many nodes there are; one more than the largest number in the file by default. */
  nodes?: number | undefined
}

/**
 * Reads an edge list in CSV: a line `FROM,TO,WEIGHT` for each edge, with nodes from 0. Semicolons, tabs or spaces may take the
 * place of the commas. The first line may hold names of the columns, which are not looked at. Lines that begin with # are comments. Without a
 * third column all weights are 1.
 *
 * The weights are int32 if all of them are integers in its range, and float64 otherwise.
 *
 * @param name - what errors call it.
 * @throws FileError with the number of the line; OutOfMemoryError.
 */
export function parseEdgeCsv(
  content: Uint8Array | string,
  name = 'the edge list',
  { nodes }: CsvOptions = {},
): ReadEdgeList {
  const reader = new TextReader(content, name)
  if (nodes !== undefined && !(Number.isInteger(nodes) && nodes >= 0 && nodes <= MAX_DIMENSION)) {
    throw new FileError(`${name}: nodes must be an integer from 0 to 2^31 - 1, but it is ${show(nodes)}`)
  }
  const most = nodes === undefined ? MAX_DIMENSION - 1 : nodes - 1
  let capacity = 1024
  let from = new Int32Array(capacity)
  let to = new Int32Array(capacity)
  let weight = new Float64Array(capacity)
  let count = 0
  let largest = -1
  let integers = true
  let columns = 0
  let first = true
  while (reader.nextContent(code('#'))) {
    if (first) {
      first = false
      reader.separator = separatorOf(reader.restOfLine())
      const byte = reader.bytes[reader.position]!
      // A sign is no name: it is a wrong number, which is told below.
      if (!(byte >= code('0') && byte <= code('9')) && byte !== code('-') && byte !== code('+')) {
        reader.nextLine()
        continue
      }
    }
    if (count === capacity) {
      capacity *= 2
      ;[from, to, weight] = newEdges(
        capacity,
        (length) => [
          grown(from, new Int32Array(length)),
          grown(to, new Int32Array(length)),
          grown(weight, new Float64Array(length)),
        ],
        name,
      )
    }
    if (most < 0) reader.fail('there is an edge, but no nodes')
    const i = reader.integer('the node where the edge begins', 0, most)
    separate(reader)
    const j = reader.integer('the node where the edge ends', 0, most)
    if (columns === 0) columns = reader.atLineEnd() ? 2 : 3
    let value = 1
    if (columns === 3) {
      separate(reader)
      value = reader.number('the weight')
      integers &&= reader.integral && value >= LEAST && value <= MOST
    }
    reader.endLine()
    from[count] = i
    to[count] = j
    weight[count++] = value
    if (i > largest) largest = i
    if (j > largest) largest = j
  }
  const values = weight.subarray(0, count)
  return makeEdges(
    nodes ?? largest + 1,
    from.slice(0, count),
    to.slice(0, count),
    integers ? Int32Array.from(values) : values.slice(),
  )
}

function grown<Data extends Int32Array | Float64Array>(old: Data, larger: Data): Data {
  larger.set(old)
  return larger
}

/** The separator of a line; -1 if only blanks separate. */
function separatorOf(line: string): number {
  for (const separator of [',', ';']) if (line.includes(separator)) return code(separator)
  return -1
}

function separate(reader: TextReader): void {
  if (reader.separator < 0) return
  reader.skipBlanks()
  if (reader.bytes[reader.position] !== reader.separator) {
    reader.fail(
      `expected ${show(String.fromCharCode(reader.separator))}, but got ${show(reader.restOfLine())}`,
    )
  }
  reader.position++
}
