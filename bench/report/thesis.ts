/**
 * Numbers of the thesis: P. P. Ghalsasi, "Max-Plus Matrix Multiplication Library for GPUs – MPMML", Colorado
 * State University, 2019. The numbers are from the thesis' text and tables, because its plots have none.
 */

/** Speeds for large matrices on the thesis' three GPUs in GOPS (abstract, chapter 5). */
export const largeMatrices = { least: 3065, most: 3631 }

/** GPU of the thesis. */
export interface Gpu {
  name: string
  /** Pattern for the end of the GPU's name in CUDA. */
  pattern: RegExp
  /** Peak rate in GOPS at one operation per clock and CUDA core (Table 1.2). */
  machinePeak: number
  /** Speeds for 20 products of 1K × 1K (section 4.4), GOPS. */
  instances: { least: number; most: number }
}

const maxwell = { least: 2175, most: 2798 }

/** The GPUs of the thesis. CUDA calls the Titan X of the Pascal generation "TITAN X", without "GTX". */
export const gpus: readonly Gpu[] = [
  { name: 'GTX 980', pattern: /GTX 980$/i, machinePeak: 16 * 128 * 1.216, instances: maxwell },
  { name: 'GTX Titan X', pattern: /GTX TITAN X$/i, machinePeak: 24 * 128 * 1.076, instances: maxwell },
  {
    name: 'GTX 1080 Ti',
    pattern: /GTX 1080 Ti$/i,
    machinePeak: 28 * 128 * 1.582,
    instances: { least: 3090, most: 3090 },
  },
]

/** Returns the thesis' GPU with a given CUDA name; undefined for other GPUs. */
export const gpuNamed = (name: unknown): Gpu | undefined =>
  gpus.find(({ pattern }) => pattern.test(String(name).trim()))

/**
 * Range of speeds for large matrices on the thesis' GPUs, as fractions of one operation per clock and core.
 */
export const largeShares = {
  least: largeMatrices.least / Math.max(...gpus.map(({ machinePeak }) => machinePeak)),
  most: largeMatrices.most / Math.min(...gpus.map(({ machinePeak }) => machinePeak)),
}

/** Table 1.1. */
export const globalMemory: [gpu: string, size: string][] = [
  ['GeForce GTX 980 (GM204)', '4043 MBytes'],
  ['GeForce GTX Titan X (GM204)', '12212 MBytes'],
  ['GeForce GTX 1080 Ti (GP104)', '11178 MBytes'],
]

/** Table 1.2: name of each row, values for the three GPUs, and the corresponding row of `info()`. */
export const specifications: [name: string, values: [string, string, string], key: string | null][] = [
  ['Compute capability', ['5.2', '5.2', '6.1'], 'computeCapability'],
  ['SM version', ['sm_52', 'sm_52', 'sm_61'], 'smVersion'],
  ['SMs', ['16', '24', '28'], 'multiprocessors'],
  ['CUDA cores/SM', ['128', '128', '128'], null],
  ['GPU max clock rate', ['1216 MHz', '1076 MHz', '1582 MHz'], 'maxClockMHz'],
  ['Threads/warp', ['32', '32', '32'], 'threadsPerWarp'],
  ['Warps/multiprocessor', ['64', '64', '64'], 'warpsPerMultiprocessor'],
  ['Threads/multiprocessor', ['2048', '2048', '2048'], 'threadsPerMultiprocessor'],
  ['Thread blocks/multiprocessor', ['32', '32', '32'], 'blocksPerMultiprocessor'],
  ['Shared memory/multiprocessor (bytes)', ['98304', '98304', '98304'], 'sharedMemoryPerMultiprocessorBytes'],
  ['Max shared memory/block (bytes)', ['49152', '49152', '49152'], 'sharedMemoryPerBlockBytes'],
  [
    'Register file/multiprocessor (32-bit registers)',
    ['65536', '65536', '65536'],
    'registersPerMultiprocessor',
  ],
  ['Max registers/block', ['65536', '65536', '65536'], 'registersPerBlock'],
  ['Register allocation unit size', ['256', '256', '256'], null],
  ['Register allocation granularity', ['warp', 'warp', 'warp'], null],
  ['Max registers/thread', ['255', '255', '255'], null],
  ['Shared memory allocation unit size', ['256', '256', '256'], null],
  ['Warp allocation granularity', ['4', '4', '4'], null],
  ['Max thread block size', ['1024', '1024', '1024'], 'maxThreadsPerBlock'],
]

/** Table 2.1, for blocks of 1024 threads on a GTX 980. */
export const occupancy = [
  { x: 4, y: 4, registers: 32, threads: 2048, warps: 64, blocks: 2, percent: 100 },
  { x: 4, y: 6, registers: 40, threads: 1024, warps: 32, blocks: 1, percent: 50 },
] as const

/**
 * Sweeps for each table and figure with measurements in the thesis' chapters 1 (specifications), 2 and 4 and
 * appendix A.
 */
export const sweepsOf = {
  'Table 1.1': [],
  'Table 1.2': [],
  'Table 2.1': ['occupancy'],
  'Figure 2.1': ['reg-reg', 'shared-one', 'shared-both'],
  'Figure 4.1': ['cases'],
  'Figure 4.2': ['patterns'],
  'Figure 4.3': ['patterns'],
  'Figure 4.4': ['patterns'],
  'Figure 4.5': ['transpose'],
  'Figure 4.6': ['instances'],
  'Figure A.1': ['reg-reg'],
  'Figure A.2': ['reg-reg'],
  'Figure A.3': ['reg-reg'],
  'Figure A.4': ['shared-one'],
  'Figure A.5': ['shared-both'],
  'Figure A.6': ['shared-one'],
  'Figure A.7': ['shared-both'],
  'Figure A.8': ['shared-one'],
  'Figure A.9': ['shared-both'],
} as const satisfies Record<string, readonly string[]>

export type Exhibit = keyof typeof sweepsOf

export const exhibits = Object.keys(sweepsOf) as Exhibit[]
