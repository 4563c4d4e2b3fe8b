import type * as inNode from '../../graph/read.js'
import { fetchAnd, noFile } from '../no-files.js'

export const readGraph = (() =>
  noFile(
    'readGraph',
    fetchAnd('parseEdgeCsv, parseGraphml, parseDimacs or parseMatrixMarket'),
  )) as typeof inNode.readGraph
