/**
 * Roofline of an NVIDIA M2090: float32 on a GPU of the Fermi generation.
 *
 * Source: A. Pöpl, "Dense Linear Algebra" (tutorial, Technical University of Munich, 2016), "Roofline model".
 */

/** Peak, 10^9 operations per second. */
export const gflops = 1331

/** Bandwidth of device memory, 10^9 bytes per second. */
export const gbps = 177

/** Operations per byte of global memory: one thread per cell reads two words per step, tiles of `tile` share them. */
export const intensity = (tile = 1): number => tile / 4

/** Widths of the square tiles in the tutorial, in elements. */
export const tiles = [4, 8, 16, 32]

/** Upper bound of a kernel, 10^9 operations per second. */
export const bound = (tile: number | undefined, gpu = { gflops, gbps }): number =>
  Math.min(gpu.gflops, gpu.gbps * intensity(tile))
