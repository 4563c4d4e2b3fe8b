/** Text of WGSL that several kernels share: arithmetics, elements in memory, ranges of values. */

/** Element types in memory that kernels read. */
export type StoredBits = 8 | 16 | 32

/**
 * Way in which elements are held while a product is computed. 'offset': int32 sums, less the least (max) or greatest (min) value of each
 * operand. 'plain': int32 without sums. 'float': float32 sums. 'keys': float32 as integers of the same order. 'bits': 32 truth values
 * along k in a word.
 */
export type Mode = 'offset' | 'plain' | 'float' | 'keys' | 'bits'

/** ⊕ and ⊗ as WGSL. */
export interface Arithmetic {
  readonly type: 'i32' | 'f32'
  readonly plus: (x: string, y: string) => string
  readonly times: (x: string, y: string) => string
  /** Comparison that is true if the left value replaces the right one. */
  readonly better: '>' | '<' | ''
}

const max = (x: string, y: string) => `max(${x}, ${y})`
const min = (x: string, y: string) => `min(${x}, ${y})`
const sum = (x: string, y: string) => `${x} + ${y}`
const and = (x: string, y: string) => `(${x} & ${y})`

const arithmetics: Readonly<Record<string, Arithmetic>> = {
  'max-plus': { type: 'i32', plus: max, times: sum, better: '>' },
  'min-plus': { type: 'i32', plus: min, times: sum, better: '<' },
  'max-min': { type: 'i32', plus: max, times: min, better: '>' },
  'min-max': { type: 'i32', plus: min, times: max, better: '<' },
  'or-and': { type: 'i32', plus: (x, y) => `${x} | ${y}`, times: and, better: '' },
  'xor-and': { type: 'i32', plus: (x, y) => `${x} ^ ${y}`, times: and, better: '' },
}

/** Returns the arithmetic of a semiring; undefined if kernels have none for it. */
export function arithmeticOf(semiring: string, mode: Mode): Arithmetic | undefined {
  const found = arithmetics[semiring]
  return found && mode === 'float' ? { ...found, type: 'f32' } : found
}

export const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

/** `raw(at)`: the bits of an element of `src`; 16-bit integers are sign-extended. */
export const readers: Readonly<Record<StoredBits, string>> = {
  32: 'fn raw(at: u32) -> u32 { return src[at]; }',
  16: 'fn raw(at: u32) -> u32 { return bitcast<u32>(extractBits(bitcast<i32>(src[at >> 1u]), (at & 1u) * 16u, 16u)); }',
  8: 'fn raw(at: u32) -> u32 { return extractBits(src[at >> 2u], (at & 3u) * 8u, 8u); }',
}

/** `write(at, bits)`: stores an element of `dst`. Bytes of one word are written by different invocations. */
export const writers: Readonly<Record<StoredBits, string>> = {
  32: 'fn write(at: u32, x: u32) { dst[at] = x; }',
  16: `fn write(at: u32, x: u32) {
  let shift = (at & 1u) * 16u;
  atomicAnd(&dst[at >> 1u], ~(0xffffu << shift)); atomicOr(&dst[at >> 1u], (x & 0xffffu) << shift);
}`,
  8: `fn write(at: u32, x: u32) {
  let shift = (at & 3u) * 8u;
  atomicAnd(&dst[at >> 2u], ~(0xffu << shift)); atomicOr(&dst[at >> 2u], (x & 0xffu) << shift);
}`,
}

export const writtenType = (bits: StoredBits): string => (bits === 32 ? 'array<u32>' : 'array<atomic<u32>>')

/**
 * `key(x)`: the bits of a float as an integer of the same order, and back. WGSL leaves open what float instructions make of NaN,
 * infinities and subnormal numbers, so no float instruction sees one. −0 has the key of 0.
 */
export const KEY = `fn key(x: u32) -> i32 {
  let i = bitcast<i32>(x);
  return select(i ^ ((i >> 31u) & 0x7fffffff), 0, (x & 0x7fffffffu) == 0u);
}
fn bits_of(k: i32) -> u32 { return bitcast<u32>(k ^ ((k >> 31u) & 0x7fffffff)); }
fn is_nan(x: u32) -> bool { return (x & 0x7fffffffu) > 0x7f800000u; }`

/** The semiring's zero as bits of an element in memory, sign-extended. */
export function zeroBits(semiring: string, mode: Mode, bits: StoredBits): number {
  if (mode === 'bits') return 0
  const isMax = semiring.startsWith('max')
  if (mode === 'float' || mode === 'keys') return isMax ? 0xff800000 : 0x7f800000
  if (bits === 16) return isMax ? 0xffff8000 : 0x7fff
  return isMax ? 0x80000000 : 0x7fffffff
}

/**
 * Words of the status of a product. The store writes the least index of an element outside the finite range to FAULT; scans write the
 * facts of both operands: least and greatest finite value, 1 if the other infinity occurs, the least magnitude but 0. TIMES has two timestamps.
 */
export const FAULT = 0
export const FACTS = [8, 16] as const
export const TIMES = 24
export const STATUS_WORDS = 28
export const NO_FAULT = 0x7fffffff
export const [LEAST, GREATEST, OTHER, TINIEST] = [0, 1, 2, 3]

/** Content of the status before a product. */
export function initialStatus(): Int32Array<ArrayBuffer> {
  const words = new Int32Array(STATUS_WORDS)
  words[FAULT] = NO_FAULT
  for (const at of FACTS) words.set([0x7fffffff, -0x80000000, 0, 0x7fffffff], at)
  return words
}

/** Finite sums and magnitudes of float32 operands for which the float kernels are exact. */
export const MAX_FLOAT = 2 ** 124
export const MIN_FLOAT = 2 ** -102

/**
 * `offset_of(at)` and `width_of(at)`: the offset of an operand and the difference of its extremes, from the facts at `at`. `load` gives
 * the expression that reads a word of the status.
 */
export const ranges = (isMax: boolean, load: (at: string) => string): string => `
fn offset_of(at: u32) -> i32 {
  return select(${load(`at + ${isMax ? LEAST : GREATEST}u`)}, 0, ${load('at')} > ${load('at + 1u')});
}
fn width_of(at: u32) -> u32 {
  return select(bitcast<u32>(${load('at + 1u')}) - bitcast<u32>(${load('at')}), 0u, ${load('at')} > ${load('at + 1u')});
}`
