/** Describes the machine of measurements. */
import { show, showChoices } from '../describe.js'
import { AddonError, NoCudaError, VariantError } from '../errors.js'
import { describeMachine, info } from '../info.js'
import { addon, addonOrigin, type LabPeak, withoutLaboratory } from '../native.js'
import { assertObject } from '../options.js'

/**
 * Results per clock and multiprocessor of 32-bit integer instructions, by compute capability; 0 if the
 * architecture lacks the instruction. Source: CUDA C++ Programming Guide, "Throughput of Native Arithmetic
 * Instructions".
 */
export interface Peak extends Readonly<LabPeak> {}

/**
 * Returns the peaks of all known architectures; none if the library was built without CUDA.
 *
 * @throws Nothing.
 * @example
 * console.log(Array.isArray(peaks())) // true
 */
export function peaks(): Peak[] {
  return addon.labPeaks()
}

/** Throws AddonError if the loaded addon has CUDA but not the laboratory's kernels. */
export function checkLaboratory(): void {
  if (addonOrigin.kind === 'cuda')
    throw new AddonError(`the laboratory's kernels are missing: ${withoutLaboratory()}`)
}

/** Throws VariantError if `name` isn't one of `names`, and AddonError by {@link checkLaboratory}. */
export function assertKnown(what: string, name: unknown, names: readonly string[]): void {
  if (!names.includes(name as string))
    throw new VariantError(`there is no ${what} ${show(name)}: expected ${showChoices(names)}`)
  checkLaboratory()
}

/** Returns the peaks of a device; undefined if its architecture isn't known. */
export function peakOf(device: number): Peak | undefined {
  const capability = describeMachine().cuda.devices[device]?.computeCapability
  return peaks().find((peak) => peak.capability === capability)
}

/**
 * Returns the peak rate of a GPU's tensor cores on bfloat16 at its highest clock, in 10^9 operations per
 * second. Undefined if unknown, as in older measurements.
 *
 * @throws ArgumentError (ERR_MPMML_DTYPE) if it isn't a machine.
 * @example
 * console.log(tensorPeak({ gpu: {}, peak: null })) // undefined
 */
export function tensorPeak(machine: Pick<Machine, 'gpu' | 'peak'>): number | undefined {
  assertObject(machine, 'machine', 'a result of machine(), or { gpu, peak }', ['gpu', 'peak'])
  const { gpu, peak } = machine
  if (!peak?.tensor) return undefined
  return (peak.tensor * Number(gpu.multiprocessors) * Number(gpu.maxClockMHz)) / 1000
}

/** Hardware and software that measurements depend on in addition to their parameters. */
export interface Machine {
  /** Properties of the GPU with the names of `info()`: Table 1.2 of the thesis. */
  gpu: Record<string, number | string>
  /** Version of CUDA that the driver supports. */
  driver: string
  /** The version of the toolkit that built the library. */
  toolkit: string
  /** Architectures that the kernels were compiled for. */
  architectures: string[]
  /** Version of the library. */
  mpmml: string
  /** Commit if the library runs from a clone; otherwise null. */
  commit: string | null
  /** The C++ compiler that built the addon. */
  compiler: string
  /** The version of Node.js. */
  node: string
  /** Throughputs of this GPU's architecture; null if unknown. */
  peak: Peak | null
}

/**
 * Returns the description of the GPU with an index and of its software.
 *
 * @throws ResourceError (ERR_MPMML_NO_CUDA) if no GPU can be used.
 * @example
 * console.log(machine().driver.length > 0) // true
 */
export function machine(device = 0): Machine {
  const { version, compiler, node, cuda } = info()
  if (cuda.reason !== '') {
    throw new NoCudaError(`this needs a GPU, and none can be used: ${cuda.reason}`)
  }
  const gpu = cuda.devices[device]
  if (!gpu) {
    throw new NoCudaError(
      `there is no CUDA device ${device}: this machine has ${cuda.devices.length}, numbered from 0`,
    )
  }
  return {
    gpu,
    driver: cuda.driver,
    toolkit: cuda.toolkit,
    architectures: cuda.architectures,
    mpmml: version,
    commit: null,
    compiler,
    node,
    peak: peakOf(device) ?? null,
  }
}
