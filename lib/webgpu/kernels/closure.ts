/**
 * Closures of int32 by blocks of S pivots (Floyd and Warshall). For each block: `pivot` closes the block on the diagonal, `cross` the rows
 * and columns of the block, and a plain product (product.ts) does the rest: d ⊕ colPanel ⊗ rowPanel.
 */
import { type Arithmetic, range, readers, type StoredBits, zeroBits } from './arithmetic.js'

/** Pivots of a block. */
export const S = 64
/** The zero of min-plus while a closure is computed, negated in max-plus: two of them have a sum within int32. */
export const NO_PATH = 2 ** 30 - 1
/** Magnitude of paths for which a closure is exact: farther elements have no path. */
export const MAX_PATH = Math.floor(2 ** 30 / 3)

const noPath = (isMax: boolean) => (isMax ? -NO_PATH : NO_PATH)

/** WGSL that copies weights to d (np × np, np a multiple of S), with one on the diagonal if `reflexive` is 1, and sets `next`. */
export const load = (bits: StoredBits, isMax: boolean, withNext: boolean): string => `
@group(0) @binding(0) var<storage, read> src: array<u32>;
struct P { offset: u32, rs: u32, cs: u32, n: u32, np: u32, reflexive: u32 }
@group(0) @binding(9) var<uniform> p: P;
@group(0) @binding(2) var<storage, read_write> d: array<i32>;
${withNext ? '@group(0) @binding(3) var<storage, read_write> next: array<i32>;' : ''}
${readers[bits]}
@compute @workgroup_size(64, 4)
fn main(@builtin(global_invocation_id) g: vec3<u32>) {
  if (g.x >= p.np || g.y >= p.np) { return; }
  var v = ${noPath(isMax)}; var to = -1;
  if (g.x < p.n && g.y < p.n) {
    let x = raw(p.offset + g.y * p.rs + g.x * p.cs);
    if (x != ${zeroBits(isMax ? 'max-plus' : 'min-plus', 'plain', bits) >>> 0}u) { v = bitcast<i32>(x); to = i32(g.x); }
  }
  if (g.x == g.y && p.reflexive == 1u) { v = ${isMax ? 'max' : 'min'}(v, 0); }
  d[g.y * p.np + g.x] = v;
  ${withNext ? 'next[g.y * p.np + g.x] = to;' : ''}
}`

/** WGSL that copies the closure to where it is wanted: no path becomes the semiring's zero, and next nodes −1. */
export const finish = (isMax: boolean, withNext: boolean): string => `
@group(0) @binding(0) var<storage, read> d: array<i32>;
struct P { offset: u32, rs: u32, cs: u32, n: u32, np: u32, reflexive: u32, nextOffset: u32 }
@group(0) @binding(9) var<uniform> p: P;
@group(0) @binding(2) var<storage, read_write> dst: array<i32>;
${withNext ? '@group(0) @binding(4) var<storage, read> next: array<i32>;\n@group(0) @binding(5) var<storage, read_write> hops: array<i32>;' : ''}
@compute @workgroup_size(64, 4)
fn main(@builtin(global_invocation_id) g: vec3<u32>) {
  if (g.x >= p.n || g.y >= p.n) { return; }
  let v = d[g.y * p.np + g.x]; let none = ${isMax ? `v < -${MAX_PATH}` : `v > ${MAX_PATH}`};
  dst[p.offset + g.y * p.rs + g.x * p.cs] = select(v, i32(${isMax ? '-0x7fffffff - 1' : '0x7fffffff'}), none);
  ${withNext ? 'hops[p.nextOffset + g.y * p.n + g.x] = select(next[g.y * p.np + g.x], -1, none || (g.x == g.y && p.reflexive == 1u));' : ''}
}`

const HEAD = `
@group(0) @binding(0) var<storage, read_write> d: array<i32>;
struct P { np: u32 }
@group(0) @binding(9) var<uniform> p: P;`

/** Text for each of the 4 × 4 elements that a thread holds: row l.y + 16 r and column l.x + 16 c of a block. */
const forElements = (text: (i: number, r: number, c: number) => string) =>
  range(16)
    .map((i) => text(i, i >> 2, i & 3))
    .join('\n  ')
const forFour = (text: (index: number) => string) => range(4).map(text).join(' ')

/** A thread's element in chunk `chunk`, whose elements have these numbers by chunk. */
const chosen = (name: string, number: (chunk: number) => number) => {
  const [e0, e1, e2, e3] = range(4).map((chunk) => name + number(chunk))
  return `select(select(${e0}, ${e1}, chunk == 1u), select(${e2}, ${e3}, chunk == 3u), chunk > 1u)`
}
const chosenOfRow = (name: string, c: number) => chosen(name, (r) => 4 * r + c)
const chosenOfColumn = (name: string, r: number) => chosen(name, (c) => 4 * r + c)

