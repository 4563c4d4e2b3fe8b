/** Arithmetic intensity of a kernel, in operations per byte moved: its position on a roofline. */
import { assertObject } from '../options.js'
import type { Variant } from '../variants.js'

/** Operations per byte; an addition, a multiplication or a maximum is one, so that a step is two. */
export interface Intensity {
  /** For each byte that blocks ask global memory for, as if no cache kept any of it. C is left out: it is one of K steps. */
  global: number
  /**
   * For each byte that passes between registers and shared memory (or L1, for kernels that don't use it): 128 bytes a
   * wavefront, of which a warp's access takes one or, if its words are in the same banks, several. A word that
   * several threads read takes no more than for one.
   */
  shared: number
}

const LANES = 32
const BANKS = 32
const WAVEFRONT_BYTES = 128
const SECTORS_A_WAVEFRONT = 4

/** Wavefronts that a warp's access to these 32-bit words of shared memory takes at least: different words of a bank take turns. */
export function wavefronts(words: readonly number[]): number {
  const inBank = new Array<number>(BANKS).fill(0)
  for (const word of new Set(words)) inBank[word % BANKS]!++
  return Math.max(...inBank)
}

/** Words `first` to `first + count − 1`. */
const run = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index)

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

interface TiledShape {
  tile: number
  coalesced: boolean
}

/** The threads of a block's first warp, by their place in the tile. */
function warpOf({ tile, coalesced }: TiledShape): { i: number; j: number }[] {
  return run(0, Math.min(LANES, tile * tile)).map((thread) => {
    const [fast, slow] = [thread % tile, Math.floor(thread / tile)]
    return coalesced ? { i: slow, j: fast } : { i: fast, j: slow }
  })
}

/** Square tiles of 32-bit elements in shared memory, a thread for each cell (native/lab/ladder/tiled.cuh). */
function tiledShared(shape: TiledShape): number {
  const { tile } = shape
  const warp = warpOf(shape)
  const place = ({ i, j }: { i: number; j: number }) => i * tile + j
  const stores = 2 * wavefronts(warp.map(place))
  // A row of A is read as vectors of 16 bytes if it has that many.
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
 * One thread per cell, through L1, which gives a warp four sectors per wavefront. Of the two operands of a step the threads of a
 * warp read one element or neighbours, a wavefront each; uncoalesced ones read as many rows of A, a sector each.
 */
function naiveL1(coalesced: boolean): number {
  const ofRows = coalesced ? 1 : LANES / SECTORS_A_WAVEFRONT
  return (2 * LANES) / (WAVEFRONT_BYTES * (ofRows + 1))
}

/** C's tile of a block: each operand's part is read once for it. */
const blockGlobal = (rows: number, cols: number, elementBytes: number) =>
  (2 * rows * cols) / (elementBytes * (rows + cols))

/** Tiles in registers: wavefronts of a warp and step to read its fragments, and its share of writing the block's tiles. */
const registerShared = (operations: number, reads: number, written: number) =>
  operations / (WAVEFRONT_BYTES * (reads + written))

/** A patch of the MPMML family along one dimension: a warp's reads of one step (native/lab/thesis/mpmml_operand.cuh). */
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
  // A warp's lanes lie 8 × 4: of a vector it reads at most 128 bytes.
  const reads = TM / 4 + TN / 4
  return {
    global: blockGlobal(BM, BN, 4),
    shared: registerShared(2 * TM * TN * LANES, reads, (BM + BN) / BANKS / warps),
  }
}

/** Tiles of 16-bit exponents: they are written to shared memory once, and each of two groups of warps reads half of A and all of B. */
function exponentIntensity({ BM = 0, BN = 0 }: Record<string, number>): Intensity {
  const bytesOfStep = 2 * (BM + BN + (BM + 2 * BN))
  return { global: blockGlobal(BM, BN, 2), shared: (2 * BM * BN) / bytesOfStep }
}

/**
 * The intensity of a CUDA variant on row-major operands of 32 bits; undefined if it isn't known (other
 * accumulators, operands that the MPMML family reads without shared memory).
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
