/**
 * Graph algorithms: best paths between all or some nodes, and edge lists in files.
 *
 * @packageDocumentation
 */

import './globals.js'

export { toEdgeList } from './graph/adapters.js'
export {
  type ParseGraphOptions,
  parseGraph,
} from './graph/formats.js'
export { kShortestPaths, type RankedPath } from './graph/k-shortest.js'
export type { NamedGraph, ReadEdgeList } from './graph/named-edges.js'
export { type NearestSources, nearestSources } from './graph/nearest.js'
export type { FoundBy, PathOptions } from './graph/options.js'
export { pathEdges } from './graph/path-edges.js'
export {
  type ClosureFunction,
  type KeyedLinkList,
  type LinkList,
  longestPaths,
  mostReliablePaths,
  type NamedIntegers,
  type NamedLinkList,
  type NamedPathOptions,
  type PathFunction,
  shortestPaths,
  transitiveClosure,
  type WeightsOf,
  widestPaths,
} from './graph/paths.js'
export {
  type PreparedGraph,
  type PreparedNamedGraph,
  prepareGraph,
} from './graph/prepared.js'
export { type ReadGraphOptions, readGraph } from './graph/read.js'
export { type NearestPaths, type ReducedPaths, type ReduceOptions, reducePaths } from './graph/reduce.js'
export type {
  Distances,
  NamedPaths,
  PathsResult,
  PathsWithNext,
  ResidentPaths,
  ResidentPathsWithNext,
} from './graph/result.js'
export type { PathSemiring } from './graph/rules.js'
export {
  components,
  type GraphComponents,
  type SpanningTree,
  spanningTree,
  topologicalOrder,
} from './graph/structure.js'
export { type Verified, verifyPaths } from './graph/verify.js'
export type { EdgeList, KeyedEdgeList, NamedEdgeList, NodeNumbers } from './graph-core/edges.js'
