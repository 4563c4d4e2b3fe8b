/**
 * Computes occupancy by the formula of NVIDIA's occupancy calculator. Neither the kernel nor the GPU has to
 * be on this machine.
 */
import { Options, type OptionsOf, readChoice, readWhole, required, whole } from '../options.js'
import type { Occupancy } from './occupancy.js'

/** The options of {@link calculateOccupancy}. */
export interface CalculatorOptions {
  /** Registers per thread, as reported by the compiler (`nvcc -Xptxas -v`). */
  registers: number
  /** Threads per block. */
  threads: number
  /** Bytes of shared memory per block; 0 by default. */
  shared?: number | undefined
  /** The architecture, one of {@link calculatorGpus}. */
  gpu: string
}

/** Limits and allocation units of a multiprocessor: the rows of the thesis' Table 1.2. Memory is in KiB. */
interface Multiprocessor {
  threads: number
  blocks: number
  registers: number
  registersPerBlock: number
  registersPerThread: number
  /** Allocation unit of a warp's registers. */
  registerUnit: number
  /** Allocation unit of warps, because each scheduler has an equal share of the registers. */
  warpUnit: number
  /**
   * Unit to which a block's warps are rounded up for the check whether the block fits: sm_60 refuses blocks
   * that sm_61 can't run.
   */
  blockUnit: number
  shared: number
  sharedPerBlock: number
  /** Allocation unit of shared memory in bytes. */
  sharedUnit: number
  /** Bytes of each block's shared memory that the system reserves. */
  reserved: number
}

const THREADS_OF_WARP = 32

const usual = {
  registers: 65536,
  registersPerBlock: 65536,
  registersPerThread: 255,
  registerUnit: 256,
  warpUnit: 4,
  blockUnit: 4,
  sharedPerBlock: 48,
  sharedUnit: 256,
  reserved: 0,
}
const of = (threads: number, blocks: number, shared: number, rest: Partial<Multiprocessor> = {}) => ({
  ...usual,
  threads,
  blocks,
  shared,
  ...rest,
})
/**
 * From compute capability 8.0 on a block can have all shared memory except 1 KiB, which the system reserves
 * per block.
 */
const ofAmpere = (threads: number, blocks: number, shared: number) =>
  of(threads, blocks, shared, { sharedPerBlock: shared - 1, sharedUnit: 128, reserved: 1024 })

const fermi = of(1536, 8, 48, {
  registers: 32768,
  registersPerBlock: 32768,
  registersPerThread: 63,
  registerUnit: 64,
  warpUnit: 2,
  blockUnit: 2,
  sharedUnit: 128,
})
const half = { registersPerBlock: 32768 }

// Limits: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" (versions 8.0, 10.0 and 13.0).
// Allocation units: NVIDIA, CUDA_Occupancy_Calculator.xls, which the thesis cites, and cuda_occupancy.h of CUDA 13.0.
const multiprocessors: Readonly<Record<string, Multiprocessor>> = {
  sm_20: fermi,
  sm_21: fermi,
  sm_30: of(2048, 16, 48, { registersPerThread: 63 }),
  sm_32: of(2048, 16, 48, half),
  sm_35: of(2048, 16, 48),
  sm_37: of(2048, 16, 112, { registers: 131072 }),
  sm_50: of(2048, 32, 64),
  sm_52: of(2048, 32, 96),
  sm_53: of(2048, 32, 64, half),
  sm_60: of(2048, 32, 64, { warpUnit: 2 }),
  sm_61: of(2048, 32, 96),
  sm_62: of(2048, 32, 64, half),
  sm_70: of(2048, 32, 96, { sharedPerBlock: 96 }),
  sm_72: of(2048, 32, 96, { sharedPerBlock: 96 }),
  sm_75: of(1024, 16, 64, { sharedPerBlock: 64 }),
  sm_80: ofAmpere(2048, 32, 164),
  sm_86: ofAmpere(1536, 16, 100),
  sm_87: ofAmpere(1536, 16, 164),
  sm_89: ofAmpere(1536, 24, 100),
  sm_90: ofAmpere(2048, 32, 228),
  sm_100: ofAmpere(2048, 32, 228),
  sm_103: ofAmpere(2048, 32, 228),
  sm_110: ofAmpere(1536, 24, 228),
  sm_120: ofAmpere(1536, 24, 100),
  sm_121: ofAmpere(1536, 24, 100),
}

