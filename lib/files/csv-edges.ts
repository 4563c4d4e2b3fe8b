/** Edge lists in CSV: a line `FROM,TO,WEIGHT` for each edge, with nodes from 0; it may have the edge's tokens, too. */
import { MAX_DIMENSION } from '../matrix.js'
import { EntryCollector, type EntrySink, MOST_INT32 } from './entries.js'
import { headings, separate, separatorOf } from './separators.js'
import type { LineParser } from './text.js'

const COMMENT = '#'.charCodeAt(0)

/** The tokens of edges, as many as have been read. */
export class TokenColumn {
  #values = new Int32Array(1024)
  #count = 0

  add(tokens: number): void {
    if (this.#count === this.#values.length) {
      const larger = new Int32Array(2 * this.#count)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[this.#count++] = tokens
  }

  /** Null if no line had any. */
  end(): Int32Array | null {
    return this.#count === 0 ? null : this.#values.slice(0, this.#count)
  }
}

/**
 * @param nodes - how many there are; one more than the largest number in the file if undefined.
 * @param tokens - takes the fourth column; null if there may be none.
 */
export function csvEdgesParser<Result>(
  sink: EntrySink<Result>,
  nodes: number | undefined,
  tokens: TokenColumn | null = null,
): LineParser<Result> {
  const entries = new EntryCollector((block) => sink.take(block))
  const most = nodes === undefined ? MAX_DIMENSION - 1 : nodes - 1
  let largest = -1
  let integral = true
  let columns = 0
  let begun = false
  return {
    lines(reader) {
      while (reader.nextContent(COMMENT)) {
        if (!begun) {
          begun = true
          reader.separator = separatorOf(reader)
          sink.begin({ rows: nodes, cols: nodes, most: undefined, values: 'unknown' }, reader)
          if (headings(reader)) {
            reader.nextLine()
            continue
          }
        }
        if (most < 0) reader.fail('there is an edge, but no nodes')
        const i = reader.integer('the node where the edge begins', 0, most)
        separate(reader)
        const j = reader.integer('the node where the edge ends', 0, most)
        const isFirst = columns === 0
        if (isFirst) columns = reader.atLineEnd() ? 2 : 3
        if (columns === 2 && !reader.atLineEnd()) {
          reader.fail(
            'this edge has a weight, but the first one has none: write one for each edge, or for none',
          )
        }
        let value = 1
        if (columns > 2) {
          if (reader.atLineEnd()) reader.fail('the weight is missing')
          separate(reader)
          value = reader.number('the weight')
          integral &&= reader.integral
        }
        if (isFirst && columns === 3 && tokens && !reader.atLineEnd()) columns = 4
        if (columns === 4) {
          separate(reader)
          tokens!.add(reader.integer('the number of tokens', 0, MOST_INT32))
        }
        entries.add(i, j, value)
        reader.endLine()
        if (i > largest) largest = i
        if (j > largest) largest = j
      }
      entries.flush()
    },
    end(reader) {
      if (!begun) sink.begin({ rows: nodes, cols: nodes, most: undefined, values: 'unknown' }, reader)
      const count = nodes ?? largest + 1
      return sink.end(count, count, integral)
    },
  }
}
