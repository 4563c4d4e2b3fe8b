/** DIMACS shortest-path files. */
import { show } from '../../describe.js'
import { FileError } from '../../errors.js'
import { MAX_DIMENSION } from '../../matrix.js'
import { makeEdges } from '../edges.js'
import { atOnce, PER_STEP, type Steps } from '../slices.js'
import { code, LEAST, MOST, newEdges, type ReadEdgeList, requireCount, requireRoom } from './edges.js'
import { TextReader } from './text.js'

/**
 * Reads a graph in the format of the 9th DIMACS implementation challenge (`.gr`): a line `p sp NODES ARCS`, and a line
 * `a FROM TO WEIGHT` for each arc; lines that begin with c are comments. Its nodes are numbered from 1, those of the edge list
 * from 0. Weights are int32 integers.
 *
 * @param name - what errors call it.
 * @throws FileError with the number of the line; DTypeError for what is neither text nor bytes; OutOfMemoryError.
 * @see http://www.diag.uniroma1.it/challenge9/format.shtml
 */
export function parseDimacs(content: Uint8Array | string, name = 'the graph'): ReadEdgeList {
  return atOnce(parsingDimacs(content, name))
}

/** {@link parseDimacs} in steps. */
export function* parsingDimacs(content: Uint8Array | string, name: string): Steps<ReadEdgeList> {
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
      if (count % PER_STEP === 0) yield
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
