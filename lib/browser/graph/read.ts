import type * as inNode from '../../graph/read.js'
import { fetchAnd, noFile } from '../no-files.js'

export const readGraph = (() => noFile('readGraph', fetchAnd('parseGraph'))) as typeof inNode.readGraph