/** Reads and writes a thread's elements of the block that begins in row r0 and column c0. */
const loadBlock = (withNext: boolean) =>
  forElements(
    (i, r, c) =>
      `let e${i} = (r0 + l.y + ${16 * r}u) * p.np + c0 + l.x + ${16 * c}u; var v${i} = d[e${i}];${withNext ? ` var n${i} = next[e${i}];` : ''}`,
  )
const storeBlock = (withNext: boolean) =>
  forElements((i) => `d[e${i}] = v${i};${withNext ? ` next[e${i}] = n${i};` : ''}`)

/** Assignment of a candidate with its next node if it is better. */
const replaced = (better: string, i: number, r: number, c: number) =>
  `{ let v = a${r} + b${c}; if (v ${better} v${i}) { v${i} = v; n${i} = h${r}; } }`

const PANELS = `
@group(0) @binding(4) var<storage, read_write> rowPanel: array<i32>;
@group(0) @binding(5) var<storage, read_write> colPanel: array<i32>;`
const NEXT = `
@group(0) @binding(3) var<storage, read_write> next: array<i32>;
@group(0) @binding(6) var<storage, read_write> nextPanel: array<i32>;`

/**
 * WGSL that closes the block on the diagonal. 256 threads hold 4 × 4 elements each; row and column k are in shared memory, twice, so that
 * a step takes one barrier. state[0] gets the first pivot whose own element is better than one: then the closure doesn't exist, and
 * elements may wrap. state[1] is the last block that was closed, so that the dispatches of all blocks are the same.
 */
export function pivot({ plus, better }: Arithmetic, withNext: boolean): string {
  const line = (name: string, at: string, text: string, panel: string) =>
    `${name}[side + ${at}] = ${text};${withNext ? ` ${panel}[k * p.np + o + ${at}] = ${name}[side + ${at}];` : ''}`
  return `${HEAD}
@group(0) @binding(2) var<storage, read_write> state: array<i32>;
${withNext ? PANELS + NEXT : ''}
var<workgroup> row: array<i32, ${2 * S}>; var<workgroup> col: array<i32, ${2 * S}>;
${withNext ? `var<workgroup> via: array<i32, ${2 * S}>;` : ''}
@compute @workgroup_size(16, 16)
fn main(@builtin(local_invocation_id) l: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let block = state[1] + 1; let o = u32(block) * ${S}u; let r0 = o; let c0 = o;
  ${loadBlock(withNext)}
  var first = -1;
  for (var k = 0u; k < ${S}u; k++) {
    let side = (k & 1u) * ${S}u; let chunk = k >> 4u;
    if (l.y == (k & 15u)) { ${forFour((c) => line('row', `l.x + ${16 * c}u`, chosenOfRow('v', c), 'rowPanel'))} }
    if (l.x == (k & 15u)) {
      ${forFour((r) => line('col', `l.y + ${16 * r}u`, chosenOfColumn('v', r), 'colPanel'))}
      ${withNext ? forFour((r) => line('via', `l.y + ${16 * r}u`, chosenOfColumn('n', r), 'nextPanel')) : ''}
    }
    workgroupBarrier();
    if (row[side + k] ${better} 0 && first < 0) { first = i32(o + k); }
    ${forFour((r) => `let a${r} = col[side + l.y + ${16 * r}u];${withNext ? ` let h${r} = via[side + l.y + ${16 * r}u];` : ''}`)}
    ${forFour((c) => `let b${c} = row[side + l.x + ${16 * c}u];`)}
    ${forElements((i, r, c) => (withNext ? replaced(better, i, r, c) : `v${i} = ${plus(`v${i}`, `a${r} + b${c}`)};`))}
  }
  if (t == 0u) {
    if (first >= 0 && state[0] < 0) { state[0] = first; }
    state[1] = block;
  }
  ${storeBlock(withNext)}
}`
}

/** Beginning of the kernels that close the rows (w.y = 0) and columns (w.y = 1) of the pivot's block. */
const CROSS_MAIN = `
@compute @workgroup_size(16, 16)
fn main(@builtin(workgroup_id) w: vec3<u32>, @builtin(local_invocation_id) l: vec3<u32>) {
  let block = u32(state[1]); let o = block * ${S}u; let x = w.x * ${S}u; let isRow = w.y == 0u;
  let r0 = select(x, o, isRow); let c0 = select(o, x, isRow);`

/**
 * WGSL that closes the rows (w.y = 0) and columns (w.y = 1) of the pivot's block by its closure, and writes them to the panels that the rest
 * reads: rowPanel[k][j] and colPanel[k][i].
 */
