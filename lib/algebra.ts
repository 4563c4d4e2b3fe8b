/**
 * Max-plus algebra beyond products: closures and powers, cycle means, eigenvalues and eigenvectors, residuals, trajectories, and
 * start times.
 *
 * @packageDocumentation
 */
import './globals.js'

export type { CycleMean, CycleOptions } from './algebra/best-cycles.js'
export { plus, star } from './algebra/closure.js'
export { type CriticalGraph, criticalGraph } from './algebra/critical.js'
export {
  type ComponentMeans,
  type CycleTimes,
  componentCycleMeans,
  cycleTimes,
  maximumCycleMean,
  minimumCycleMean,
} from './algebra/cycle-mean.js'
export { type Eigenvector, type Eigenvectors, eigenvectors } from './algebra/eigen.js'
export type { AlgebraOptions } from './algebra/options.js'
export { power } from './algebra/power.js'
export { periodicRegime, type Regime } from './algebra/regime.js'
export {
  greatestSubsolution,
  leftResidual,
  type ResidualFunction,
  type ResidualOptions,
  rightResidual,
  type Subsolution,
} from './algebra/residual.js'
export { reverseEdges } from './algebra/reverse-edges.js'
export {
  type EarliestOptions,
  type EarliestStarts,
  earliestStarts,
  type LatestOptions,
  type LatestStarts,
  latestStarts,
} from './algebra/schedule.js'
export type { EdgeTokens, TokenEdgeList } from './algebra/tokens.js'
export { type States, type TrajectoryOptions, trajectory } from './algebra/trajectory.js'
export type { Vector } from './algebra/vector.js'
export { weightMatrix } from './algebra/weight-matrix.js'
export type { IntegerEdges, NamedWeights, Weights } from './algebra/weights.js'
export type { AlgebraResult } from './product/result.js'
