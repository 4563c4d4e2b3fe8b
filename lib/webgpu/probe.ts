/** Checks that a device adds float32 as IEEE 754 says, to nearest: WGSL leaves the rounding open. */

/** WGSL that adds pairs. */
export const ROUNDING_PROBE = `
@group(0) @binding(0) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> sums: array<u32>;
struct P { count: u32 }
@group(0) @binding(9) var<uniform> p: P;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) g: vec3<u32>) {
  if (g.x >= p.count) { return; }
  let pair = pairs[g.x];
  sums[g.x] = bitcast<u32>(bitcast<f32>(pair.x) + bitcast<f32>(pair.y));
}`

const CASES = 2 ** 14

/** Returns a generator of pseudorandom words. Only their high bits are random enough. */
export function randomWords(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state
  }
}

/** Pairs of normal numbers with normal sums, ties among them, as the bits of floats. */
export function roundingCases(): Uint32Array<ArrayBuffer> {
  const pairs = new Uint32Array(2 * CASES)
  const words = randomWords(1)
  const random = () => {
    const word = words()
    return (word ^ (word >>> 13)) >>> 0
  }
  for (let i = 0; i < CASES; i++) {
    const exponent = 64 + (random() % 120)
    // Every second addend has few bits, so that sums lie half way between two floats.
    const bits = i % 2 === 0 ? 0x807fffff : 0x80780000
    pairs[2 * i] = (random() & 0x807fffff) | (exponent << 23)
    pairs[2 * i + 1] = (random() & bits) | ((exponent - (random() % 26)) << 23)
  }
  return pairs
}

/** Returns whether the sums of the pairs are those of IEEE 754. */
export function roundsToNearest(pairs: Uint32Array<ArrayBuffer>, sums: Float32Array): boolean {
  const floats = new Float32Array(pairs.buffer)
  return sums.every((sum, i) => sum === Math.fround(floats[2 * i]! + floats[2 * i + 1]!))
}