export function cross({ plus }: Arithmetic): string {
  return `${HEAD}
@group(0) @binding(2) var<storage, read> state: array<i32>;
${PANELS}
var<workgroup> sa: array<i32, 1024>; var<workgroup> sb: array<i32, 1024>;
${CROSS_MAIN}
  ${loadBlock(false)}
  for (var k0 = 0u; k0 < ${S}u; k0 += 16u) {
    ${forFour((r) => `sa[(l.y + ${16 * r}u) * 16u + l.x] = d[(r0 + l.y + ${16 * r}u) * p.np + o + k0 + l.x];`)}
    ${forFour((c) => `sb[l.y * ${S}u + l.x + ${16 * c}u] = d[(o + k0 + l.y) * p.np + c0 + l.x + ${16 * c}u];`)}
    workgroupBarrier();
    for (var k = 0u; k < 16u; k++) {
      ${forFour((r) => `let a${r} = sa[(l.y + ${16 * r}u) * 16u + k];`)}
      ${forFour((c) => `let b${c} = sb[k * ${S}u + l.x + ${16 * c}u];`)}
      ${forElements((i, r, c) => `v${i} = ${plus(`v${i}`, `a${r} + b${c}`)};`)}
    }
    workgroupBarrier();
  }
  if (w.x != block) {
    ${storeBlock(false)}
  }
  if (isRow) {
    ${forElements((i, r, c) => `rowPanel[(l.y + ${16 * r}u) * p.np + x + l.x + ${16 * c}u] = v${i};`)}
  } else {
    ${forElements((i, r, c) => `colPanel[(l.x + ${16 * c}u) * p.np + x + l.y + ${16 * r}u] = v${i};`)}
  }
}`
}

/**
 * WGSL of {@link cross} with next nodes. Panels hold row k and column k as they are at step k, and steps are taken one by one, so that the next
 * nodes are those of Floyd and Warshall's own order: with cycles of weight one, next nodes that are chosen in another order may lead in a
 * circle. The pivot's kernel has written its part of the panels.
 */
export function crossWithNext({ better }: Arithmetic): string {
  return `${HEAD}
@group(0) @binding(2) var<storage, read> state: array<i32>;
${PANELS + NEXT}
var<workgroup> known: array<i32, 1024>; var<workgroup> knownNext: array<i32, 1024>;
var<workgroup> line: array<i32, ${2 * S}>; var<workgroup> via: array<i32, ${2 * S}>;
${CROSS_MAIN}
  if (w.x == block) { return; }
  ${loadBlock(true)}
  for (var k0 = 0u; k0 < ${S}u; k0 += 16u) {
    ${forFour((q) => {
      const [at, from] = [`l.y * ${S}u + l.x + ${16 * q}u`, `(k0 + l.y) * p.np + o + l.x + ${16 * q}u`]
      return `if (isRow) { known[${at}] = colPanel[${from}]; knownNext[${at}] = nextPanel[${from}]; } else { known[${at}] = rowPanel[${from}]; }`
    })}
    workgroupBarrier();
    for (var q = 0u; q < 16u; q++) {
      let k = k0 + q; let side = (q & 1u) * ${S}u; let chunk = k >> 4u;
      if (isRow && l.y == q) {
        ${forFour((c) => `let x${c} = ${chosenOfRow('v', c)}; line[side + l.x + ${16 * c}u] = x${c}; rowPanel[k * p.np + x + l.x + ${16 * c}u] = x${c};`)}
      }
      if (!isRow && l.x == q) {
        ${forFour((r) => `let x${r} = ${chosenOfColumn('v', r)}; line[side + l.y + ${16 * r}u] = x${r}; colPanel[k * p.np + x + l.y + ${16 * r}u] = x${r};`)}
        ${forFour((r) => `let y${r} = ${chosenOfColumn('n', r)}; via[side + l.y + ${16 * r}u] = y${r}; nextPanel[k * p.np + x + l.y + ${16 * r}u] = y${r};`)}
      }
      workgroupBarrier();
      ${forFour((r) => {
        const [a, h] = [`q * ${S}u + l.y + ${16 * r}u`, `side + l.y + ${16 * r}u`]
        return `let a${r} = select(line[${h}], known[${a}], isRow); let h${r} = select(via[${h}], knownNext[${a}], isRow);`
      })}
      ${forFour((c) => `let b${c} = select(known[q * ${S}u + l.x + ${16 * c}u], line[side + l.x + ${16 * c}u], isRow);`)}
      ${forElements((i, r, c) => replaced(better, i, r, c))}
    }
    workgroupBarrier();
  }
  ${storeBlock(true)}
}`
}
