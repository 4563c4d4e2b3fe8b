/** Edge lists in CSV. */
import { show } from '../../describe.js'
import { OptionError } from '../../errors.js'
import { MAX_DIMENSION } from '../../matrix.js'
import { requireNames } from '../../options.js'
import { makeEdges } from '../edges.js'
import { atOnce, PER_STEP, type Steps } from '../slices.js'
import { code, LEAST, MOST, newEdges, type ReadEdgeList } from './edges.js'
import { TextReader } from './text.js'

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
 * @throws FileError with the number of the line; DTypeError for what is neither text nor bytes; OptionError; OutOfMemoryError.
 */
export function parseEdgeCsv(
  content: Uint8Array | string,
  name = 'the edge list',
  options: CsvOptions = {},
): ReadEdgeList {
  return atOnce(parsingEdgeCsv(content, name, options))
}

/** {@link parseEdgeCsv} in steps. */
export function* parsingEdgeCsv(
  content: Uint8Array | string,
  name: string,
  options: CsvOptions = {},
): Steps<ReadEdgeList> {
  requireNames(options, ['nodes'])
  const { nodes } = options
  if (nodes !== undefined && !(Number.isInteger(nodes) && nodes >= 0 && nodes <= MAX_DIMENSION)) {
    throw new OptionError(`option nodes must be an integer from 0 to 2^31 - 1, but it is ${show(nodes)}`)
  }
  const reader = new TextReader(content, name)
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
      // A sign, and a number in quotes, are no name: they are wrong, as is told below.
      if (!/^["']?[-+]?\d/.test(reader.restOfLine())) {
        reader.nextLine()
        continue
      }
    }
    if (count % PER_STEP === PER_STEP - 1) yield
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
