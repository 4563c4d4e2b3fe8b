/**
 * Graph algorithms: best paths between all or some nodes, and edge lists in files.
 *
 * @packageDocumentation
 */

import './globals.js'

export {
  type ArrowLike,
  type CytoscapeLike,
  type GraphlibLike,
  type GraphologyLike,
  type NgraphLike,
  type ToEdgeListOptions,
  toEdgeList,
} from './graph/adapters.js'
export {
  type GraphFormat,
  type GraphTextOptions,
  type ParseGraphOptions,
  parseGraph,
} from './graph/formats.js'
export { kShortestPaths, type RankedPath } from './graph/k-shortest.js'
export type { NamedGraph, ReadEdgeList } from './graph/named-edges.js'
export { type NearestSources, type NearestSourcesOptions, nearestSources } from './graph/nearest.js'
export type { AbortOptions, FoundBy, PathMethod, PathOptions, SearchOptions } from './graph/options.js'
export { type PathEdgesOptions, pathEdges } from './graph/path-edges.js'
export {
  type AnyWeights,
  type ClosureFunction,
  type Integers,
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
  type WithPaths,
  widestPaths,
} from './graph/paths.js'
export {
  type PreparedGraph,
  type PreparedNamedGraph,
  type PrepareOptions,
  prepareGraph,
} from './graph/prepared.js'
export { type ReadGraphOptions, readGraph } from './graph/read.js'
export { type NearestPaths, type ReducedPaths, type ReduceOptions, reducePaths } from './graph/reduce.js'
export type { Nearest, Reduction } from './graph/reduction.js'
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
  type ComponentOptions,
  components,
  type GraphComponents,
  type SpanningTree,
  type SpanningTreeOptions,
  spanningTree,
  topologicalOrder,
} from './graph/structure.js'
export { type Verifiable, type Verified, type VerifyOptions, verifyPaths } from './graph/verify.js'
export type { EdgeList, KeyedEdgeList, NamedEdgeList, NodeNumbers } from './graph-core/edges.js'
