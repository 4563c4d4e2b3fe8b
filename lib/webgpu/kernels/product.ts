/** Products of packed operands by register tiles, also with the k that decides each element. */
import { type Arithmetic, range } from './arithmetic.js'

/** Rows, columns and k of a workgroup's tile, rows and columns of a thread's tile in chunks of 4. */
export type Tile = readonly [BM: number, BN: number, BK: number, TM: number, TN: number]

/**
 * Returns the tile of a plain product by its rows: the fastest of those tried on an H200 by Vulkan (4096³ int32 28.7 TOPS with 16 k at a
 * time and 26.6 with 8; or-and 8192³ 863 with 8 and 620 with 16).
 */
export const tileOf = (rows: 32 | 64 | 128, { better }: Pick<Arithmetic, 'better'>): Tile =>
  rows === 128 ? [128, 128, better === '' ? 8 : 16, 8, 8] : [rows, rows, 16, 4, 4]
/** Returns the tile of a product with an auxiliary output, which takes two registers for each element. */
export const witnessTileOf = (rows: 32 | 64 | 128): Tile =>
  rows === 128 ? [64, 128, 16, 8, 4] : [rows, rows, 16, 4, 4]

/** Number of k between two comparisons for an auxiliary output. */
const GROUP = 4

/**
 * Auxiliary output of a product: none, the k that decides, or the element of `through` in row m for this k.
 */
export type Auxiliary = 'none' | 'witness' | 'through'

/**
 * WGSL of c[z][m][n] = c ⊕ at[z][k][m] ⊗ b[z][k][n] over k0 ≤ k < k1, multiples of BK, for the rows of tiles from y0 on. c begins as `start`
 * (its bits) if `first` is 1. 'witness': win gets base and the least k whose candidate decides, and −1 if
 * none replaced `start`.
 */
