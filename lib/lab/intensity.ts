/**
 * Computes the arithmetic intensity of a kernel in operations per byte moved, which is its position on a
 * roofline.
 */
import { assertObject } from '../options.js'
import type { Variant } from '../variants.js'

/**
 * Arithmetic intensity in operations per byte. An addition, a multiplication or a maximum is one operation,
 * so a step is two.
 */
export interface Intensity {
  /**
   * Operations per byte that blocks request from global memory, without caches. C isn't counted, because it
   * is accessed once for K steps.
   */
  global: number
  /**
   * Operations per byte between registers and shared memory (or L1, for kernels without shared memory). A
   * wavefront counts as 128 bytes. A warp's access takes one wavefront, or several in case of bank conflicts.
   * A word that several threads read counts once.
   */
  shared: number
}

const LANES = 32
const BANKS = 32
const WAVEFRONT_BYTES = 128
const SECTORS_A_WAVEFRONT = 4

/**
 * Returns the minimum number of wavefronts for a warp's access to 32-bit words of shared memory: different
 * words of a bank are serialized.
 */
export function wavefronts(words: readonly number[]): number {
  const inBank = new Array<number>(BANKS).fill(0)
  for (const word of new Set(words)) inBank[word % BANKS]!++
  return Math.max(...inBank)
}

/** Returns the words `first` to `first + count − 1`. */
const run = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index)

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

interface TiledShape {
  tile: number
  coalesced: boolean
}

/** Returns the positions in the tile of the threads of a block's first warp. */
function warpOf({ tile, coalesced }: TiledShape): { i: number; j: number }[] {
  return run(0, Math.min(LANES, tile * tile)).map((thread) => {
    const [fast, slow] = [thread % tile, Math.floor(thread / tile)]
    return coalesced ? { i: slow, j: fast } : { i: fast, j: slow }
  })
}

/**
 * Returns the shared intensity of square tiles of 32-bit elements with one thread per cell
 * (native/lab/ladder/tiled.cuh).
 */
function tiledShared(shape: TiledShape): number {
  const { tile } = shape
  const warp = warpOf(shape)
  const position = ({ i, j }: { i: number; j: number }) => i * tile + j
  const stores = 2 * wavefronts(warp.map(position))
  // A row of A is read as vectors of 16 bytes if it has at least 16 bytes.
  const vector = Math.min(4, tile)
  const readA = sum(
    run(0, tile / vector).map((part) =>
      wavefronts(warp.flatMap(({ i }) => run(i * tile + part * vector, vector))),
    ),
  )
  const readB = sum(run(0, tile).map((k) => wavefronts(warp.map(({ j }) => k * tile + j))))
  return (2 * warp.length * tile) / (WAVEFRONT_BYTES * (stores + readA + readB))
}

/**
 * Returns the intensity with one thread per cell through L1, which serves four sectors per wavefront. For
 * each operand of a step a warp reads one element or neighbours, which is one wavefront. Uncoalesced threads
 * of a warp read different rows of A, one sector each.
 */
function naiveL1(coalesced: boolean): number {
  const ofRows = coalesced ? 1 : LANES / SECTORS_A_WAVEFRONT
  return (2 * LANES) / (WAVEFRONT_BYTES * (ofRows + 1))
}

/** Returns the global intensity of a block: each operand's part is read once for the tile of C. */
const blockGlobal = (rows: number, cols: number, elementBytes: number) =>
  (2 * rows * cols) / (elementBytes * (rows + cols))

/**
 * Returns the shared intensity of register tiles from the wavefronts per warp and step: fragment reads, and
 * the share of writing the block's tiles.
 */
const registerShared = (operations: number, reads: number, written: number) =>
  operations / (WAVEFRONT_BYTES * (reads + written))

/**
 * Returns a warp's reads of one step along one dimension of a patch of the MPMML family
 * (native/lab/thesis/mpmml_operand.cuh).
 */
