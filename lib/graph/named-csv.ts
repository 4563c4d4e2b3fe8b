/** Edge lists in CSV that name nodes: a line `FROM,TO,WEIGHT` for each edge. */

import { show } from '../describe.js'
import { requireWithin } from '../files/memory.js'
import { isHeading, separatorOf } from '../files/separators.js'
import type { LineParser, TextReader } from '../files/text.js'
import { fromUtf8 } from '../host.js'
import { NamedEdges, type NamedGraph } from './named-edges.js'

const COMMENT = '#'.charCodeAt(0)
const NEWLINE = 10

/** What the first line has if it names columns, and there are only two of them. */
const usualHeadings = /^(from|to|source|target|start|end|node[12]?|[uvw])$/i

/** The cells of a line: those in quotation marks may have the separator in them. */
function cellsOf(line: string, separator: string | RegExp): string[] {
  if (typeof separator !== 'string' || !line.includes('"')) {
    return line.split(separator).map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'))
  }
  const cells: string[] = []
  const cell = /\s*(?:"((?:[^"]|"")*)"\s*|([^"]*?)\s*)(?:$|SEPARATOR)/
  const next = new RegExp(cell.source.replace('SEPARATOR', separator), 'y')
  while (next.lastIndex < line.length) {
    const found = next.exec(line)
    if (!found) return line.split(separator)
    cells.push(found[1]?.replaceAll('""', '"') ?? found[2]!)
  }
  return cells
}

/** Names are as they stand in the file: `1` and `01` are two nodes. */
export function namedCsvParser(name: string, maxBytes = Number.POSITIVE_INFINITY): LineParser<NamedGraph> {
  const edges = new NamedEdges<string>()
  let separator: string | RegExp | undefined
  let columns = 0
  const take = (reader: TextReader, cells: string[]) => {
    const isFirst = columns === 0
    if (isFirst) {
      columns = cells.length
      const [from, to, weight] = cells as [string, string?, string?]
      const names =
        weight === undefined ? usualHeadings.test(from) && usualHeadings.test(to ?? '') : isHeading(weight)
      if (names) return
    }
    if (cells.length !== columns || columns < 2 || columns > 3) {
      reader.fail(`expected FROM,TO,WEIGHT or FROM,TO, but it is ${show(reader.restOfLine())}`)
    }
    const [from, to, weight] = cells as [string, string, string?]
    if (from === '' || to === '') reader.fail('the name of a node is missing')
    edges.add(from, to, weight === undefined ? 1 : reader.numberIn(weight, 'the weight'))
  }
  return {
    lines(reader) {
      while (reader.nextContent(COMMENT)) {
        if (separator === undefined) {
          const byte = separatorOf(reader)
          separator = byte < 0 ? /\s+/ : String.fromCharCode(byte)
        }
        const end = reader.bytes.indexOf(NEWLINE, reader.position)
        take(reader, cellsOf(fromUtf8(reader.bytes, reader.position, end).trim(), separator))
        reader.nextLine()
      }
      requireWithin(edges.bytes, maxBytes, name)
    },
    end: () => edges.end(),
  }
}