export function product({ type, plus, times, better }: Arithmetic, tile: Tile, auxiliary: Auxiliary): string {
  const [BM, BN, BK, TM, TN] = tile
  const threads = (BM / TM) * (BN / TN)
  const count = TM * (TN / 4)
  const each = (text: (i: number, j: number, index: number) => string) =>
    range(TM).flatMap((i) => range(TN / 4).map((j) => text(i, j, i * (TN / 4) + j)))
  const at = (i: number, j: number) =>
    `cz + (y * ${BM}u + (${((i >> 2) * BM) / TM}u + l.y) * 4u + ${i & 3}u) * p.n4 + col4 + ${(j * BN) / TN}u + l.x`
  const has = auxiliary !== 'none'
  // The next vectors are read while the current ones are used: 4 % faster for integers, slower for floats and bits on an H200.
  const prefetches = !has && type === 'i32' && better !== ''
  const candidate = (i: number, j: number) => times(`V(a${i >> 2}.${'xyzw'[i & 3]})`, `b${j}`)
  const step = (i: number, j: number, n: number) => `c${n} = ${plus(`c${n}`, candidate(i, j))};`
  /** The best candidate of GROUP k, which costs no more than in a plain product, and then one comparison. */
  const group = () => {
    const ofOne = (q: number) =>
      `{ ${fragments(`(k + ${q}u)`)} ${each((i, j, n) => `g${n} = ${q === 0 ? candidate(i, j) : plus(`g${n}`, candidate(i, j))};`).join(' ')} }`
    return `${range(count)
      .map((n) => `var g${n}: V;`)
      .join(' ')}
      ${range(GROUP).map(ofOne).join('\n      ')}
      ${range(count)
        .map((n) => `w${n} = select(w${n}, kk, g${n} ${better} c${n}); c${n} = ${plus(`c${n}`, `g${n}`)};`)
        .join('\n      ')}`
  }
  const fragments = (k: string) =>
    [
      ...range(TM / 4).map((i) => `let a${i} = sa[${k} * ${BM / 4}u + l.y + ${(i * BM) / TM}u];`),
      ...range(TN / 4).map((j) => `let b${j} = sb[${k} * ${BN / 4}u + l.x + ${(j * BN) / TN}u];`),
    ].join(' ')
  /**
   * Stores the auxiliary output of 4 elements, which is unchanged unless a group of this dispatch decides.
   */
  const decided = (i: number, j: number, n: number) => {
    const row = `(y * ${BM}u + (${((i >> 2) * BM) / TM}u + l.y) * 4u + ${i & 3}u)`
    const element = (e: number) => {
      const k = `decisive(u32(w${n}[${e}]), w.z, ${row}, col4 + ${(j * BN) / TN}u + l.x, ${e}u, c${n}[${e}])`
      const value = auxiliary === 'through' ? `through[${k} * p.m4 * 4u + ${row}]` : `i32(${k} + p.base)`
      return `if (w${n}[${e}] >= 0) { x[${e}] = ${value}; }`
    }
    const before = auxiliary === 'through' ? 'win[at]' : 'select(win[at], vec4<i32>(-1), p.first == 1u)'
    return `{ let at = ${at(i, j)}; var x = ${before}; ${range(4).map(element).join(' ')} win[at] = x; }`
  }
  /** Positions of the vectors that a thread copies to shared memory, there and in the operand for k = 0. */
  const loads = (operand: string, side: number, stride: string, first: string) =>
    range((BK * side) / 4 / threads)
      .map((q) => {
        const position = `t + ${q * threads}u`
        const [k, vector] = [`((${position}) / ${side / 4}u)`, `((${position}) % ${side / 4}u)`]
        return `let t${operand}${q} = ${position}; let f${operand}${q} = ${k} * ${stride} + ${first} + ${vector};`
      })
      .join(' ')
  const perThread = { a: range((BK * BM) / 4 / threads), b: range((BK * BN) / 4 / threads) }
  const vector = (operand: 'a' | 'b', q: number, k: string) =>
    operand === 'a' ? `at[fa${q} + ${k} * p.m4]` : `b[fb${q} + ${k} * p.n4]`
  const forVectors = (text: (operand: 'a' | 'b', q: number) => string) =>
    (['a', 'b'] as const).flatMap((operand) => perThread[operand].map((q) => text(operand, q))).join(' ')
  /** Reads a thread's vectors of the k from `k` on into registers. */
  const reads = (k: string, declared: string) =>
    forVectors((operand, q) => `${declared}v${operand}${q} = ${vector(operand, q, k)};`)
  /** Copies them to shared memory, from registers if `k` is ''. */
  const copies = (k: string) =>
    forVectors(
      (operand, q) =>
        `s${operand}[t${operand}${q}] = ${k === '' ? `v${operand}${q}` : vector(operand, q, k)};`,
    )
  return `alias V = vec4<${type}>;
@group(0) @binding(0) var<storage, read> at: array<V>;
@group(0) @binding(1) var<storage, read> b: array<V>;
@group(0) @binding(2) var<storage, read_write> c: array<V>;
struct P { m4: u32, n4: u32, k0: u32, k1: u32, y0: u32, first: u32, start: u32, za: u32, zb: u32, zc: u32, base: u32 }
@group(0) @binding(9) var<uniform> p: P;
${has ? '@group(0) @binding(4) var<storage, read_write> win: array<vec4<i32>>;' : ''}
${auxiliary === 'through' ? '@group(0) @binding(5) var<storage, read> through: array<i32>;' : ''}
${
  has
    ? `// The least k of a group whose candidate is the best one.
fn decisive(k0: u32, z: u32, row: u32, col4: u32, e: u32, best: ${type}) -> u32 {
  var k = k0;
  for (; k < k0 + ${GROUP - 1}u; k++) {
    let x = at[k * p.m4 + z * p.za + row / 4u][row % 4u]; let y = b[k * p.n4 + z * p.zb + col4][e];
    if (${times('x', 'y')} == best) { return k; }
  }
  return k;
}`
    : ''
}
var<workgroup> sa: array<V, ${(BK * BM) / 4}>;
var<workgroup> sb: array<V, ${(BK * BN) / 4}>;
@compute @workgroup_size(${BN / TN}, ${BM / TM})
fn main(@builtin(workgroup_id) w: vec3<u32>, @builtin(local_invocation_id) l: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let y = w.y + p.y0; let row4 = y * ${BM / 4}u + w.z * p.za; let col4 = w.x * ${BN / 4}u; let cz = w.z * p.zc;
  ${range(count)
    .map((n) => `var c${n} = V(bitcast<${type}>(p.start));${has ? ` var w${n} = vec4<i32>(-1);` : ''}`)
    .join('\n  ')}
  if (p.first == 0u) {
    ${each((i, j, n) => `c${n} = c[${at(i, j)}];`).join('\n    ')}
  }
  ${loads('a', BM, 'p.m4', 'row4')}
  ${loads('b', BN, 'p.n4', 'w.z * p.zb + col4')}
  ${prefetches ? reads('p.k0', 'var ') : ''}
  for (var k0 = p.k0; k0 < p.k1; k0 += ${BK}u) {
    ${copies(prefetches ? '' : 'k0')}
    workgroupBarrier();
    ${prefetches ? `let next = min(k0 + ${BK}u, p.k1 - ${BK}u); ${reads('next', '')}` : ''}
    ${
      has
        ? `for (var k = 0u; k < ${BK}u; k += ${GROUP}u) { let kk = vec4<i32>(i32(k0 + k)); ${group()} }`
        : `for (var k = 0u; k < ${BK}u; k++) { ${fragments('k')} ${each(step).join('\n      ')} }`
    }
    workgroupBarrier();
  }
  ${each((i, j, n) => `c[${at(i, j)}] = c${n};`).join('\n  ')}
  ${has ? each(decided).join('\n  ') : ''}
}`
}