/**
 * The architectures whose limits are known.
 *
 * @example
 * console.log(calculatorGpus.includes('sm_61')) // true
 */
export const calculatorGpus: readonly string[] = Object.keys(multiprocessors)

const calculatorOptions = new Options({
  registers: required((value, name) => readWhole(value, name, 1, 255)),
  threads: required((value, name) => readWhole(value, name, 1, 1024)),
  shared: whole(0, 0, 2 ** 30),
  gpu: required((value, name) => calculatorGpus[readChoice(calculatorGpus, value, name)]!),
} satisfies OptionsOf<CalculatorOptions>)

const roundUp = (value: number, unit: number) => Math.ceil(value / unit) * unit

/**
 * Computes the occupancy of a kernel from its resources, on any GPU: Table 2.1 of the thesis. Active blocks, warps and threads are
 * per multiprocessor.
 *
 * Registers are allocated to whole warps and shared memory to blocks, in the units of the architecture. A block that
 * doesn't fit gives 0 active blocks.
 *
 * @throws ArgumentError (ERR_MPMML_OPTION).
 * @see NVIDIA, "CUDA Occupancy Calculator"; P. P. Ghalsasi, "MPMML" (2019), Tables 1.2 and 2.1.
 * @example
 * const { activeBlocks, occupancyPercent } = calculateOccupancy({ registers: 40, threads: 1024, gpu: 'sm_52' })
 * console.log(activeBlocks, occupancyPercent) // 1 50
 */
export function calculateOccupancy(options: CalculatorOptions): Omit<Occupancy, 'localBytes'> & {
  /** The architecture. */
  gpu: string
  /** Resources of a multiprocessor that don't suffice for another block. */
  limitedBy: ('threads' | 'blocks' | 'registers' | 'shared memory')[]
} {
  const { registers, threads, shared, gpu } = calculatorOptions.read(options)
  const sm = multiprocessors[gpu]!
  const warps = Math.ceil(threads / THREADS_OF_WARP)
  const ofWarp = roundUp(registers * THREADS_OF_WARP, sm.registerUnit)
  const warpsWithRegisters = sm.warpUnit * Math.floor(sm.registers / sm.warpUnit / ofWarp)
  const fits =
    registers <= sm.registersPerThread && ofWarp * roundUp(warps, sm.blockUnit) <= sm.registersPerBlock
  const ofBlock = roundUp(shared + sm.reserved, sm.sharedUnit)
  const most = {
    threads: Math.floor(sm.threads / THREADS_OF_WARP / warps),
    blocks: sm.blocks,
    registers: fits ? Math.floor(warpsWithRegisters / warps) : 0,
    'shared memory':
      shared > sm.sharedPerBlock * 1024 ? 0 : Math.floor((sm.shared * 1024) / Math.max(ofBlock, 1)),
  }
  const activeBlocks = Math.min(...Object.values(most))
  return {
    gpu,
    registersPerThread: registers,
    sharedBytesPerBlock: shared,
    threadsPerBlock: threads,
    activeThreads: activeBlocks * threads,
    activeWarps: activeBlocks * warps,
    activeBlocks,
    occupancyPercent: (100 * activeBlocks * warps * THREADS_OF_WARP) / sm.threads,
    limitedBy: (Object.keys(most) as (keyof typeof most)[]).filter((name) => most[name] === activeBlocks),
  }
}
