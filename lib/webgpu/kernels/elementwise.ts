/** Copies, fills and combines matrices in memory of the device, element by element. */
import { KEY, readers, type StoredBits, writers, writtenType, zeroBits } from './arithmetic.js'

/** 'copy' and 'fill' move bits; 'combine' is dst ⊕ src over a semiring. */
export type Elementwise =
  | { readonly kind: 'copy'; readonly bits: StoredBits }
  | { readonly kind: 'fill'; readonly bits: StoredBits }
  | {
      readonly kind: 'combine'
      readonly bits: StoredBits
      readonly from: StoredBits
      readonly semiring: string
      readonly isFloat: boolean
    }

/** WGSL of dst[z][i][j] = f(src[z][i][j]). */
export function elementwise(what: Elementwise): string {
  const { kind, bits } = what
  const from = kind === 'combine' ? what.from : bits
  return `
struct P {
  offset: u32, rs: u32, cs: u32, bs: u32, src0: u32, rs0: u32, cs0: u32, bs0: u32, rows: u32, cols: u32, value: u32
}
@group(0) @binding(9) var<uniform> p: P;
@group(0) @binding(1) var<storage, read_write> dst: ${writtenType(bits)};
${kind === 'fill' ? '' : `@group(0) @binding(2) var<storage, read> src: array<u32>;\n${readers[from]}`}
${writers[bits]}
${KEY}
@compute @workgroup_size(64, 4)
fn main(@builtin(global_invocation_id) g: vec3<u32>) {
  if (g.x >= p.cols || g.y >= p.rows) { return; }
  let to = p.offset + g.z * p.bs + g.y * p.rs + g.x * p.cs;
  ${kind === 'fill' ? 'write(to, p.value);' : `let x = raw(p.src0 + g.z * p.bs0 + g.y * p.rs0 + g.x * p.cs0);\n  ${kind === 'copy' ? 'write(to, x);' : combined(what)}`}
}`
}

function combined(what: Elementwise & { kind: 'combine' }): string {
  const { semiring, isFloat, from } = what
  const pick = semiring.startsWith('max') ? 'max' : 'min'
  if (semiring === 'or-and' || semiring === 'xor-and') {
    const joined = semiring === 'or-and' ? 'y || x != 0u' : 'y != (x != 0u)'
    return `let y = extractBits(atomicLoad(&dst[to >> 2u]), (to & 3u) * 8u, 8u) != 0u; write(to, select(0u, 1u, ${joined}));`
  }
  if (isFloat) {
    const zero = zeroBits(semiring, 'keys', 32)
    const encoded = (x: string) => `select(key(${x}), key(${zero}u), is_nan(${x}))`
    return `let y = dst[to]; write(to, bits_of(${pick}(${encoded('y')}, ${encoded('x')})));`
  }
  const zero = zeroBits(semiring, 'plain', 32)
  const widened = from === 16 ? `select(x, ${zero}u, x == ${zeroBits(semiring, 'plain', 16) >>> 0}u)` : 'x'
  return `write(to, bitcast<u32>(${pick}(bitcast<i32>(dst[to]), bitcast<i32>(${widened}))));`
}
