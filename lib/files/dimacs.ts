/**
 * The format of the 9th DIMACS implementation challenge (.gr): a line `p sp NODES ARCS`, and a line `a FROM TO WEIGHT` for
 * each arc; lines that begin with c are comments. http://www.diag.uniroma1.it/challenge9/format.shtml
 * Generators of graphs add a title in a line that begins with t, and the node that paths begin at as `n NODE`. Neither is
 * part of the matrix.
 */

import { show } from '../describe.js'
import { FileError } from '../errors.js'
import type { Steps } from '../graph-core/slices.js'
import { MAX_DIMENSION } from '../matrix.js'
import { fromLatin1 } from '../platform.js'
import { type Accepted, assertCapacity, assertCount, type EntrySink } from './entries.js'
import type { LineParser, TextReader } from './text.js'

const code = (character: string) => character.charCodeAt(0)
const [COMMENT, ARC, PROBLEM, NODE, TITLE] = [code('c'), code('a'), code('p'), code('n'), code('t')]

/** Fails unless a blank follows the word that begins a line. */
function assertBlank(reader: TextReader, word: string, example: string): void {
  if (reader.ends(reader.position)) return
  reader.fail(
    `a blank must follow ${show(word)}, but it is ${show(`${word}${reader.restOfLine()}`)}: write ${example}`,
  )
}

export function dimacsParser<Result>(sink: EntrySink<Result>): LineParser<Result> {
  let nodes = -1
  let arcs = 0
  let count = 0
  let accepted: Accepted
  function* problem(reader: TextReader): Steps<void> {
    if (nodes >= 0) reader.fail('there is a second line that begins with p')
    reader.skipBlanks()
    const { bytes, position } = reader
    if (fromLatin1(bytes, position, position + 2) !== 'sp') {
      reader.fail(
        `expected "p sp NODES ARCS", a shortest-path problem, but got ${show(`p ${reader.restOfLine()}`)}`,
      )
    }
    reader.position += 2
    assertBlank(reader, 'p sp', '"p sp NODES ARCS"')
    nodes = reader.integer('the number of nodes', 0, MAX_DIMENSION)
    arcs = reader.integer('the number of arcs', 0, MAX_DIMENSION)
    assertCapacity(reader, arcs, 'a 1 1 1\n'.length, 'arcs')
    accepted = yield* sink.begin({ rows: nodes, cols: nodes, most: arcs, values: 'integer' }, reader)
    reader.endLine()
  }
  return {
    *lines(reader) {
      while (reader.nextContent(COMMENT)) {
        const kind = reader.bytes[reader.position++]
        if (kind === ARC) {
          assertBlank(reader, 'a', '"a FROM TO WEIGHT"')
          if (nodes < 0) reader.fail('an arc comes before the line "p sp NODES ARCS"')
          if (count++ === arcs) assertCount(reader, count, arcs, 'arcs')
          const from = reader.integer('the node where the arc begins', 1, nodes)
          const to = reader.integer('the node where the arc ends', 1, nodes)
          sink.add(from - 1, to - 1, reader.integer('the weight', accepted.least, accepted.most))
          reader.endLine()
        } else if (kind === PROBLEM) {
          assertBlank(reader, 'p', '"p sp NODES ARCS"')
          yield* problem(reader)
        } else if (kind === NODE) {
          assertBlank(reader, 'n', '"n NODE"')
          if (nodes < 0) reader.fail('a node comes before the line "p sp NODES ARCS"')
          reader.integer('the node that paths begin at', 1, nodes)
          reader.endLine()
        } else if (kind === TITLE) {
          reader.nextLine()
        } else {
          reader.position--
          reader.fail(`a line must begin with a, p, n, t or c, but it is ${show(reader.restOfLine())}`)
        }
      }
    },
    *end(reader) {
      if (nodes < 0) {
        throw new FileError(`${reader.name}: there is no line "p sp NODES ARCS": is it a DIMACS .gr file?`)
      }
      assertCount(reader, count, arcs, 'arcs')
      return yield* sink.end(nodes, nodes, true)
    },
  }
}