function patchReads(values: number, sub: number, count: number, threads: number[]): number {
  const vector = sub % 4 === 0 ? 4 : sub % 2 === 0 ? 2 : 1
  const line = (value: number, thread: number) =>
    (Math.floor(value / sub) * count + thread) * sub + (value % sub)
  return sum(
    run(0, values / vector).map((part) =>
      wavefronts(threads.flatMap((thread) => run(line(part * vector, thread), vector))),
    ),
  )
}

function mpmmlIntensity(p: Record<string, number>): Intensity {
  const { X = 0, Y = 0, BS_i = 0, BS_j = 0, Sub_X = 1, Sub_Y = 1 } = p
  const lanes = run(0, LANES)
  const warps = (BS_i * BS_j) / LANES
  const reads =
    patchReads(
      X,
      Sub_X,
      BS_i,
      lanes.map((lane) => Math.floor(lane / BS_j)),
    ) +
    patchReads(
      Y,
      Sub_Y,
      BS_j,
      lanes.map((lane) => lane % BS_j),
    )
  const written = (X * BS_i + Y * BS_j) / BANKS / warps
  return {
    global: blockGlobal(X * BS_i, Y * BS_j, 4),
    shared: registerShared(2 * X * Y * LANES, reads, written),
  }
}

function pipelinedIntensity(p: Record<string, number>): Intensity {
  const { BM = 0, BN = 0, TM = 0, TN = 0 } = p
  const warps = ((BM / TM) * (BN / TN)) / LANES
  // A warp's lanes form an 8 × 4 grid, so that a vector read takes at most 128 bytes.
  const reads = TM / 4 + TN / 4
  return {
    global: blockGlobal(BM, BN, 4),
    shared: registerShared(2 * TM * TN * LANES, reads, (BM + BN) / BANKS / warps),
  }
}

/**
 * Returns the intensity of tiles of 16-bit exponents, which are written to shared memory once. Each of two
 * groups of warps reads half of A and all of B.
 */
function exponentIntensity({ BM = 0, BN = 0 }: Record<string, number>): Intensity {
  const bytesOfStep = 2 * (BM + BN + (BM + 2 * BN))
  return { global: blockGlobal(BM, BN, 2), shared: (2 * BM * BN) / bytesOfStep }
}

/**
 * Returns the intensity of a CUDA variant on row-major operands of 32 bits. Undefined if it isn't known
 * (other accumulators, operands that the MPMML family reads without shared memory).
 *
 * @throws ArgumentError (ERR_MPMML_DTYPE) if it isn't a variant.
 * @see A. Pöpl, "Dense Linear Algebra" (Technical University of Munich, 2016), "Roofline model": the basic product has
 *   1/4 operations per byte, tiles have as many times more as they are wide.
 * @example
 * const { global } = intensityOf({ family: 'pipelined', parameters: { accumulator: 'int32', BM: 128, BN: 128, TM: 8, TN: 8 } })
 * console.log(global) // 32
 */
export function intensityOf(variant: Pick<Variant, 'family' | 'parameters'>): Intensity | undefined {
  assertObject(variant, 'variant', 'one of variants(), or { family, parameters }', ['family'])
  assertObject(variant.parameters, 'parameters of the variant', 'an object with its parameters')
  const { family, parameters } = variant
  if (family === 'exponent') return exponentIntensity(parameters as Record<string, number>)
  if (parameters.accumulator !== 'int32' && parameters.accumulator !== 'float32') return undefined
  const numbers = parameters as Record<string, number>
  if (family === 'ladder') {
    const shape = { tile: numbers.tile!, coalesced: parameters.order === 'coalesced' }
    return parameters.technique === 'naive'
      ? { global: blockGlobal(1, 1, 4), shared: naiveL1(shape.coalesced) }
      : { global: blockGlobal(shape.tile, shape.tile, 4), shared: tiledShared(shape) }
  }
  if (family === 'mpmml' && numbers.MEMSEL_A === 0 && numbers.MEMSEL_B === 0) return mpmmlIntensity(numbers)
  if (family === 'pipelined') return pipelinedIntensity(numbers)
  return undefined
}
