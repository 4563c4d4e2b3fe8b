/**
 * The laboratory: times of kernel variants without transfers, microbenchmarks, occupancy, and files of
 * results. Measuring GPU kernels needs a GPU; `cpuCeiling`, `cpuNaiveLoop` and the files work anywhere.
 *
 * The names of parameters are those of P. P. Ghalsasi, "Max-Plus Matrix Multiplication Library for GPUs – MPMML"
 * (Colorado State University, 2019).
 *
 * @packageDocumentation
 */
import './globals.js'

export {
  type Bandwidth,
  type BandwidthResult,
  bandwidth,
  bandwidths,
} from './lab/bandwidths.js'
export {
  calculateOccupancy,
  calculatorGpus,
} from './lab/calculator.js'
export {
  cpuCeiling,
  cpuCeilingName,
  cpuNaiveLoop,
} from './lab/cpu-peak.js'
export { type Intensity, intensityOf } from './lab/intensity.js'
export { type Measurement, type MeasureOptions, measure } from './lab/kernels.js'
export { type Machine, machine, type Peak, peaks, tensorPeak } from './lab/machine.js'
export {
  ceiling,
  ceilingName,
  type Microbench,
  type MicrobenchOptions,
  type MicrobenchResult,
  microbench,
  microbenches,
} from './lab/microbenchmarks.js'
export { microbenchOccupancy, type Occupancy, occupancy } from './lab/occupancy.js'
export * from './lab/results.js'
export { type Ceilings, roofsOver } from './lab/roofline.js'
export { type Spread, spread } from './lab/statistics.js'
export {
  type TunedChoice,
  tune,
} from './lab/tune.js'
export { type MeasuredChoice, tuneWebGpu } from './lab/tune-webgpu.js'
export { type RefusedVariant, refusedVariants } from './lab/unsupported-variants.js'
export { type MicrobenchKernels, microbenchKernels, microbenchNames } from './variant-names.js'
