/** Edge lists in CSV: a line `FROM,TO,WEIGHT` for each edge, with nodes from 0. */
import { MAX_DIMENSION } from '../matrix.js'
import { EntryCollector, type EntrySink } from './entries.js'
import { headings, separate, separatorOf } from './separators.js'
import type { LineParser } from './text.js'

const COMMENT = '#'.charCodeAt(0)

/** @param nodes - how many there are; one more than the largest number in the file if undefined. */
export function csvEdgesParser<Result>(
  sink: EntrySink<Result>,
  nodes: number | undefined,
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
        if (columns === 0) columns = reader.atLineEnd() ? 2 : 3
        let value = 1
        if (columns === 3) {
          separate(reader)
          value = reader.number('the weight')
          integral &&= reader.integral
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
