/** Matrix Market coordinate files. */
import { show } from '../../describe.js'
import { MAX_DIMENSION } from '../../matrix.js'
import { makeEdges } from '../edges.js'
import { atOnce, PER_STEP, type Steps } from '../slices.js'
import { code, LEAST, MOST, newEdges, type ReadEdgeList, requireCount, requireRoom } from './edges.js'
import { TextReader } from './text.js'

/**
 * Reads a square matrix in Matrix Market's coordinate format (`.mtx`): entry (i, j) is the edge from i to j, with nodes from 0.
 * Integers become int32, real numbers float64, and the edges of a pattern have the weight 1. A symmetric or skew-symmetric
 * file has the lower triangle; the edges of the upper one are made.
 *
 * @param name - what errors call it.
 * @throws FileError with the number of the line; DTypeError for what is neither text nor bytes; OutOfMemoryError.
 * @see https://math.nist.gov/MatrixMarket/formats.html
 */
export function parseMatrixMarket(content: Uint8Array | string, name = 'the matrix'): ReadEdgeList {
  return atOnce(parsingMatrixMarket(content, name))
}

/** {@link parseMatrixMarket} in steps. */
export function* parsingMatrixMarket(content: Uint8Array | string, name: string): Steps<ReadEdgeList> {
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
    if (read % PER_STEP === 0) yield
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
